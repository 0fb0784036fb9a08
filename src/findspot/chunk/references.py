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
    @options   the arguments of a decorator: of tests and fixtures (`Requests`)
    @anonymous the body of a type without a name; @base its supertype, @constant its enum constant
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from tree_sitter import Node

from findspot.chunk import ecmascript_expressions, go_expressions
from findspot.chunk.expressions import (
    CONSTANT_NAMES,
    JAVA,
    declared,
    expression,
    iterated_values,
    tuple_parts,
    type_arguments,
    type_names,
)
from findspot.chunk.grammars import Captures, Grammar
from findspot.chunk.imports import FUNCTIONS, read_imports
from findspot.chunk.symbols import Definition, FileSymbols, end_row, insert_definitions, text_of
from findspot.core.facts import (
    ALIASED,
    DEFAULT,
    FIXTURE,
    FIXTURE_DECORATORS,
    LITERAL,
    OBJECT,
    PARAMETERS,
    RETURNED,
    UNKNOWN,
    WHOLE,
    BindingFact,
    DefinitionFact,
    Facts,
    ImportFact,
    ReferenceFact,
    Relation,
    root_of,
)

PASSIVE = frozenset({"constant", "field", "variable"})
"""Kinds that run nothing themselves: what stands in them belongs to what is around them."""

_LITERALS = frozenset({"dictionary", "float", "integer", "list", "list_comprehension", "string"})
"""Types of nodes whose text need not be read."""

_EXPRESSIONS: dict[str, Callable[[Node, bytes], str]] = {
    "go": go_expressions.expression,
    **dict.fromkeys(ecmascript_expressions.LANGUAGES, ecmascript_expressions.expression),
}
"""How expressions are read, in languages with a way of their own."""


@dataclass(slots=True)
class Reading:
    """One file being read."""

    source: bytes
    definitions: list[Definition]
    language: str
    package: str
    references: dict[tuple[int, str], ReferenceFact] = field(default_factory=dict)
    bindings: dict[BindingFact, None] = field(default_factory=dict)
    passed: list[Node] = field(default_factory=list)
    imports: list[ImportFact] = field(default_factory=list)
    types_until: int = -1
    starts: list[int] = field(init=False)
    """Where each definition starts."""
    places: dict[Definition, int] = field(init=False)
    ascii: str | None = field(init=False)
    """The source, where its bytes are its characters."""
    line_ends: list[int] = field(init=False)
    """Where each line but the first starts."""
    read: Callable[[Node, bytes], str] | None = field(init=False)
    """Reads expressions where those of the language are read from the syntax tree."""

    def __post_init__(self) -> None:
        self.starts = [definition.start_byte for definition in self.definitions]
        self.places = {definition: place for place, definition in enumerate(self.definitions)}
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
        if self.language != "java":
            return declared(self.text(node))
        found = declared(self.text(node), words=JAVA)
        return LITERAL if found == UNKNOWN else found  # of a type that is not of the project

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

    def around_place(self, place: int) -> Iterator[int]:
        """Yield the place of a definition, and of what encloses it."""
        while place >= 0:
            yield place
            place = self.owner_of(place)

    def decorated(self, node: Node) -> int:
        """Return the definition that an annotation belongs to: around it, or directly below."""
        at = node.start_byte
        found = self.around(at)
        if found is None or self.row(at) > found.row or found.start_byte == at:
            place = bisect_right(self.starts, at)
            below = self.definitions[place] if place < len(self.definitions) else None
            found = below if below is not None and below.parent is found else found
        return self.places[found] if found is not None else -1


OVERLOADING = frozenset({"java", "csharp"})
"""Languages that distinguish functions of one name by their parameters."""

UNKNOWN_ARITY = (-1, -1)
ANY_NUMBER = 255
"""The most arguments of a function that takes any number."""

_MAX_STEPS = 3
"""From the name of what is called up to the call."""

_VARIADIC = frozenset({"spread_parameter", "params"})


