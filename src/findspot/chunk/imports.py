"""Read import statements from the syntax tree: which names a file gets, and from which module.

A module that is written relative to its file becomes a path of the project, with a leading slash.
Any other module stays as written, because only the whole project knows where it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from findspot.chunk.expressions import loaded_name
from findspot.chunk.symbols import text_of
from findspot.core.facts import DEFAULT, LOCAL, TYPING, WHOLE, ImportFact

MAX_SHOWN_CHARS = 120

_COMMENT = re.compile(r"#[^\n]*|//[^\n]*")
FUNCTIONS = re.compile("function|method|lambda|closure")
"""Types of nodes that run only when they are called, and return what is returned inside of them."""
_RUST_ROOTS = ("main.rs", "lib.rs", "mod.rs")
"""Files whose modules lie beside them rather than in a folder of their name."""


@dataclass(frozen=True, slots=True)
class Import:
    """An import statement on one line, and the names that show that it is used."""

    text: str
    names: tuple[str, ...]

    def shown(self, used: list[str]) -> str:
        """Return the statement; of a long one only its beginning and the used names."""
        if len(self.text) <= MAX_SHOWN_CHARS:
            return self.text
        head = re.split(r"[{(]", self.text[:MAX_SHOWN_CHARS], maxsplit=1)[0].rsplit(" ", 1)[0].rstrip()
        return f"{head} {', '.join(used)}"


Imported = tuple[str, str, str]
"""What an import statement brings in: local name, module, name in the module."""

Name = tuple[str, Import]
"""An imported name, and the statement that brings it in."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One import statement of a file."""

    node: Node
    source: bytes
    path: str

    def text(self, node: Node | None) -> str:
        """Return the text of a node without white space, or nothing for no node."""
        if node is None:
            return ""
        text = text_of(node, self.source)
        return text if text.isidentifier() else "".join(text.split())

    def string(self, node: Node | None) -> str:
        """Return what a string literal holds; nothing for any other expression."""
        if node is None or "string" not in node.type:
            return ""
        parts = node.named_children
        if any("interpolation" in part.type or "substitution" in part.type for part in parts):
            return ""
        return text_of(node, self.source).strip("\"'`<>")

    def beside(self, module: str) -> str:
        """Return a module relative to the file as a path of the project."""
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), module))
        return "/" if joined.startswith("..") or joined == "." else f"/{joined}"

    def has(self, token: str) -> bool:
        """Return whether a keyword or sign stands directly in the statement."""
        return any(child.type == token for child in self.node.children)


def read_imports(language: str, node: Node, source: bytes, path: str) -> list[ImportFact]:
    """Return the facts of one import statement; none where the language has no reader."""
    if language not in READERS:
        return []
    statement = Statement(node, source, path)
    line, mark = node.start_point[0] + 1, _mark(statement)
    return [ImportFact(*each, line, mark) for each in READERS[language](statement)]


def _mark(statement: Statement) -> str:
    """Return whether an import is for type checkers only, or runs when a function does."""
    if statement.node.type == "import_statement" and statement.has("type"):  # TypeScript
        return TYPING
    inner, outer, mark = statement.node, statement.node.parent, ""
    while outer is not None:
        if outer.type == "if_statement" and inner == outer.child_by_field_name("consequence"):
            condition = statement.text(outer.child_by_field_name("condition"))
            if condition.rpartition(".")[2] == "TYPE_CHECKING":  # which is never true
                return TYPING
        if FUNCTIONS.search(outer.type):
            mark = LOCAL
        inner, outer = outer, outer.parent
    return mark


def read_import(language: str, node: Node, source: bytes, path: str) -> Import:
    """Return the import of one statement, with the names a use of it is recognised by."""
    text = text_of(node, source)
    if ("#" in text or "//" in text) and text.lstrip()[:1] != "#":
        text = _COMMENT.sub("", text)
    line = " ".join(text.split()).rstrip(";")
    reader = READERS.get(language)
    if reader is not None:
        imported = reader(Statement(node, source, path))
        used = (_used_name(local, module) for local, module, _ in imported)
        names = tuple(dict.fromkeys(name for name in used if name))
    else:
        names = names_in_text(line)
    return Import(line, names)


