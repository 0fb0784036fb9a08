"""What a file refers to, read from the same syntax tree as its definitions.

A query file `queries/references/<language>.scm` speaks this vocabulary:

    @call      the name that is called      @on        what stands before its dot
    @inherit   a supertype                  @decorate  a decorator or annotation
    @type      a type expression            @import    a statement that brings in names
    @use       one name of a type           @alias     the type that a type is another name of
    @pass      a name or member that is passed, assigned, returned or kept, and not called
    @bind      a variable or attribute, @field one of a constructor, @member one taken apart (by @key):
        @value     an expression            @declared  a type
        @each      what it is an element of @otherwise the value that a parameter has by default
        @context   what gives it for the length of a block
    @arguments those of a macro, which are read as expressions
    @within    what a variable is confined to, where that is not what is around it
    @targets   several variables that get the @values, or the results of the only one
    @results   a function whose results are declared one by one, @generic a type parameter
    @elements  a generic supertype: what a type holds, or the arguments it gives to its supertype
    @function  a function or signature, whose parameters may have types
    @property  a property of an object, @made of one that is returned
    @tuple     the fields of a struct that have no names
    @getter    the name of a getter         @static    the name of a static method
    @default   what a module exports as a whole
    @return    an expression returned       @returns   the declared type of what is returned
    @yield     an expression yielded, @parameter a parameter that the caller has to give, and
    @options   the arguments of a decorator: of tests and fixtures (`call_arguments`)
    @anonymous the body of a type without a name; @base its supertype, @constant its enum constant
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from findspot.chunk import ecmascript_expressions, go_expressions, rust_expressions
from findspot.chunk.block_scopes import BlockScopes
from findspot.chunk.call_arguments import (
    OVERLOADING,
    PASSIVE,
    UNKNOWN_ARITY,
    Requests,
    argument_count,
    bind_several,
    may_test,
    parameter_range,
    refer_to_values,
    used_bindings,
)
from findspot.chunk.expressions import (
    COMMON,
    CONSTANT_NAMES,
    JAVA,
    declared,
    expression,
    tuple_parts,
    type_arguments,
    type_names,
)
from findspot.chunk.imports import read_imports
from findspot.chunk.symbols import Definition, FileSymbols, Imported, end_row, insert_definitions, text_of
from findspot.core.facts import (
    ALIASED,
    DECLARED,
    DEFAULT,
    LITERAL,
    OBJECT,
    RETURNED,
    UNKNOWN,
    WHOLE,
    BindingFact,
    DefinitionFact,
    Facts,
    ImportFact,
    ReferenceFact,
    Relation,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from findspot.chunk.grammars import Captures, Grammar

_OWN_TYPES = frozenset({"Self", "self", "static"})

_CALL, _USE = Relation.CALL, Relation.TYPE_USE
_CALLED = frozenset({"function", "method"})
_NAMED = {
    "call": _CALL,
    "inherit": Relation.INHERIT,
    "decorate": Relation.DECORATE,
    "use": Relation.TYPE_USE,
}
_RANK: dict[str, int] = {Relation.TYPE_USE: 0, Relation.CALL: 1, Relation.INHERIT: 2, Relation.DECORATE: 3}
"""The better word for one place wins: a decorator is called, a type is used where it is made."""
_FUNCTIONS = re.compile("function|method|lambda|closure")
"""Types of nodes that return what is returned inside of them."""
_TYPED = frozenset({"java"})
"""Languages in which every declared type is the whole truth."""
_LITERALS = frozenset({"dictionary", "float", "integer", "list", "list_comprehension", "string"})
"""Types of nodes whose text need not be read."""
_DECLARING = frozenset({"c", "cpp"})
"""Languages whose functions may be declared in one file and defined in another."""


_EXPRESSIONS: dict[str, Callable[[Node, bytes], str]] = {
    "go": go_expressions.expression,
    "rust": lambda node, source: rust_expressions.expression(text_of(node, source)),
    **dict.fromkeys(ecmascript_expressions.LANGUAGES, ecmascript_expressions.expression),
}
"""How expressions are read, in languages with a way of their own."""


@dataclass(slots=True)
class Reading:
    """One file being read."""

    source: bytes
    definitions: list[Definition]
    starts: list[int]
    places: dict[Definition, int]
    language: str
    scopes: BlockScopes
    package: str
    imported: dict[int, list[Imported]]
    references: dict[tuple[int, str], ReferenceFact] = field(default_factory=dict)
    bindings: dict[BindingFact, None] = field(default_factory=dict)
    passed: list[Node] = field(default_factory=list)
    imports: list[ImportFact] = field(default_factory=list)
    types_until: int = -1
    requests: Requests | None = None
    """Of a file that may hold tests or fixtures."""
    ascii: str | None = None
    """The source, where its bytes are its characters."""
    line_ends: list[int] = field(default_factory=list)
    """Where each line but the first starts."""
    read: Callable[[Node, bytes], str] | None = None
    """Reads expressions where those of the language are read from the syntax tree."""

    def __post_init__(self) -> None:
        self.ascii = self.source.decode("ascii") if self.source.isascii() else None
        self.line_ends = list(accumulate(len(line) + 1 for line in self.source.split(b"\n")))
        self.read = _EXPRESSIONS.get(self.language)

    def text(self, node: Node) -> str:
        """Return the text of a node; PHP's mark of variables is no part of their names."""
        if self.ascii is not None and self.language != "php":
            return self.ascii[node.start_byte : node.end_byte]
        text = text_of(node, self.source)
        return text.replace("$", "") if self.language == "php" else text

    def row(self, at: int) -> int:
        """Return the row that a byte is on: that of the node which starts there, without asking the node."""
        return bisect_right(self.line_ends, at)

    def expression(self, node: Node) -> str:
        """Return a value or receiver in the notation of `core.facts`."""
        if self.read is not None:
            return self.read(node, self.source)
        whole = self.ascii
        text = text_of(node, self.source) if whole is None else whole[node.start_byte : node.end_byte]
        if text.isidentifier():
            return LITERAL if text in CONSTANT_NAMES else text
        kind = node.type
        while kind == "assignment" and (right := node.child_by_field_name("right")) is not None:
            node = right  # `a = b = value`
            kind = node.type
        if kind in _LITERALS:
            return LITERAL
        if kind == "call" and self.language == "python" and not text.startswith(("type(", "(")):
            called = node.child_by_field_name("function")  # so that arguments need not be read
            chain = self.expression(called) if called is not None else UNKNOWN
            return chain if chain in (UNKNOWN, LITERAL) or "|" in chain else f"{chain}()"
        return expression(self.text(node))

    def declared(self, node: Node) -> str:
        """Return a type in the notation of `core.facts`."""
        if self.language == "go":
            return go_expressions.declared(node, self.source)
        if self.language in ecmascript_expressions.LANGUAGES:
            return ecmascript_expressions.declared_type(node, self.source)
        if self.language not in _TYPED:
            return declared(self.text(node))
        found = declared(self.text(node), words=JAVA if self.language == "java" else COMMON)
        return LITERAL if found == UNKNOWN else found  # of a type that is not of the project

    def bind(self, binding: BindingFact, node: Node) -> None:
        """Add a binding that holds around a node."""
        self.bindings[binding] = None
        if self.scopes.is_needed:
            self.scopes.add(binding, node)

    def around(self, at: int) -> Definition | None:
        """Return the innermost definition that holds a byte."""
        place = bisect_right(self.starts, at) - 1
        found = self.definitions[place] if place >= 0 else None
        while found is not None and found.end_byte <= at:
            found = found.parent
        return found

    def owner(self, at: int) -> int:
        """Return the place of the innermost definition that runs what stands at a byte, or -1."""
        place = bisect_right(self.starts, at) - 1
        found = self.definitions[place] if place >= 0 else None
        while found is not None and (found.end_byte <= at or found.kind in PASSIVE):
            found = found.parent
        return self.places[found] if found is not None else -1

    def owner_of(self, place: int) -> int:
        """Return the place of what encloses a definition, or -1."""
        parent = self.definitions[place].parent
        return self.places[parent] if parent is not None else -1

    def decorated(self, node: Node) -> int:
        """Return the definition that an annotation belongs to: around it, or directly below."""
        at = node.start_byte
        found = self.around(at)
        if found is None or self.row(at) > found.row or found.start_byte == at:
            place = bisect_right(self.starts, at)
            below = self.definitions[place] if place < len(self.definitions) else None
            found = below if below is not None and below.parent is found else found
        return self.places[found] if found is not None else -1