def argument_count(name: Node) -> int:
    """Return how many arguments the call of a name has, or -1."""
    call = name.parent
    for _ in range(_MAX_STEPS):
        if call is None:
            return -1
        given = call.child_by_field_name("arguments")
        if given is not None:
            count = given.named_child_count
            return sum(not child.is_extra for child in given.named_children) if count > 1 else count
        call = call.parent
    return -1


def parameter_range(function: Node) -> tuple[int, int]:
    """Return how many arguments a function takes, at least and at most."""
    listed = function.child_by_field_name("parameters")
    if listed is None:
        return UNKNOWN_ARITY
    least = most = 0
    for child in listed.children:
        words = {child.type, *(token.type for token in child.children)}
        modifiers = (part.text or b"" for part in child.children if "modifier" in part.type)
        words.update(modifier.decode("utf-8", "replace").strip() for modifier in modifiers)
        if child.type == "=" or _VARIADIC & words:
            least -= child.type == "="  # the parameter before it has a default
            most = ANY_NUMBER if _VARIADIC & words else most
        elif child.type.endswith("parameter") and child.type != "receiver_parameter":
            most += most < ANY_NUMBER
            least += "=" not in words and "this" not in words
    return least, most


SELVES = ("self", "this", "cls")
_VARIABLES = PASSIVE | {"property"}
_NAMED_IN_FILE = frozenset({"python", "javascript", "typescript", "tsx"})
"""Languages in which a file defines or imports every name of the project that it uses."""


def refer_to_values(reading: Reading) -> None:
    """Record the names that are passed and may be functions, methods or types: variables are not."""
    if not reading.passed:
        return
    names = _Names(reading)
    for node in reading.passed:
        if names.rule_out(reading.text(node)):
            continue
        on, _, name = reading.expression(node).rpartition(".")
        at = node.start_byte
        if not name.isidentifier() or UNKNOWN in on or LITERAL in on or (at, "") in reading.references:
            continue
        owner = reading.owner(at)
        if names.may_be_passed(owner, on, name):
            fact = ReferenceFact(Relation.VALUE, name, on, reading.row(at) + 1, owner)
            reading.references[at, ""] = fact