def _used_name(local: str, module: str) -> str:
    """Return the name that code says when it uses an import."""
    if local not in ("", WHOLE):
        return local
    last = re.split(r"[/\\]|::", module.rstrip("/"))[-1]
    if "/" in module or last.endswith((".h", ".hpp")):
        last = last.partition(".")[0]
    return last.rpartition(".")[2] if last not in ("super", "self", "crate") else ""


def _python(statement: Statement) -> Iterator[Imported]:
    node = statement.node
    module_node = node.child_by_field_name("module_name")
    module = _python_module(statement.text(module_node), statement.path)
    if module_node is not None and any(child.type == "wildcard_import" for child in node.children):
        yield WHOLE, module, WHOLE
    for imported in node.children_by_field_name("name"):
        alias = statement.text(imported.child_by_field_name("alias"))
        name = statement.text(imported.child_by_field_name("name") if alias else imported)
        top = name.partition(".")[0]
        if module_node is not None:
            yield alias or name, module, name
        elif alias:
            yield alias, name, WHOLE
        else:
            yield top, top, WHOLE
            if top != name:
                yield "", name, WHOLE


def _python_module(module: str, path: str) -> str:
    bare = module.lstrip(".")
    levels = len(module) - len(bare)
    if not levels:
        return module
    folder = posixpath.dirname(path)
    for _ in range(levels - 1):
        folder = posixpath.dirname(folder)
    below = bare.replace(".", "/")
    return "/" + posixpath.normpath(posixpath.join(folder, below)).lstrip("./")


def _ecmascript(statement: Statement) -> Iterator[Imported]:
    node = statement.node
    required = next((child for child in node.children if child.type == "import_require_clause"), None)
    call = _loading_call(node)
    if required is not None:
        source = required.child_by_field_name("source")
    elif call is not None:
        arguments = call.child_by_field_name("arguments")
        source = next(iter(arguments.named_children), None) if arguments is not None else None
    else:
        source = node.child_by_field_name("source")
    written = statement.string(source)
    if not written:
        return
    module = statement.beside(written) if written.startswith(".") else written
    if required is not None:
        yield statement.text(required.named_children[0]), module, WHOLE
    elif call is None:
        yield from _clauses(statement, module)
    elif call.id == node.id:
        yield loaded_name(written), module, WHOLE
    else:
        yield from _required(statement, _assigned(statement, node), module)


def _loading_call(node: Node) -> Node | None:
    """Return the `require(…)` or `import(…)` that a statement is, or whose value it assigns."""
    value = node
    for role in ("value", "right"):
        value = value.child_by_field_name(role) or value
    while value.type in ("await_expression", "parenthesized_expression"):
        value = value.named_children[0]
    function = value.child_by_field_name("function") if value.type == "call_expression" else None
    return value if function is not None and function.type in ("identifier", "import") else None


def _assigned(statement: Statement, node: Node) -> Node | str:
    """Return what a module is assigned to: a pattern, or the name that it is exported by."""
    target = node.child_by_field_name("name") or node.child_by_field_name("key")
    target = target or node.child_by_field_name("left")
    if target is not None and target.type == "member_expression":
        whole, _, last = statement.text(target).rpartition(".")
        if last == "exports" and whole == "module":
            return DEFAULT
        return last if whole in ("exports", "module.exports") else ""
    return target if target is not None else ""


def _clauses(statement: Statement, module: str) -> Iterator[Imported]:
    """Yield what the clauses of `import … from` or `export … from` bind."""
    node = statement.node
    clauses = [child for child in node.named_children if child.type.endswith(("_clause", "_export"))]
    if not clauses:
        everything = node.type == "export_statement"
        yield (WHOLE if everything else ""), module, WHOLE
    for clause in clauses:
        parts = clause.named_children if clause.type == "import_clause" else [clause]
        for part in parts:
            if part.type == "identifier":
                yield statement.text(part), module, DEFAULT
                continue
            if part.type in ("namespace_import", "namespace_export"):
                yield statement.text(part.named_children[0]), module, WHOLE
                continue
            for specifier in part.named_children:
                name = statement.text(specifier.child_by_field_name("name"))
                alias = statement.text(specifier.child_by_field_name("alias"))
                if name:
                    yield (alias or name).strip("\"'"), module, name.strip("\"'")