def read_references(
    grammar: Grammar, matches: list[Captures], source: bytes, symbols: FileSymbols, path: str
) -> Facts | None:
    """Return the facts of a file; None where its language has no query of references."""
    if not grammar.finds_references:
        return None
    if "arguments" in grammar.captures:
        matches += grammar.argument_matches(matches, source)
    anonymous = list(_anonymous_types(matches, source)) if "anonymous" in grammar.captures else []
    listed = insert_definitions(symbols.definitions, [made for made, _ in anonymous])
    places = {definition: place for place, definition in enumerate(listed)}
    starts = [definition.start_byte for definition in listed]
    reading = Reading(
        source,
        listed,
        starts,
        places,
        grammar.language,
        BlockScopes(grammar.language),
        symbols.package or "",
        symbols.imported,
    )
    if grammar.language == "python" and may_test(path, source):
        reading.requests = Requests()
    for made, base in (each for each in anonymous if each[0] in places):
        _inherit(reading, made, base)
    for match in matches:
        if "pass" in match:
            reading.passed += match["pass"]
        else:
            _read(reading, match, path)
    refer_to_values(reading)
    reading.scopes.settle(reading.bindings, reading.references)
    overloading = grammar.language in OVERLOADING
    definitions = tuple(_definition(reading, each, overloading) for each in listed)
    if grammar.language in _DECLARING:
        for place, each in enumerate(listed):
            if each.body_byte is None and each.kind in ("function", "method"):
                reading.bindings[BindingFact(place, DECLARED, UNKNOWN)] = None
    if reading.requests is not None:
        reading.requests.settle(definitions, reading.references, reading.bindings)
    kept = tuple([reading.references[place] for place in sorted(reading.references)])
    if grammar.language == "ruby":  # a bare name calls a method only where it is no variable
        variables = {(binding.owner, binding.target) for binding in reading.bindings}
        kept = tuple(r for r in kept if r.on or (r.owner, r.name) not in variables)
    return Facts(
        symbols.package or "",
        definitions,
        tuple(dict.fromkeys(reading.imports)),
        tuple(used_bindings(reading, kept)),
        kept,
    )


