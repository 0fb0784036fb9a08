"""What a file refers to, read from the same syntax tree as its definitions.

A query file `queries/references/<language>.scm` speaks this vocabulary:

    @call      the name that is called      @on        what stands before its dot
    @word      any name of Ruby that calls a method where it stands by itself, @constant_name one that is used
    @raise     an error that is made by raising its class
    @inherit   a supertype                  @decorate  a decorator or annotation
    @type      a type expression            @import    a statement that brings in names
    @use       one name of a type           @alias     the type that a type is another name of
    @pass      a name or member that is passed, assigned, returned or kept, and not called
    @bind      a variable or attribute, @field one of a constructor, @member one taken apart (by @key):
        @value     an expression            @declared  a type
        @each      what it is an element of @otherwise the value that a parameter has by default
        @context   what gives it for the length of a block
    @arguments those of a macro, which are read as expressions
    @targets   several variables that get the @values, or the results of the only one
    @results   a function whose results are declared one by one, @generic a type parameter
    @elements  a generic supertype: what a type holds, or the arguments it gives to its supertype
    @function  a function or signature, whose parameters may have types
    @property  a property of an object, @made of one that is returned
    @getter    the name of a getter         @static    the name of a static method
    @default   what a module exports as a whole
    @return    an expression returned       @returns   the declared type of what is returned
    @yield     an expression yielded, @parameter a parameter that the caller has to give, and
    @options   the arguments of a decorator: of tests and fixtures (`call_arguments`)
    @anonymous the body of a type without a name; @base its supertype, @constant its enum constant
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from findspot.chunk import ecmascript_expressions, go_expressions
from findspot.chunk.call_arguments import (
    OVERLOADING,
    UNKNOWN_ARITY,
    Requests,
    argument_count,
    bind_several,
    may_test,
    parameter_range,
    refer_to_values,
    used_bindings,
)
from findspot.chunk.expressions import expression, tuple_parts, type_arguments, type_names
from findspot.chunk.imports import read_imports
from findspot.chunk.reading import PASSIVE, TYPED, Reading
from findspot.chunk.symbols import Definition, FileSymbols, end_row, insert_definitions, text_of
from findspot.core.facts import (
    ALIASED,
    DEFAULT,
    LITERAL,
    OBJECT,
    PARAMETERS,
    RETURNED,
    UNKNOWN,
    WHOLE,
    BindingFact,
    DefinitionFact,
    Facts,
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
    "word": _CALL,
    "constant_name": _USE,
    "raise": _CALL,
}
_ALONE = frozenset({"word", "constant_name"})
_APART = {"raise": "raise"}
"""What a reference is kept as beside that to the name alone."""
_RANK: dict[str, int] = {Relation.TYPE_USE: 0, Relation.CALL: 1, Relation.INHERIT: 2, Relation.DECORATE: 3}
"""The better word for one place wins: a decorator is called, a type is used where it is made."""
_FUNCTIONS = re.compile("function|method|lambda|closure")
"""Types of nodes that return what is returned inside of them."""


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
    reading = Reading(
        source,
        listed,
        [definition.start_byte for definition in listed],
        {definition: place for place, definition in enumerate(listed)},
        grammar.language,
        symbols.package or "",
        symbols.imported,
    )
    requests = Requests() if grammar.language == "python" and may_test(path, source) else None
    for made, base in anonymous:
        _inherit(reading, made, base)
    for match in matches:
        if "pass" in match:
            reading.passed += match["pass"]
        else:
            _read(reading, match, path, requests)
    return _settled(reading, requests)


def _settled(reading: Reading, requests: Requests | None) -> Facts:
    refer_to_values(reading)
    definitions = tuple(_definition(reading, each) for each in reading.definitions)
    if requests is not None:
        requests.settle(definitions, reading.references, reading.bindings)
    kept = tuple([reading.references[place] for place in sorted(reading.references)])
    if reading.language == "ruby":  # a bare name calls a method only where it is no variable
        variables = {(binding.owner, binding.target) for binding in reading.bindings}
        kept = tuple(r for r in kept if r.on or variables.isdisjoint(_seen_from(reading, r.owner, r.name)))
    imports = dict.fromkeys(reading.imports)
    return Facts(reading.package, definitions, imports, used_bindings(reading, kept), kept)


def _seen_from(reading: Reading, owner: int, name: str) -> Iterator[tuple[int, str]]:
    """Yield a variable of each definition that code sees: its own, and those around the block of a test."""
    yield owner, name
    while owner >= 0 and reading.definitions[owner].kind == "test":
        owner = reading.owner_of(owner)
        yield owner, name


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
    if made not in reading.places:
        return
    chain = expression(reading.text(base)) if base is not None else made.parent.name if made.parent else ""
    on, _, name = chain.rpartition(".")
    if name.isidentifier():
        fact = ReferenceFact(Relation.INHERIT, name, on, made.row + 1, reading.places[made])
        reading.references[made.start_byte, "anonymous"] = fact


def _definition(reading: Reading, definition: Definition) -> DefinitionFact:
    parent = reading.places[definition.parent] if definition.parent is not None else -1
    first, last, scope = definition.row + 1, definition.last + 1, definition.scope or ""
    arity = parameter_range(definition.node) if reading.language in OVERLOADING else UNKNOWN_ARITY
    return DefinitionFact(definition.name, definition.kind, first, last, parent, scope, *arity)


_PARTS = frozenset({"on", "declared", "value", "otherwise", "each", "context", "values", "key", "arguments"})
"""Captures that say more about another one of their match."""


_BOUND = frozenset({"bind", "member", "field"})


def _read(reading: Reading, match: Captures, path: str, requests: Requests | None) -> None:
    for capture, nodes in match.items():
        if capture in _PARTS or not _stands_alone(capture, nodes[0]):
            continue
        if capture in _NAMED:
            _refer(reading, _NAMED[capture], nodes[0], match.get("on"), _APART.get(capture, ""))
        elif capture in _BOUND:
            _bind(reading, capture, nodes, match)
        elif capture == "type":
            _use_types(reading, nodes[0])
        elif capture in ecmascript_expressions.PROPERTIES:
            _bind_property(reading, capture, nodes[0], match.get("value", nodes)[0])
        elif capture == "targets":
            bind_several(reading, nodes[0], match)
        elif capture in ("results", "generic"):
            _declare(reading, capture, nodes[0], match)
        elif capture in _GIVEN:
            _give(reading, capture, nodes[0])
        elif capture == "function":
            _bind_parameters(reading, nodes[0])
        elif capture == "import":
            reading.imports += read_imports(
                reading.language, nodes[0], reading.source, path, reading.imported
            )
        elif requests is not None:
            requests.add(reading, capture, nodes[0], match)


def _stands_alone(capture: str, node: Node) -> bool:
    """Return whether a name of Ruby is no part of a longer one, and not what is called or defined there."""
    around = node.parent if capture in _ALONE else None
    if around is None:
        return True
    if around.type in ("scope_resolution", "setter"):
        return False
    return node not in (around.child_by_field_name("name"), around.child_by_field_name("method"))


def _declare(reading: Reading, capture: str, node: Node, match: Captures) -> None:
    """Bind the results of a function, or the limits of a type parameter."""
    owner = reading.owner(node.start_byte)
    if capture == "generic":
        limits = reading.declared(match["declared"][0])
        reading.bindings[BindingFact(owner, f"[{reading.text(node)}]", limits)] = None
        return
    imported = {fact.local: fact.module for fact in reading.imports}
    packages = go_expressions.Packages(UNKNOWN if WHOLE in imported else reading.package, imported)
    for name, value in go_expressions.declarations(node, reading.source, packages):
        reading.bindings[BindingFact(owner, name, value)] = None


def _refer(reading: Reading, relation: Relation, node: Node, on: list[Node] | None, key: str = "") -> None:
    at = node.start_byte
    receiver = reading.expression(on[0]) if on else ""
    if receiver == LITERAL:
        return
    receiver, name = _receiver_and_name(reading, relation, node, receiver)
    owner = reading.decorated(node) if relation is Relation.DECORATE else reading.owner(at)
    if relation is _USE and (name in _OWN_TYPES or _is_name_of(reading, owner, name, at)):
        return
    known = reading.references.get((at, key))
    if name in ("", UNKNOWN, LITERAL) or (known and _RANK[relation] <= _RANK[known.relation]):
        return
    given = argument_count(node) if relation is _CALL and reading.language in OVERLOADING else -1
    reading.references[at, key] = ReferenceFact(relation, name, receiver, reading.row(at) + 1, owner, given)


def _receiver_and_name(reading: Reading, relation: Relation, node: Node, receiver: str) -> tuple[str, str]:
    """Return what a reference is asked of, and its name: the last one of what is written there."""
    name, is_ruby = reading.text(node), reading.language == "ruby"
    if name == "new" and is_ruby:  # the type is what is called
        receiver, _, name = (receiver or "class").rpartition(".")
    is_call = relation is _CALL
    if is_call and (name.isidentifier() or (is_ruby and name[:-1].isidentifier())):
        return receiver, name
    last = reading.expression(node) if is_call else expression(name)
    receiver, _, name = f"{receiver}.{last}".removeprefix(".").rpartition(".")
    return receiver, name.removesuffix("[]").removesuffix("()")


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
    owner = -1 if capture == "default" else reading.owner(node.start_byte)
    value = _given_value(reading, capture, node)
    if capture == "elements" and not value.startswith(":[]"):
        base, given = type_arguments(reading.text(node))
        reading.bindings[BindingFact(owner, f"<{base}>", given)] = None
        return
    if capture == "return" and not _returns_from(reading, node, owner):
        return
    says_type = value == LITERAL and capture == "returns" and reading.language in TYPED
    if value not in _NOTHING or says_type:
        reading.bindings[BindingFact(owner, _GIVEN[capture], value)] = None
    if capture in ("return", "returns") and reading.language == "python":
        for place, part in enumerate(tuple_parts(node, reading.source), 1):
            if part not in _NOTHING:
                reading.bindings[BindingFact(owner, f"({place})", part)] = None


def _given_value(reading: Reading, capture: str, node: Node) -> str:
    if capture in ("returns", "alias", "elements"):
        return reading.declared(node)
    return OBJECT if capture == "return" and node.type == "object" else reading.expression(node)


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
_STEPS = {"context": ".__enter__()", "each": "[]"}
"""How a variable is got from what it is made from."""
_NOTHING = frozenset({UNKNOWN, LITERAL})
"""Values that say nothing of the project."""


def _bind(reading: Reading, capture: str, nodes: list[Node], match: Captures) -> None:
    value = _bound_value(reading, match) if len(match) > 1 else UNKNOWN
    mark = "this." if capture == "field" else ""
    struct = match["struct"][0] if "struct" in match else None
    if struct is not None and struct.parent is not None and struct.parent.type != "type_spec":
        mark = go_expressions.mark_of(struct) + mark  # of a struct without a name
    for node in nodes:
        at, text = node.start_byte, reading.text(node)
        owner = reading.owner(at)
        target = text if text.isidentifier() else reading.expression(node)
        if _is_name_of(reading, owner, target, at):
            if reading.definitions[owner].kind != "property":
                continue
            owner = reading.owner_of(owner)
        made = _member_of(reading, value, target, node, match) if capture == "member" else value
        target = mark + target
        if target.count(".") <= 1 and not target.endswith(("]", ")")):
            reading.bindings[BindingFact(owner, target, made)] = None


def _bound_value(reading: Reading, match: Captures) -> str:
    source = next((source for source in _SOURCES if source in match), None)
    if source is None:
        return UNKNOWN
    node = match[source][0]
    value = reading.declared(node) if source == "declared" else reading.expression(node)
    if source == "otherwise":  # a parameter that is `None` by default is mostly something else
        return UNKNOWN if value == LITERAL else value
    if source not in _STEPS or value in _NOTHING:
        return value
    if "|" in value:
        return UNKNOWN
    is_type = source == "each" and value[0] == ":" and reading.language == "go"
    return f"<{value}>{_STEPS[source]}" if is_type else f"{value}{_STEPS[source]}"


def _member_of(reading: Reading, value: str, target: str, node: Node, match: Captures) -> str:
    """Return what a variable is made from that gets a member of a value which is taken apart."""
    if value in _NOTHING:
        return value
    keys = [expression(reading.text(key)) for key in match.get("key", ())]
    if not keys or node.type.startswith("shorthand"):
        keys.append(target)
    return UNKNOWN if "|" in value or UNKNOWN in keys else ".".join((value, *keys))


def _bind_property(reading: Reading, capture: str, node: Node, value: Node) -> None:
    """Bind a property of an object literal that is a definition or is returned, or mark a getter."""
    mark, holder = ecmascript_expressions.PROPERTIES[capture], reading.around(node.start_byte)
    if holder is None or (mark == "") != (holder.kind in PASSIVE):
        return
    place, name = reading.places[holder], reading.text(node) if mark in ("", RETURNED) else ""
    if mark != RETURNED or _returns_from(reading, node, place):
        reading.bindings[BindingFact(place, mark + name, reading.expression(value))] = None


def _bind_parameters(reading: Reading, function: Node) -> None:
    """Bind the declared types of a function's parameters; others, to what the place of the function says."""
    source, body = reading.source, function.child_by_field_name("body")
    listed = function.child_by_field_name("parameters")
    types = ecmascript_expressions.parameter_types(listed, source) if listed is not None else ""
    owner = reading.owner(listed.start_byte) if types and listed is not None else -1
    if owner >= 0 and (body is None or reading.definitions[owner].body_byte == body.start_byte):
        reading.bindings[BindingFact(owner, PARAMETERS, types)] = None
    parameters = list(ecmascript_expressions.untyped_parameters(function, source)) if body is not None else []
    for expected in ecmascript_expressions.expected_types(function, source) if parameters else ():
        for node, step in parameters:
            binding = BindingFact(reading.owner(node.start_byte), reading.text(node), f"{expected}{step}")
            reading.bindings[binding] = None