def _required(statement: Statement, pattern: Node | str, module: str) -> Iterator[Imported]:
    """Yield what the left side of `… = require("…")` binds."""
    if isinstance(pattern, str) or not pattern.type.endswith("pattern"):
        name = pattern if isinstance(pattern, str) else statement.text(pattern)
        yield name.strip("\"'"), module, WHOLE
        return
    bound = [each for part in pattern.named_children for each in _members(statement, part)]
    yield from ((local, module, name) for local, name in bound or [("", WHOLE)])


def _members(statement: Statement, part: Node) -> Iterator[tuple[str, str]]:
    """Yield local name and name of one part of `{ … }`; deeper patterns bind no member of the module."""
    if part.type == "pair_pattern":
        value = part.child_by_field_name("value")
        if value is not None and value.type == "assignment_pattern":
            value = value.child_by_field_name("left")
        if value is not None and value.type == "identifier":
            yield statement.text(value), statement.text(part.child_by_field_name("key")).strip("\"'")
        return
    if part.type == "object_assignment_pattern":
        left = part.child_by_field_name("left")
        part = left if left is not None else part
    if part.type == "shorthand_property_identifier_pattern":
        yield statement.text(part), statement.text(part)
    elif part.type == "rest_pattern":
        yield statement.text(part.named_children[0]), WHOLE


_GO_VERSION = re.compile(r"[/.]v\d+\Z")
"""A major version at the end of a path, which is no part of the package's name."""


def _go(statement: Statement) -> Iterator[Imported]:
    module = statement.string(statement.node.child_by_field_name("path"))
    alias = statement.text(statement.node.child_by_field_name("name"))
    last = _GO_VERSION.sub("", module).rpartition("/")[2]
    local = {".": WHOLE, "_": "", "": last}.get(alias, alias)
    yield local, module, WHOLE


def _jvm(statement: Statement) -> Iterator[Imported]:
    names = [child for child in statement.node.named_children if "identifier" in child.type]
    path = statement.text(names[0]).replace("`", "") if names else ""
    alias = statement.text(names[1]).strip("`") if len(names) > 1 else ""
    if statement.has("asterisk") or statement.has("*"):
        yield WHOLE, path, WHOLE
    elif path:
        module, _, last = path.rpartition(".")
        yield alias or last, module, last


def _rust(statement: Statement) -> Iterator[Imported]:
    node = statement.node
    if node.type == "mod_item":
        name, path = statement.text(node.child_by_field_name("name")), statement.path
        is_root = posixpath.basename(path) in _RUST_ROOTS
        folder = posixpath.dirname(path) if is_root else path.removesuffix(".rs")
        yield name, f"/{folder}/{name}" if folder else f"/{name}", WHOLE
        return
    argument = node.child_by_field_name("argument")
    around = node.parent
    while around is not None and around.type != "mod_item":
        around = around.parent
    if argument is not None:  # no path leads to a module inside of the file
        inner = ("self", "super") if around is not None else ()
        for local, module, name in _rust_tree(statement, argument, ""):
            yield local, f"mod::{module}" if module.startswith(inner) else module, name


def _rust_tree(statement: Statement, node: Node, above: str) -> Iterator[Imported]:
    """Yield the names of `a::{b, c::{d as e}, self}`; `above` is the path in front of the node."""
    if node.type == "use_list":
        for part in node.named_children:
            if "comment" not in part.type:
                yield from _rust_tree(statement, part, above)
        return
    path = statement.text(node.child_by_field_name("path"))
    if node.type == "scoped_use_list":
        names = node.child_by_field_name("list")
        if names is not None:
            yield from _rust_tree(statement, names, f"{above}{path}::")
        return
    alias = ""
    if node.type == "use_as_clause":
        alias = statement.text(node.child_by_field_name("alias"))
    else:
        path = statement.text(node)
    module, _, last = f"{above}{path}".rpartition("::")
    if last == "self":
        module, _, last = module.rpartition("::")
    yield alias or last, module, last