def _anonymous_types(matches: list[Captures], source: bytes) -> Iterator[tuple[Definition, Node | None]]:
    """Yield the types without a name, and what each is based on; None for that of an enum constant."""
    for match in matches:
        if "anonymous" in match:
            body = match["anonymous"][0]
            base, constant = match.get("base"), match.get("constant")
            node = (base or constant or [body])[0]
            name = expression(text_of(node, source)).rpartition(".")[2]
            name = name if constant else f"{'object' if body.type == 'object_literal' else 'new'} {name}"
            rows = node.start_point[0], end_row(body)
            made = Definition(name, "class", body, body.start_byte, body.end_byte, *rows, node.start_point[0])
            yield made, base[0] if base else None


def _inherit(reading: Reading, made: Definition, base: Node | None) -> None:
    """Let a type without a name inherit from its base; that of an enum constant, from the enum."""
    chain = expression(reading.text(base)) if base is not None else made.parent.name if made.parent else ""
    on, _, name = chain.rpartition(".")
    if name.isidentifier():
        fact = ReferenceFact(Relation.INHERIT, name, on, made.row + 1, reading.places[made])
        reading.references[made.start_byte, "anonymous"] = fact


def _definition(reading: Reading, definition: Definition, overloading: bool) -> DefinitionFact:
    parent = reading.places[definition.parent] if definition.parent is not None else -1
    first, last, scope = definition.row + 1, definition.last + 1, definition.scope or ""
    arity = parameter_range(definition.node) if overloading else UNKNOWN_ARITY
    return DefinitionFact(definition.name, definition.kind, first, last, parent, scope, *arity)


_PARTS = frozenset(
    {"on", "declared", "value", "otherwise", "each", "context", "values", "within", "key", "arguments"}
)
"""Captures that say more about another one of their match."""


_BOUND = frozenset({"bind", "member", "field"})


