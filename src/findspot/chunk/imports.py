"""Which names an import statement brings in, read from its text in any language."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_QUOTED = re.compile(r"""["'<]([^"'<>]+)["'>]""")
_GROUP = re.compile(r"[{(\[]([^{}()\[\]]*)[})\]]")
_SOURCE_FIRST = re.compile(r"^from\s+\S+\s+import\s+")
_SOURCE_LAST = re.compile(r"\s+from\s+[\"'].*$")
_ASSIGNED = re.compile(r"([^=]+)=(?!>)")
_COMMENT = re.compile(r"#[^\n]*|//[^\n]*")

_WORDS = frozenset(
    {
        "import",
        "from",
        "as",
        "use",
        "using",
        "static",
        "include",
        "include_once",
        "require",
        "require_once",
        "require_relative",
        "alias",
        "type",
        "hiding",
        "only",
        "except",
        "qualified",
        "pub",
        "crate",
        "self",
        "super",
        "function",
        "const",
        "local",
        "var",
        "let",
        "val",
        "export",
        "extern",
        "global",
        "open",
        "public",
        "package",
        "default",
        "mod",
        "load",
        "source",
        "autoload",
        "java_import",
    }
)
"""Words of import statements that are never a name."""

MAX_SHOWN_CHARS = 120


@dataclass(frozen=True, slots=True)
class Import:
    """An import statement on one line, and the names a use of it is recognised by."""

    text: str
    names: tuple[str, ...]

    def shown(self, used: list[str]) -> str:
        """The statement, or its beginning and the used names where it is long."""
        if len(self.text) <= MAX_SHOWN_CHARS:
            return self.text
        head = re.split(r"[{(]", self.text[:MAX_SHOWN_CHARS], maxsplit=1)[0].rsplit(" ", 1)[0].rstrip()
        return f"{head} {', '.join(used)}"


Name = tuple[str, Import]
"""An imported name, and the statement that brings it in."""


def read_import(text: str) -> Import:
    """The import of one statement; its names are the last word of each imported path, or its alias."""
    text = _COMMENT.sub("", text) if text.lstrip()[:1] != "#" else text
    line = " ".join(text.split()).rstrip(";")
    assigned = _ASSIGNED.match(line)
    if assigned:  # `const { a } = require("b")`: the names are on the left
        return Import(line, _unique(_paths(assigned[1])))
    body = _SOURCE_LAST.sub("", _SOURCE_FIRST.sub("", line))
    return Import(line, _unique(_paths(body)))


def _unique(paths: list[str]) -> tuple[str, ...]:
    """The names of the paths, each once."""
    return tuple(dict.fromkeys(name for name in map(_last_name, paths) if name))


def _paths(body: str) -> list[str]:
    """The imported paths of a statement: those of its group, and those around it."""
    groups = _GROUP.findall(body)
    around = _GROUP.sub(" ", body)
    parts = [part for group in groups for part in group.split(",")]
    if groups and not around.strip().rstrip(",").endswith(("::", ".", "\\", "import")):
        parts.extend(around.split(","))
    return parts if groups else around.split(",")


def _last_name(path: str) -> str | None:
    """The name a path is used by: `a.b.C` → `C`, `a/b.h` → `b`, `a as x` → `x`, `./a/b.sh` → `b`."""
    quoted = _QUOTED.search(path)
    if quoted:
        before = _names(path[: quoted.start()])  # Go's alias stands before the path
        stem = quoted[1].rstrip("/").rpartition("/")[2].partition(".")[0]
        names = before or _NAME.findall(stem)
    else:
        names = _names(path.rpartition("/")[2].partition(".")[0] if "/" in path else path)
    return names[-1] if names else None


def _names(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if name not in _WORDS]