def _c_family(statement: Statement) -> Iterator[Imported]:
    node = statement.node
    if node.type == "preproc_include":
        path = node.child_by_field_name("path")
        written = statement.string(path)
        if path is not None and written:
            quoted = path.type == "string_literal"
            yield "", (statement.beside(written) if quoted else written), WHOLE
    elif not statement.has("namespace"):
        module, _, last = statement.text(node.named_children[0]).rpartition("::")
        yield last, module.replace("::", "."), last


def _csharp(statement: Statement) -> Iterator[Imported]:
    alias = statement.node.child_by_field_name("name")
    target = statement.node.named_children[-1]
    name = re.sub(r"<.*", "", statement.text(target))
    if alias is not None and alias != target:
        module, _, last = name.rpartition(".")
        yield statement.text(alias), module, last
    else:
        yield WHOLE, name, WHOLE


def _ruby(statement: Statement) -> Iterator[Imported]:
    node = statement.node
    arguments = node.child_by_field_name("arguments")
    module = statement.string(arguments.named_children[0]) if arguments is not None else ""
    if module:
        relative = statement.text(node.child_by_field_name("method")) == "require_relative"
        yield "", (statement.beside(module) if relative else module), WHOLE


def _php(statement: Statement) -> Iterator[Imported]:
    node = statement.node
    group = node.child_by_field_name("body")
    prefix = next((statement.text(c) for c in node.named_children if c.type == "namespace_name"), "")
    for clause in (group or node).named_children:
        if clause.type != "namespace_use_clause":
            continue
        name = next(c for c in clause.named_children if c.type in ("name", "qualified_name"))
        path = statement.text(name).lstrip("\\")
        module, _, last = (f"{prefix}\\{path}" if group else path).lstrip("\\").rpartition("\\")
        alias = statement.text(clause.child_by_field_name("alias"))
        yield alias or last, module.replace("\\", "."), last


def _swift(statement: Statement) -> Iterator[Imported]:
    name = next((c for c in statement.node.named_children if c.type == "identifier"), None)
    if name is not None:
        yield "", statement.text(name), WHOLE


READERS: dict[str, Callable[[Statement], Iterator[Imported]]] = {
    "python": _python,
    "javascript": _ecmascript,
    "typescript": _ecmascript,
    "tsx": _ecmascript,
    "go": _go,
    "java": _jvm,
    "kotlin": _jvm,
    "rust": _rust,
    "c": _c_family,
    "cpp": _c_family,
    "csharp": _csharp,
    "ruby": _ruby,
    "php": _php,
    "swift": _swift,
}
"""The languages of the reference graph. The names of other languages' imports are read from their text."""


_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_QUOTED = re.compile(r"""["'<]([^"'<>]+)["'>]""")
_GROUP = re.compile(r"[{(\[]([^{}()\[\]]*)[})\]]")
_ASSIGNED = re.compile(r"([^=]+)=(?!>)")
_KEYWORDS = frozenset(
    {"import", "from", "as", "use", "source", "alias", "require", "hiding", "only", "except"}
    | {"qualified", "local", "var", "const", "export", "package"}
)
"""Words of import statements that are never an imported name."""


def names_in_text(line: str) -> tuple[str, ...]:
    """Return the last word of each imported path, or its alias, in a language without a reader."""
    assigned = _ASSIGNED.match(line)
    body = assigned[1] if assigned else line  # `local a = require("b")`: the name is on the left
    groups = _GROUP.findall(body)
    paths = [part for group in groups for part in group.split(",")] or body.split(",")
    return tuple(dict.fromkeys(name for name in map(_last_name, paths) if name))


def _last_name(path: str) -> str | None:
    """Return the name that a path is used by: `a.b.C` → `C`, `a as x` → `x`, `./a/b.sh` → `b`."""
    quoted = _QUOTED.search(path)
    text = quoted[1] if quoted else path
    if "/" in text or quoted:
        text = text.rstrip("/").rpartition("/")[2].partition(".")[0]
    names = [name for name in _NAME.findall(text) if name not in _KEYWORDS]
    return names[-1] if names else None