class _Names:
    """What the names of a file may be when they are passed."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._bound: dict[tuple[int, str], bool] = {}
        """By owner and name of a variable: whether something is known of its value."""
        imported = {each.local for each in reading.imports}
        for owner, target, value in reading.bindings:
            if owner >= 0 or target not in imported:
                is_known = value not in (UNKNOWN, LITERAL)
                self._bound[owner, target] = self._bound.get((owner, target), False) or is_known
        self._attributes = {target.rpartition(".")[2] for _, target in self._bound if "." in target}
        self._defined = imported.union(d.name for d in reading.definitions if d.kind not in _VARIABLES)
        self._is_open = reading.language not in _NAMED_IN_FILE or WHOLE in self._defined

    def rule_out(self, text: str) -> bool:
        """Return whether the text alone says that something is a variable: expressions are slow to read."""
        root, dot, member = text.partition(".")
        if dot:
            return member in self._attributes and root in SELVES
        return not self._is_open and root not in self._defined and root.isidentifier()

    def may_be_passed(self, owner: int, on: str, name: str) -> bool:
        root = root_of(on or name)
        if root in SELVES:
            return bool(on) and (on != root or name not in self._attributes)
        while (owner, root) not in self._bound:
            if owner < 0:  # nothing around binds the name
                return self._is_open or root in self._defined
            owner = self._reading.owner_of(owner)
        return bool(on) and self._bound[owner, root]


def used_bindings(reading: Reading, references: tuple[ReferenceFact, ...]) -> Iterator[BindingFact]:
    """Yield the bindings that a lookup can come upon: of attributes, types and modules, and of names used."""
    receivers = {on: root_of(on) for on in {reference.on for reference in references}}
    roots = {receivers[reference.on] or reference.name for reference in references}
    values = {binding.value for binding in reading.bindings}
    roots.update(root_of(part) for value in values for part in value.split("|"))
    kinds = {place: d.kind for d, place in reading.places.items()}
    for binding in reading.bindings:
        if _is_used(binding, kinds.get(binding.owner), roots):
            yield binding


def _is_used(binding: BindingFact, kind: str | None, roots: set[str]) -> bool:
    _, target, value = binding
    head, dot, _ = target.partition(".")
    if dot:
        return head in SELVES and value != UNKNOWN
    if kind in ("function", "method"):
        return target[0] in "({[" or target in roots
    return value not in (UNKNOWN, LITERAL) or target in roots


_TUPLES = frozenset({"pattern_list", "tuple_pattern"})
"""What several variables of Python are assigned by: parts of one value."""


def several_values(reading: Reading, node: Node, count: int, kind: str) -> Iterator[str]:
    """Yield what each of several variables is made from."""
    values = node.named_children if node.type in ("expression_list", "tuple") else [node]
    if len(values) == count:
        yield from map(reading.expression, values)
        return
    value = reading.expression(values[0]) if values else UNKNOWN
    for place in range(1, count + 1):
        if place == 1 and kind not in _TUPLES:  # the first of several results is that of the call itself
            yield value
        else:
            yield f"{value[:-1]}{place})" if value.endswith("()") and "|" not in value else UNKNOWN


def bind_several(reading: Reading, group: Node, match: Captures) -> None:
    """Bind variables to as many values, to the results of the only one, or to what is iterated over."""
    targets = group.children_by_field_name("name") or group.named_children
    if "each" in match:
        values = iterated_values(match["each"][0], reading.source)
    else:
        values = several_values(reading, match["values"][0], len(targets), group.type)
    for node, value in zip(targets, values, strict=False):
        target = reading.text(node)
        if target != "_" and (target.isidentifier() or target.startswith("self.")) and target.count(".") <= 1:
            reading.bindings[BindingFact(reading.owner(node.start_byte), target, value)] = None


_NAMED_FIXTURE = re.compile(r"\bname\s*=\s*[\"']([A-Za-z_]\w*)[\"']")
_PARAMETRIZED = re.compile(r"\(\s*(?:argnames\s*=\s*)?(\[[^]]*]|\([^)]*\)|\"[^\"]*\"|'[^']*')")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ALL = "*"
"""In place of a parameter's name: any of them."""

_MANAGERS = frozenset({"contextmanager", "asynccontextmanager"})
"""Decorators of functions whose `yield` gives what `with` binds."""


def may_test(path: str, source: bytes) -> bool:
    """Return whether a file may hold tests, fixtures or context managers; most do not, and are spared it."""
    return "test" in path or b"fixture" in source or b"contextmanager" in source


