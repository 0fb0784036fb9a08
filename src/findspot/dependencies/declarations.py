"""What a chain of names of a TypeScript package means, by its declarations: the way an editor reads them.

Followed are exports and re-exports, `export =`, namespaces, interfaces with what they extend, constants with
a declared type, and imports of other packages. Texts come from the indexes of the packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from findspot.chunk.capsule import MAX_SIGNATURE_CHARS, strip_markers
from findspot.chunk.grammars import ParseTimeoutError, TreeTooCostlyError, grammar_for
from findspot.dependencies.package_modules import OpenPackages, PackageFiles

if TYPE_CHECKING:
    from tree_sitter import Node

DEFAULT, CALLED = "default", "()"
_TYPED_ENDINGS = (".ts", ".tsx", ".mts", ".cts")
_MAX_STEPS = 400
"""Declarations that are looked at for one question; a circle ends here at the latest."""
_DECLARED = frozenset({
    "function_signature", "function_declaration", "generator_function_declaration", "class_declaration",
    "abstract_class_declaration", "interface_declaration", "type_alias_declaration", "enum_declaration",
    "internal_module", "module",
})  # fmt: skip
_VARIABLES = ("lexical_declaration", "variable_declaration")
_NAMESPACES = ("internal_module", "module")
_BESIDE = (*_NAMESPACES, "interface_declaration", "type_alias_declaration")
"""What may be declared beside a function, class or constant of the same name."""
_WRAPPERS = ("ambient_declaration", "expression_statement", *_VARIABLES)
_UTILITY_TYPES = frozenset(
    ("Readonly", "Partial", "Required", "Omit", "Pick", "NonNullable", "Awaited", "Promise")
)
_STEP = re.compile(r"\(\)|\[\]")
_SPACE = re.compile(r"\s+")


class Declaration(NamedTuple):
    """A place in a package that declares a name, or binds one to something that is declared elsewhere."""

    files: PackageFiles
    path: str
    node: Node

    @property
    def line(self) -> int:
        """The line of the declared name."""
        name = self.node.child_by_field_name("name") or self.node
        return name.start_point[0] + 1

    def shown(self) -> tuple[str, str]:
        """Return the text of the declaration up to its body, on one line, and its comment."""
        node = self.node
        body = node.child_by_field_name("body")
        while node.parent is not None and node.parent.type in _WRAPPERS:
            node = node.parent
        source = node.text or b""
        if body is not None:
            source = source[: body.start_byte - node.start_byte]
        text = _SPACE.sub(" ", source.decode("utf-8", "replace")).strip(" ;{")
        if node.parent is not None and node.parent.type == "export_statement":
            node = node.parent
        before = node.prev_sibling
        comment = _text(before) if before is not None and before.type == "comment" else ""
        return text[:MAX_SIGNATURE_CHARS], strip_markers(comment)


class Declarations:
    """The declarations of the packages that one question is about."""

    def __init__(self, open_packages: OpenPackages) -> None:
        self._open = open_packages
        self._trees: dict[tuple[str, str], Node | None] = {}
        self._asking: set[tuple[str, str, int, str]] = set()
        self._steps = 0

    def find(self, files: PackageFiles, module: str, names: Sequence[str]) -> Declaration | None:
        """Return where a package declares a chain of names of one of its modules."""
        self._steps = 0
        for path in files.module_files(module):
            root = self._root(files, path)
            found = [Declaration(files, path, root)] if root is not None else []
            for name in names:
                bare, *steps = (_STEP.split(name)[0], *_STEP.findall(name))
                found = [inner for each in found for inner in self._member(each, bare)]
                for step in steps:
                    found = [result for each in found for result in self._result(each, step)]
            declared = [each for each in found if each.node.type != "program"]
            if declared:
                return min(declared, key=lambda each: each.node.type in _BESIDE)
        return None

    def _root(self, files: PackageFiles, path: str) -> Node | None:
        key = (files.package.label, path)
        if key not in self._trees:
            grammar = grammar_for("typescript") if path.endswith(_TYPED_ENDINGS) else None
            try:
                source = files.text(path).encode("utf-8", "surrogatepass")
                self._trees[key] = grammar.parse(source).root_node if grammar is not None else None
            except (ParseTimeoutError, TreeTooCostlyError):
                self._trees[key] = None
        return self._trees[key]

    def _module(self, at: Declaration, module: str) -> list[Declaration]:
        """Return the files that a module means where a declaration names it."""
        if module.startswith("."):
            found = [(at.files, path) for path in at.files.relative_files(at.path, module)]
        else:
            found = [(files, path) for files in self._open(module) for path in files.module_files(module)]
        for files, path in found:
            root = self._root(files, path)
            if root is not None:
                return [Declaration(files, path, root)]
        return []

    def _member(self, at: Declaration, name: str) -> list[Declaration]:
        """Return what a name means inside of a declaration; nothing where it is declared by itself."""
        key = (at.files.package.label, at.path, at.node.id, name)
        self._steps += 1
        if self._steps > _MAX_STEPS or key in self._asking:
            return []
        self._asking.add(key)
        found = self._find_member(at, name)
        self._asking.discard(key)
        return found

    def _find_member(self, at: Declaration, name: str) -> list[Declaration]:
        node = at.node
        if node.type == "program":
            return self._exported(at, name)
        if node.type in _NAMESPACES:
            body = node.child_by_field_name("body")
            return self._in_block(at, body, name) if body is not None else []
        if node.type == "enum_declaration":
            return [at] if name in _text(node) else []
        body = node if node.type == "object_type" else node.child_by_field_name("body")
        for member in body.named_children if body is not None else ():
            if _name(member) == name:
                return [at._replace(node=member)]
        return [m for outer in self._behind(at) for m in self._member(outer, name)]

    def _behind(self, at: Declaration) -> Iterator[Declaration]:
        """Yield what a declaration takes its members from: what it extends, its type, its value."""
        node = at.node
        for child in node.named_children:
            if child.type == "extends_type_clause":
                yield from (each for kind in child.named_children for each in self._type(at, kind))
            elif child.type == "class_heritage":
                for clause in child.named_children:
                    value = clause.child_by_field_name("value")
                    yield from self._expression(at, value) if value is not None else ()
        kind = node.child_by_field_name("type")
        value = node.child_by_field_name("value")
        if kind is not None:
            yield from self._type(at, kind)
        elif node.type == "type_alias_declaration" and value is not None:
            yield from self._type(at, value)
        elif node.type == "variable_declarator" and value is not None:
            yield from self._expression(at, value)

    def _result(self, at: Declaration, step: str) -> Iterator[Declaration]:
        """Yield what a call of a declaration returns."""
        if step != CALLED:
            return
        kind = at.node.child_by_field_name("return_type")
        if kind is not None:
            yield from self._type(at, kind)
        elif at.node.type in ("class_declaration", "abstract_class_declaration"):
            yield at
        else:
            for outer in self._behind(at):
                signatures = [each for each in outer.node.named_children if each.type == "call_signature"]
                body = outer.node.child_by_field_name("body")
                signatures += [n for n in body.named_children if n.type == "call_signature"] if body else []
                for each in signatures[:1]:
                    yield from self._result(outer._replace(node=each), step)

    def _type(self, at: Declaration, kind: Node) -> Iterator[Declaration]:
        """Yield the declarations that a type is about."""
        if kind.type in ("type_identifier", "identifier", "nested_type_identifier", "member_expression"):
            yield from self._expression(at, kind)
        elif kind.type == "object_type":
            yield at._replace(node=kind)
        elif kind.type == "generic_type":
            name, arguments = kind.child_by_field_name("name"), kind.child_by_field_name("type_arguments")
            if name is not None and _text(name) in _UTILITY_TYPES and arguments is not None:
                yield from self._type(at, arguments.named_children[0])
            elif name is not None:
                yield from self._expression(at, name)
        elif kind.type == "function_type":
            yield at._replace(node=kind)
        elif kind.type != "literal_type":  # `A & B`, `A | B`, `(A)`, `typeof a`, `readonly A`, `: A`
            for inner in kind.named_children:
                yield from self._type(at, inner) if kind.type != "type_query" else self._expression(at, inner)

    def _expression(self, at: Declaration, node: Node) -> list[Declaration]:
        """Return what a (qualified) name means at its place; an import of a module is one, too."""
        if node.type == "call_expression":
            function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if function is not None and function.type == "import" and arguments is not None:
                return self._module(at, _text(arguments).strip("()'\" "))
            return []
        if node.type == "new_expression":
            made = node.child_by_field_name("constructor")
            return self._expression(at, made) if made is not None else []
        outer = node.child_by_field_name("object") or node.child_by_field_name("module")
        inner = node.child_by_field_name("property") or node.child_by_field_name("name")
        if outer is not None and inner is not None:
            return [m for each in self._expression(at, outer) for m in self._member(each, _text(inner))]
        return self._visible(at._replace(node=node), _text(node)) if "identifier" in node.type else []

    def _visible(self, at: Declaration, name: str) -> list[Declaration]:
        """Return what a name means at a place: in the innermost block that declares it."""
        self._steps += 1
        block: Node | None = at.node
        while block is not None and self._steps <= _MAX_STEPS:
            if block.type in ("program", "statement_block"):
                bound = [node for bound, node in _bindings(block) if bound == name]
                if bound:
                    return [each for node in bound for each in self._followed(at._replace(node=node))]
            block = block.parent
        return []

    def _followed(self, at: Declaration) -> list[Declaration]:
        """Return the declarations of a local name: its own, or those of what it imports."""
        node = at.node
        if node.type == "import_alias":
            return self._expression(at, node.named_children[-1])
        source = _source(node)
        if node.type == "import_specifier":
            original = node.child_by_field_name("name")
            asked = _text(original) if original is not None else ""
            return [m for file in self._module(at, source) for m in self._member(file, asked)]
        if node.type in ("namespace_import", "import_require_clause"):
            return [whole for file in self._module(at, source) for whole in self._whole(file)]
        if node.type == "import_clause":
            return [m for file in self._module(at, source) for m in self._member(file, DEFAULT)]
        return [at]

    def _whole(self, file: Declaration) -> list[Declaration]:
        """Return a file, and what it exports as a whole."""
        for statement in file.node.named_children:
            if statement.type == "export_statement" and any(c.type == "=" for c in statement.children):
                return [*self._expression(file, statement.named_children[-1]), file]
        return [file]

    def _exported(self, at: Declaration, name: str) -> list[Declaration]:
        """Return what a file exports under a name."""
        whole = self._whole(at)[:-1]
        if whole:
            return whole if name == DEFAULT else [m for each in whole for m in self._member(each, name)]
        found = self._in_block(at, at.node, name) or self._ambient(at, name)
        return found or ([at] if name == DEFAULT else [])  # as with `esModuleInterop`

    def _ambient(self, at: Declaration, name: str) -> list[Declaration]:
        """Return what `declare module "…"` in a file declares, where the file itself exports nothing."""
        for statement in at.node.named_children:
            for node in statement.named_children if statement.type == "ambient_declaration" else ():
                body = node.child_by_field_name("body") if node.type == "module" else None
                found = self._in_block(at, body, name) if body is not None else []
                if found:
                    return found
        return []

    def _in_block(self, at: Declaration, block: Node, name: str) -> list[Declaration]:
        """Return what a file or a namespace declares or re-exports under a name."""
        stars: list[str] = []
        for statement in block.named_children:
            if statement.type != "export_statement":
                continue
            source = statement.child_by_field_name("source")
            module = _text(source).strip("'\"") if source is not None else ""
            default = any(child.type == DEFAULT for child in statement.children)
            declared, value = (statement.child_by_field_name(key) for key in ("declaration", "value"))
            if default and name == DEFAULT:
                if declared is not None:
                    return [at._replace(node=declared)]
                return self._expression(at, value) if value is not None else []
            kinds = ("export_clause", "namespace_export")
            clause = next((each for each in statement.named_children if each.type in kinds), None)
            if clause is None:
                stars += [module] if module and name != DEFAULT else []
            elif clause.type == "namespace_export":
                if _text(clause.named_children[0]) == name:
                    return self._module(at, module)
            elif (original := _renamed(clause, name)) is not None:
                if not module:
                    return self._visible(at._replace(node=block), original)
                return [m for file in self._module(at, module) for m in self._member(file, original)]
        bound = [node for each, node in _bindings(block) if each == name and "import_" not in node.type]
        bound += [node for each, node in _bindings(block) if each == name and node.type == "import_alias"]
        if bound:
            return [each for node in bound for each in self._followed(at._replace(node=node))]
        outside = (file for module in stars for file in self._module(at, module))
        return next((found for file in outside if (found := self._member(file, name))), [])


def _bindings(block: Node) -> Iterator[tuple[str, Node]]:
    """Yield the names that a block declares or imports, with the node that does."""
    for statement in block.named_children:
        if statement.type == "import_statement":
            yield from _imported(statement)
            continue
        pending = [statement]
        while pending:
            node = pending.pop()
            if node.type in _DECLARED or node.type in ("variable_declarator", "import_alias"):
                name = node.named_children[0] if node.type == "import_alias" else node
                yield (_text(name) if node.type == "import_alias" else _name(node)), node
            elif node.type in ("export_statement", *_WRAPPERS):
                pending += node.named_children[::-1]


def _imported(statement: Node) -> Iterator[tuple[str, Node]]:
    for clause in statement.named_children:
        if clause.type == "import_require_clause":
            yield _text(clause.named_children[0]), clause
        for part in clause.named_children if clause.type == "import_clause" else ():
            if part.type == "identifier":
                yield _text(part), clause
            elif part.type == "namespace_import":
                yield _text(part.named_children[0]), part
            for each in part.named_children if part.type == "named_imports" else ():
                local = each.child_by_field_name("alias") or each.child_by_field_name("name")
                yield (_text(local) if local is not None else ""), each


def _renamed(clause: Node, name: str) -> str | None:
    """Return the local name of what an export clause exports under a name."""
    for each in clause.named_children:
        original, alias = each.child_by_field_name("name"), each.child_by_field_name("alias")
        if original is not None and _text(alias or original) == name:
            return _text(original)
    return None


def _source(node: Node) -> str:
    """Return the module of the import that a node is in."""
    current: Node | None = node
    while current is not None:
        source = current.child_by_field_name("source")
        if source is not None:
            return _text(source).strip("'\"")
        current = current.parent
    return ""


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return _text(name).strip("'\"") if name is not None else ""


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
