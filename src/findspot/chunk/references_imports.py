"""Import statements into facts: which name a file gets, from which module, under which name there.

A module that is written relative to its file becomes a path of the project, with a leading
slash; everything else stays as it is written, since only the whole project knows where it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from findspot.core.facts import DEFAULT, WHOLE, ImportFact

_SPACE = re.compile(r"\s+")
_QUOTED = re.compile(r"""["'<`]([^"'<>`]+)["'>`]""")
_ALIAS = re.compile(r"\s+as\s+")
_BRACES = re.compile(r"\{(.*?)\}", re.DOTALL)
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


READERS: dict[str, Callable[[str, str], Iterator[Found]]] = {
    "python": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
}