@dataclass(slots=True)
class Requests:
    """What bears on fixtures in one file, gathered while it is read, settled at its end."""

    parameters: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """By definition and name: the byte and the line."""
    yields: list[tuple[int, str]] = field(default_factory=list)
    options: list[tuple[int, str, str]] = field(default_factory=list)
    """Of decorators: the definition below, the decorator, its arguments."""

    def add(self, reading: Reading, capture: str, node: Node, match: Captures) -> None:
        """Note a parameter, a `yield`, or the arguments of a decorator."""
        text, at = reading.text(node), node.start_byte
        if capture == "parameter" and text not in SELVES:
            self.parameters[reading.owner(at), text] = at, reading.row(at) + 1
        elif capture == "yield":
            self.yields.append((reading.owner(at), text))
        elif capture == "options":
            above = match["decorate"][0]
            self.options.append((reading.decorated(above), reading.text(above), text))

    def settle(self, reading: Reading) -> None:
        """Bind parameters to fixtures, and let fixtures return what they yield."""
        above = [fact for fact in reading.references.values() if fact.relation == Relation.DECORATE]
        fixtures = {fact.owner for fact in above if fact.name in FIXTURE_DECORATORS}
        self._ask(reading, fixtures)
        self._give(fixtures | {fact.owner for fact in above if fact.name in _MANAGERS}, reading.bindings)
        for owner, decorator, options in self.options:
            named = _NAMED_FIXTURE.search(options)
            if named and owner in fixtures and decorator.rpartition(".")[2] in FIXTURE_DECORATORS:
                name = reading.definitions[owner].name
                reading.bindings[BindingFact(reading.owner_of(owner), FIXTURE + named[1], name)] = None

    def _ask(self, reading: Reading, fixtures: set[int]) -> None:
        """Bind what tests and fixtures have to be given; what declares a type keeps it."""
        taken, bindings = set(self._parametrized()), reading.bindings
        for (owner, name), (at, line) in self.parameters.items():
            if owner not in fixtures and not _is_test(reading, owner):
                continue
            if not any({(place, name), (place, _ALL)} & taken for place in reading.around_place(owner)):
                reading.references[at, FIXTURE] = ReferenceFact(Relation.CALL, name, FIXTURE, line, owner)
                untyped = BindingFact(owner, name, UNKNOWN)
                if untyped in bindings or reading.definitions[owner].name == name:
                    bindings.pop(untyped, None)
                    bindings[untyped._replace(value=FIXTURE + name)] = None

    def _parametrized(self) -> Iterator[tuple[int, str]]:
        """Yield the parameters that a decorator gives values to, whatever fixtures have their names."""
        for owner, decorator, options in self.options:
            if decorator.rpartition(".")[2] == "parametrize":
                names = _PARAMETRIZED.match(options)
                yield from ((owner, name) for name in (_WORD.findall(names[1]) if names else (_ALL,)))

    def _give(self, fixtures: set[int], bindings: dict[BindingFact, None]) -> None:
        """Bind what a fixture yields: an element of what it declares to return."""
        yields = [(owner, text) for owner, text in self.yields if owner in fixtures]
        yielding = {owner for owner, _ in yields}
        for fact in [each for each in bindings if each.target == RETURNED and each.owner in yielding]:
            del bindings[fact]
            if fact.value.startswith(":"):
                element = "|".join(part.removeprefix("[]") for part in fact.value[1:].split("|"))
                bindings[BindingFact(fact.owner, RETURNED, f":{element}")] = None
        for owner, text in yields:
            given = text.removeprefix("yield").strip()
            value = UNKNOWN if not given or given.startswith("from ") else expression(given)
            if value not in (UNKNOWN, LITERAL):
                bindings[BindingFact(owner, RETURNED, value)] = None


def _is_test(reading: Reading, owner: int) -> bool:
    """Return whether a definition is a function that is run as a test, by its name and place."""
    test = reading.definitions[owner] if owner >= 0 else None
    if test is None or not test.name.startswith("test") or test.kind == "class":
        return False
    return all(outer.kind == "class" for outer in test.enclosing())


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
    reading = Reading(source, listed, grammar.language, symbols.package or "")
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
        requests.settle(reading)
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
    hidden = parent < 0 and reading.language in _OF_ITS_FILE
    hidden = hidden and bool(_HIDING.match(reading.source, definition.start_byte, definition.end_byte))
    return DefinitionFact(definition.name, definition.kind, first, last, parent, scope, *arity, int(hidden))


_OF_ITS_FILE = frozenset({"c", "cpp", "kotlin", "swift"})
_HIDING = re.compile(rb"[^({]*\b(?:static|private|fileprivate)\s")
"""Languages in which a file alone sees what one of these words stands before."""


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
            reading.imports += read_imports(reading.language, nodes[0], reading.source, path)
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
    if is_call and is_ruby and _is_assigned(node.parent):
        return receiver, f"{name}="
    if is_call and (name.isidentifier() or (is_ruby and name[:-1].isidentifier())):
        return receiver, name
    last = reading.expression(node) if is_call else expression(name)
    receiver, _, name = f"{receiver}.{last}".removeprefix(".").rpartition(".")
    return receiver, name.removesuffix("[]").removesuffix("()")


def _is_assigned(call: Node | None) -> bool:
    """Return whether a call of Ruby stands where a value is assigned: it calls the setter."""
    around = call.parent if call else None
    return around is not None and around.type == "assignment" and around.child_by_field_name("left") == call


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
    says_type = value == LITERAL and capture == "returns" and reading.language == "java"
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
    while around is not None and not FUNCTIONS.search(around.type):
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