def _read(reading: Reading, match: Captures, path: str) -> None:
    for capture, nodes in match.items():
        if capture in _NAMED:
            _refer(reading, _NAMED[capture], nodes[0], match.get("on"))
        elif capture in _PARTS:
            continue
        elif capture in _BOUND:
            _bind(reading, capture, nodes, match)
        elif capture == "type":
            _use_types(reading, nodes[0])
        elif capture in ecmascript_expressions.PROPERTIES:
            _bind_property(reading, capture, nodes[0], match.get("value", nodes)[0])
        elif capture == "targets":
            bind_several(reading, nodes[0], match)
        elif capture in ("results", "generic", "tuple"):
            _declare(reading, capture, nodes[0], match)
        elif capture in _GIVEN:
            _give(reading, capture, nodes[0])
        elif capture == "function":
            ecmascript_expressions.bind_parameters(reading, nodes[0])
        elif capture == "import":
            reading.imports += read_imports(
                reading.language, nodes[0], reading.source, path, reading.imported
            )
        elif reading.requests is not None:
            reading.requests.add(reading, capture, nodes[0], match)


def _declare(reading: Reading, capture: str, node: Node, match: Captures) -> None:
    """Bind the results of a function, the limits of a type parameter or fields without names."""
    owner = reading.owner(node.start_byte)
    if capture == "tuple":
        for name, field_type in rust_expressions.tuple_fields(node):
            reading.bindings[BindingFact(owner, name, reading.declared(field_type))] = None
        return
    if capture == "generic":
        limits = reading.declared(match["declared"][0])
        reading.bindings[BindingFact(owner, f"[{reading.text(node)}]", limits)] = None
        return
    imported = {fact.local: fact.module for fact in reading.imports}
    packages = go_expressions.Packages(UNKNOWN if WHOLE in imported else reading.package, imported)
    for name, value in go_expressions.declarations(node, reading.source, packages):
        reading.bindings[BindingFact(owner, name, value)] = None


def _refer(reading: Reading, relation: Relation, node: Node, on: list[Node] | None) -> None:
    at, language = node.start_byte, reading.language
    name, receiver = reading.text(node), ""
    if on:
        receiver = reading.expression(on[0])
        if receiver == LITERAL:
            return
    if name == "new" and language == "ruby":  # the type is what is called
        receiver, _, name = (receiver or "class").rpartition(".")
    is_call = relation is _CALL
    if not is_call or not (name.isidentifier() or (language == "ruby" and name[:-1].isidentifier())):
        last = reading.expression(node) if is_call else expression(name)
        chain = f"{receiver}.{last}".removeprefix(".")
        receiver, _, name = chain.rpartition(".")
        name = name.removesuffix("[]").removesuffix("()")
    owner = reading.owner(at) if is_call or relation is not Relation.DECORATE else reading.decorated(node)
    if relation is _USE and (name in _OWN_TYPES or _is_name_of(reading, owner, name, at)):
        return
    if name and name not in (UNKNOWN, LITERAL):
        known = reading.references.get((at, ""))
        if known is None or _RANK[relation] > _RANK[known.relation]:
            given = argument_count(node) if is_call and language in OVERLOADING else -1
            fact = ReferenceFact(relation, name, receiver, reading.row(at) + 1, owner, given)
            reading.references[at, ""] = fact


def _is_name_of(reading: Reading, owner: int, name: str, at: int) -> bool:
    """Return whether a name at a byte is where a definition says its own."""
    definition = reading.definitions[owner] if owner >= 0 else None
    return definition is not None and definition.name == name and definition.row == reading.row(at)


def _use_types(reading: Reading, node: Node) -> None:
    """Refer to the types of an annotation, each once; nested types come with the outermost."""
    at = node.start_byte
    if at < reading.types_until:
        return
    reading.types_until = node.end_byte
    owner, line = reading.owner(at), reading.row(at) + 1
    for found in type_names(reading.text(node)):
        on, _, name = found.rpartition(".")
        if name in _OWN_TYPES:
            continue
        fact = ReferenceFact(_USE, name, on, line, owner)
        reading.references.setdefault((at, found), fact)


_GIVEN = {"return": RETURNED, "returns": RETURNED, "alias": ALIASED, "elements": ALIASED, "default": DEFAULT}


