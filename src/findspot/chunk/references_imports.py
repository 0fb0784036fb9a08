"""Import statements into facts: which name a file gets, from which module, under which name there.

A module that is written relative to its file becomes a path of the project, with a leading
slash; everything else stays as it is written, since only the whole project knows where it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from findspot.chunk.references_expressions import split
from findspot.core.facts import DEFAULT, WHOLE, ImportFact

_SPACE = re.compile(r"\s+")
_QUOTED = re.compile(r"""["'<`]([^"'<>`]+)["'>`]""")
_ALIAS = re.compile(r"\s+as\s+")
_BRACES = re.compile(r"\{(.*?)\}", re.DOTALL)
_RUST_ROOTS = ("main.rs", "lib.rs", "mod.rs")
"""Files whose modules lie beside them rather than in a folder of their name."""
_NAME = re.compile(r"[A-Za-z_$][\w$]*")

Found = tuple[str, str, str]
"""Local name, module, original name."""


def read_imports(language: str, text: str, path: str, line: int) -> list[ImportFact]:
    """The facts of one import statement; none where the language has no reader."""
    reader = READERS.get(language)
    if reader is None:
        return []
    flat = _SPACE.sub(" ", _comments(language, text)).strip().rstrip(";").strip()
    return [ImportFact(local, module, original, line) for local, module, original in reader(flat, path)]


def _comments(language: str, text: str) -> str:
    if language in ("python", "ruby"):
        return re.sub(r"#[^\n]*", "", text)
    return re.sub(r"/\*.*?\*/|(?<![:\"'/])//[^\n]*", "", text, flags=re.DOTALL)


def beside(path: str, module: str) -> str:
    """A relative module as a path of the project."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    return "/" if joined.startswith("..") or joined == "." else f"/{joined}"


def _python(text: str, path: str) -> Iterator[Found]:
    if text.startswith("from "):
        module, _, names = text[5:].partition(" import ")
        module = _python_module(module.strip(), path)
        for part in names.strip("() ").split(","):
            if part.strip():
                original, _, alias = part.strip().partition(" as ")
                yield (alias or original).strip(), module, original.strip()
        return
    for part in text.removeprefix("import ").split(","):
        module, _, alias = part.strip().partition(" as ")
        if alias:
            yield alias.strip(), module.strip(), WHOLE
            continue
        top = module.partition(".")[0]
        yield top, top, WHOLE
        if top != module:
            yield "", module, WHOLE


def _python_module(module: str, path: str) -> str:
    bare = module.lstrip(".")
    levels = len(module) - len(bare)
    if not levels:
        return module
    folder = posixpath.dirname(path)
    for _ in range(levels - 1):
        folder = posixpath.dirname(folder)
    below = bare.strip().replace(".", "/")
    return "/" + posixpath.normpath(posixpath.join(folder, below)).lstrip("./")


def _javascript(text: str, path: str) -> Iterator[Found]:
    quoted = _QUOTED.findall(text)
    if not quoted:
        return
    module = beside(path, quoted[-1]) if quoted[-1].startswith(".") else quoted[-1]
    head = text[: text.rfind(quoted[-1])]
    if "require" in head or not text.startswith(("import", "export")):
        names = head.removeprefix("import ").partition("=")[0]
        yield from _required(names.strip(), module)
        return
    if text.startswith(("import(", "import '", 'import "')):
        yield "", module, WHOLE
        return
    clause = re.sub(r"^(?:import|export)(?: type)?\b|\bfrom\b[^a-z]*$", "", head).strip()
    for group in _BRACES.findall(clause):
        yield from ((alias, module, name) for name, alias in _specifiers(group, _ALIAS))
    for part in _BRACES.sub("", clause).split(","):
        words = part.replace("*", " * ").split()
        if words[:1] == [WHOLE]:
            yield (words[-1] if len(words) > 1 else WHOLE), module, WHOLE
        elif words and text.startswith("import"):
            yield words[-1], module, DEFAULT


def _required(names: str, module: str) -> Iterator[Found]:
    """What `const … = require("…")` binds."""
    group = _BRACES.search(names)
    if group:
        yield from ((alias, module, name) for name, alias in _specifiers(group[1], re.compile(r"\s*:\s*")))
    else:
        found = _NAME.findall(names)
        yield (found[-1] if found else ""), module, WHOLE


def _specifiers(group: str, alias: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Name and local name of each part of a group in braces."""
    for part in group.split(","):
        words = alias.split(part.strip().removeprefix("type ").strip())
        if words[0]:
            yield words[0], words[-1]


def _go(text: str, path: str) -> Iterator[Found]:
    module = _quoted(text)
    alias = text.partition('"')[0].strip()
    yield (WHOLE if alias == "." else alias or module.rpartition("/")[2]), module, WHOLE


def _jvm(text: str, path: str) -> Iterator[Found]:
    name, _, alias = re.sub(r"^import\s+(?:static\s+)?", "", text).partition(" as ")
    module, _, last = name.strip().rpartition(".")
    yield (alias.strip() or last), module, last


def _rust(text: str, path: str) -> Iterator[Found]:
    body = re.sub(r"^(?:pub(?:\([^)]*\))?\s+)?", "", text)
    if body.startswith("mod "):
        folder = (
            posixpath.dirname(path) if posixpath.basename(path) in _RUST_ROOTS else path.removesuffix(".rs")
        )
        name = body[4:].strip()
        yield name, f"/{folder}/{name}" if folder else f"/{name}", WHOLE
        return
    yield from _rust_tree(body.removeprefix("use ").strip(), "")


def _rust_tree(text: str, above: str) -> Iterator[Found]:
    """The names of `a::{b, c::{d as e}, self}`."""
    head, brace, rest = text.partition("{")
    if brace:
        prefix = above + head
        for part in split(rest.rpartition("}")[0], ","):
            if part.strip():
                yield from _rust_tree(part.strip(), prefix)
        return
    name, _, alias = (above + text).partition(" as ")
    module, _, last = name.strip().rpartition("::")
    if last == "self":
        module, _, last = module.rpartition("::")
    yield (alias.strip() or last), module, last


def _c(text: str, path: str) -> Iterator[Found]:
    if text.startswith("#"):
        quoted = _QUOTED.search(text)
        if quoted:
            yield "", (beside(path, quoted[1]) if '"' in text else quoted[1]), WHOLE
        return
    name = text.removeprefix("using").strip()
    if not name.startswith("namespace"):
        module, _, last = name.rpartition("::")
        yield last, module.replace("::", "."), last


def _csharp(text: str, path: str) -> Iterator[Found]:
    name = re.sub(r"^(?:global )?using\s+(?:static\s+)?", "", text)
    alias, equals, target = name.partition("=")
    if equals:
        module, _, last = target.strip().rpartition(".")
        yield alias.strip(), module, last
    else:
        yield WHOLE, name.strip(), WHOLE


def _ruby(text: str, path: str) -> Iterator[Found]:
    module = _quoted(text)
    yield "", (beside(path, module) if "require_relative" in text else module), WHOLE


def _php(text: str, path: str) -> Iterator[Found]:
    body = re.sub(r"^use\s+(?:function\s+|const\s+)?", "", text)
    group = _BRACES.search(body)
    prefix = body[: group.start()].strip().rstrip("\\") + "\\" if group else ""
    for part in (group[1] if group else body).split(","):
        name, _, alias = part.strip().partition(" as ")
        module, _, last = (prefix + name.strip().lstrip("\\")).rpartition("\\")
        if last:
            yield (alias.strip() or last), module.replace("\\", "."), last


def _swift(text: str, path: str) -> Iterator[Found]:
    yield "", text.rpartition(" ")[2], WHOLE


def _quoted(text: str) -> str:
    found = _QUOTED.search(text)
    return found[1] if found else ""


READERS: dict[str, Callable[[str, str], Iterator[Found]]] = {
    "python": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "go": _go,
    "java": _jvm,
    "kotlin": _jvm,
    "rust": _rust,
    "c": _c,
    "cpp": _c,
    "csharp": _csharp,
    "ruby": _ruby,
    "php": _php,
    "swift": _swift,
}
