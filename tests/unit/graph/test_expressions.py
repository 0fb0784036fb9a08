"""Expressions, types and imports of any language in the one notation of the facts."""

from __future__ import annotations

import pytest

from findspot.chunk.expressions import declared, expression, type_names
from findspot.core.facts import LITERAL, UNKNOWN, module_name


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("name", "name"),
        ("self.session.get", "self.session.get"),
        ('self.x.foo(1, ")")[2].bar', "self.x.foo()[].bar"),
        ("await client.get(url)", "client.get()"),
        ("new Foo<Bar>(1)", "Foo()"),
        ("new(0)", "new()"),
        ("a->b(c)->d", "a.b().d"),
        ("ns::Foo::make(1)", "ns.Foo.make()"),
        ("this.#hidden?.go()", "this.hidden.go()"),
        ("@held.go", "self.@held.go"),
        ("$root.$child", "$root.$child"),
        ("init.context<{ a: () => void; }>().create", "init.context().create"),
        ("a < b", UNKNOWN),
        ("&Foo{a: 1}", "Foo()"),
        ("type(self)(x)", "cls()"),
        ("(x as Foo)", ":Foo"),
        ("given or Foo()", "given|Foo()"),
        ("Foo() if c else Bar()", "Foo()|Bar()"),
        ("first\n    .second()\n    .third()", "first.second().third()"),
        ('"text"', LITERAL),
        ("[1, 2]", LITERAL),
        ("None", LITERAL),
        ("a + b", UNKNOWN),
        ("lambda x: x", UNKNOWN),
        ("(a or b).c()", "a.c()|b.c()"),
        ("(a or b)(x)", "a()|b()"),
        ("x" * 3_000 + "(", UNKNOWN),
    ],
)
def test_expressions(text: str, chain: str) -> None:
    assert expression(text) == chain


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Foo", ":Foo"),
        ("Optional[Foo]", ":Foo"),
        ("'mod.Foo'", ":mod.Foo"),
        ("list[Foo]", ":[]Foo"),
        ("dict[str, Foo]", ":[]Foo"),
        ("Foo | None", ":Foo"),
        ("Union[A, B]", ":A|B"),
        ("type[Foo]", "Foo"),
        (": Promise<Foo[]>", ":[]Foo"),
        ("&mut Box<dyn Store>", ":Store"),
        ("std::vector<Item*>", ":[]Item"),
        ("[]*Item", ":[]Item"),
        ("[String: Item]?", ":[]Item"),
        ("$Type<A>", ":$Type"),
        ("() => Foo", UNKNOWN),
        ("void", UNKNOWN),
    ],
)
def test_declared_types(text: str, type_: str) -> None:
    assert declared(text) == type_


def test_names_of_a_type() -> None:
    assert type_names("dict[str, a.B | C]") == ["dict", "str", "a.B", "C"]
    assert type_names("NotFound as error") == ["NotFound"]


@pytest.mark.parametrize(
    ("module", "name"),
    [("a.b.c", "c"), ("./a/b.js", "b"), ("/a/b", "b"), ("crate::a::b", "b"), ("A\\B", "B"), ("x", "x")],
)
def test_the_name_of_a_module(module: str, name: str) -> None:
    assert module_name(module) == name