def _give(reading: Reading, capture: str, node: Node) -> None:
    """Bind what a function returns, a type is an alias of, or a module exports."""
    is_type = capture in ("returns", "alias", "elements")
    is_object = capture == "return" and node.type == "object"
    value = OBJECT if is_object else reading.declared(node) if is_type else reading.expression(node)
    owner = -1 if capture == "default" else reading.owner(node.start_byte)
    if capture == "elements" and not value.startswith(":[]"):
        base, given = type_arguments(reading.text(node))
        reading.bindings[BindingFact(owner, f"<{base}>", given)] = None
        return
    if value == LITERAL and capture == "returns" and reading.language in _TYPED:
        reading.bindings[BindingFact(owner, RETURNED, value)] = None
    if capture == "return" and not _returns_from(reading, node, owner):
        return
    if value not in (UNKNOWN, LITERAL):
        reading.bindings[BindingFact(owner, _GIVEN[capture], value)] = None
    if capture in ("return", "returns") and reading.language == "python":
        for place, part in enumerate(tuple_parts(node, reading.source), 1):
            if part not in (UNKNOWN, LITERAL):
                reading.bindings[BindingFact(owner, f"({place})", part)] = None


def _returns_from(reading: Reading, node: Node, owner: int) -> bool:
    """Return whether a `return` is that of a definition, not of a nameless function inside of it."""
    body = reading.definitions[owner].body_byte if owner >= 0 else None
    if body is None or (reading.language == "python" and reading.definitions[owner].kind in _CALLED):
        return True  # each function of Python that returns something is a definition
    around = node.parent
    while around is not None and not _FUNCTIONS.search(around.type):
        around = around.parent
    inner = around.child_by_field_name("body") if around is not None else None
    return inner is None or inner.start_byte == body


_SOURCES = ("declared", "value", "otherwise", "each", "context")
"""What a variable may be made from, the first that is there."""


def _bind(reading: Reading, capture: str, nodes: list[Node], match: Captures) -> None:
    value = UNKNOWN
    for source in _SOURCES if len(match) > 1 else ():
        if source in match:
            read = reading.declared if source == "declared" else reading.expression
            value = read(match[source][0])
            if source == "context" and value not in (UNKNOWN, LITERAL):
                value = f"{value}.__enter__()" if "|" not in value else UNKNOWN
            if source == "otherwise" and value == LITERAL:
                value = UNKNOWN  # a parameter that is `None` by default is mostly something else
            if source == "each" and value not in (UNKNOWN, LITERAL):
                value = f"<{value}>" if value[0] == ":" and reading.language == "go" else value
                value = f"{value}[]" if "|" not in value else UNKNOWN
            break
    for node in nodes:
        at, text = node.start_byte, reading.text(node)
        owner = reading.owner(at)
        target = text if text.isidentifier() else reading.expression(node)
        if _is_name_of(reading, owner, target, at):
            if reading.definitions[owner].kind != "property":
                continue
            owner = reading.owner_of(owner)
        made = value
        if capture == "member" and value not in (UNKNOWN, LITERAL):
            keys = [expression(reading.text(key)) for key in match.get("key", ())]
            if not keys or node.type.startswith("shorthand"):
                keys.append(target)
            made = ".".join((value, *keys)) if "|" not in value and UNKNOWN not in keys else UNKNOWN
        target = f"this.{target}" if capture == "field" else target
        if "struct" in match and (around := match["struct"][0].parent) and around.type != "type_spec":
            target = f"{go_expressions.mark_of(match['struct'][0])}{target}"
        if target.count(".") <= 1 and not target.endswith(("]", ")")):
            reading.bind(BindingFact(owner, target, made), match.get("within", [node])[0])


def _bind_property(reading: Reading, capture: str, node: Node, value: Node) -> None:
    """Bind a property of an object literal that is a definition or is returned, or mark a getter."""
    mark, holder = ecmascript_expressions.PROPERTIES[capture], reading.around(node.start_byte)
    if holder is None or (mark == "") != (holder.kind in PASSIVE):
        return
    place, name = reading.places[holder], reading.text(node) if mark in ("", RETURNED) else ""
    if mark != RETURNED or _returns_from(reading, node, place):
        reading.bindings[BindingFact(place, mark + name, reading.expression(value))] = None
