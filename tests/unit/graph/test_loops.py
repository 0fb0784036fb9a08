"""Programs that lead nowhere: circles and endless chains of every kind, in six languages.

They are generated. Whatever they do, resolving them ends, and questions about them are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from contents import MakeProject
from findspot.core.facts import BindingFact, Facts, names_of, pack, unpack
from findspot.core.progress import CancelToken
from findspot.graph import Graph, given_up_note
from findspot.graph.stored_edges import StoredEdges, resolve_pending
from findspot.research.findings import Aim, Inquiry
from findspot.store.records import FileRecord, RecordRows
from graphs import record_of, stored

LONG = 1_000
"""Steps of a chain."""
WAYS = 40
"""Functions that each ask the next one in several ways: two to the power of so many in all."""
DEEP = 120
"""Types of which each is found through the next one."""
FILES = 12


@dataclass(frozen=True)
class Written:
    """How a language writes what the programs are made of."""

    ending: str
    function: Callable[[str, str, Sequence[str]], str]
    """From a name, the name of a type and what is returned: a function."""
    type: Callable[[str, str, Sequence[tuple[str, str]], Sequence[str]], str]
    """From a name, a base, fields with their types, and methods: a type."""
    alias: Callable[[str, str], str] | None = None
    generic: str = ""
    """A type NAME that gives itself to its BASE as an argument and is limited by itself."""
    imports: str = ""
    """What brings in all names of a file OTHER, and hands them on where that can be."""
    variable: Callable[[str, str], str] = "{} = {};".format
    head: str = ""
    foot: str = ""
    inner: str = "."
    """Between the names of a type and of one inside of it."""
    new: str = "new {}()"


def _braces(name: str, returns: Sequence[str], head: str, end: str = ";") -> str:
    body = "".join(f"  if (x) {{ return {each}{end} }}\n" for each in returns)
    return f"{head.format(name=name)} {{\n{body}}}\n"


def _typed(head: str, end: str = ";") -> Callable[[str, str, Sequence[str]], str]:
    return lambda name, type_, returns: _braces(name, returns, head.replace("TYPE", type_), end)


def _python_function(name: str, _type: str, returns: Sequence[str]) -> str:
    return (
        f"def {name}(self=None):\n" + "".join(f"    if x: return {each}\n" for each in returns) + "    pass\n"
    )


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _body(methods: Sequence[str]) -> str:
    return "".join(map(_indented, methods))


def _class(
    head: str, based: str, field: str
) -> Callable[[str, str, Sequence[tuple[str, str]], Sequence[str]], str]:
    """Types that braces enclose, with fields such as `TYPE NAME;`."""

    def write(name: str, base: str, fields: Sequence[tuple[str, str]], methods: Sequence[str]) -> str:
        lines = [field.format(name=each, type=type_) for each, type_ in fields]
        return f"{head} {name}{based.format(base) if base else ''} {{\n{_body([*lines, *methods])}}}\n"

    return write


def _python_type(name: str, base: str, fields: Sequence[tuple[str, str]], methods: Sequence[str]) -> str:
    lines = [f"{each}: {type_}" for each, type_ in fields]
    return f"class {name}({base}):\n{_body([*lines, *methods, 'pass'])}"


def _go_type(name: str, base: str, fields: Sequence[tuple[str, str]], methods: Sequence[str]) -> str:
    inside = "".join(f"\t{each} *{type_}\n" for each, type_ in fields)
    embedded = f"\t*{base}\n" if base else ""
    own = "".join(method.replace("func ", f"func (self *{name}) ", 1) for method in methods)
    return f"type {name} struct {{\n{embedded}{inside}}}\n{own}"


_JAVASCRIPT = Written(
    ".js",
    lambda name, _type, returns: _braces(name, returns, "function {name}()"),
    _class("class", " extends {}", "{name} = new {type}();"),
    imports=(
        'export * from "./OTHER";\nexport { default } from "./OTHER";\nimport * as OTHER from "./OTHER";\n'
    ),
    variable="var {} = {};".format,
)
_TYPESCRIPT = Written(
    ".ts",
    _typed("function {name}(): TYPE"),
    _class("class", " extends {}", "{name}: {type};"),
    alias="type {} = {};".format,
    generic=(
        "class NAME<T extends T, U extends V, V extends U> extends BASE<NAME<T>> "
        "{ one: T; two(): U { return this.two(); } }"
    ),
    imports=_JAVASCRIPT.imports,
    variable="let {} = {};".format,
)
_JAVA = Written(
    ".java",
    _typed("TYPE {name}()"),
    _class("class", " extends {}", "{type} {name};"),
    generic=(
        "class NAME<T extends T, U extends V, V extends U> extends BASE<NAME<T>> "
        "{ T one; U two() { return this.two(); } }"
    ),
    imports="import loops.OTHER.*;\nimport static loops.OTHER.one;\n",
    variable="class V{0} {{ static T0 {0} = {1}; }}".format,
    head="package loops;\nclass Loops {\n",
    foot="}\n",
)
WRITTEN = {
    "python": Written(
        ".py",
        _python_function,
        _python_type,
        alias="{} = {}".format,
        generic="class NAME(BASE['NAME']):\n    one: 'NAME'\n    def two(self) -> 'NAME': return self.two()",
        imports="from OTHER import *\nfrom OTHER import made as made\nimport OTHER\n",
        variable="{} = {}".format,
        new="{}()",
    ),
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "go": Written(
        ".go",
        _typed("func {name}() *TYPE", ""),
        _go_type,
        alias="type {} = {}".format,
        generic=(
            "type NAME[T NAME[T]] struct { BASE[NAME[T]]; one T }\n"
            "func (s *NAME[T]) two() T { return s.two() }"
        ),
        imports='import . "loops/OTHER"\nimport OTHER "loops/OTHER"\n',
        variable="var {} = {}".format,
        head="package loops\n",
        new="&{}{{}}",
    ),
    "java": _JAVA,
    "cpp": Written(
        ".cpp",
        _typed("TYPE* {name}()"),
        _class("struct", " : {}", "{type}* {name};"),
        alias="using {} = {};".format,
        generic=(
            "template <typename T> struct NAME : BASE<NAME<T>> { T one; T two() { return this->two(); } };"
        ),
        imports='#include "OTHER.cpp"\nusing namespace OTHER;\n',
        variable="auto {} = {};".format,
        inner="::",
    ),
}


def _made(w: Written) -> Iterator[str]:
    """Yield the parts of a program in which everything leads back to itself."""
    yield w.function("made", "T0", ["made()", "made", "other_made()"])
    yield w.function("other_made", "T0", ["made().one", "made", "made().made().one.two()"])
    ring = [f"ring{n}" for n in range(WAYS)]
    for here, there in pairwise([*ring, ring[0]]):
        yield w.function(here, "T0", [f"{there}()"])
    for n in range(WAYS):
        ways = [f"fan{n + 1}().one", f"fan{n + 1}().two()", f"fan{n + 1}()", f"fan{n + 1}().other"]
        yield w.function(f"fan{n}", f"T{n}", ways)
    methods = [w.function("two", "T0", ["self.two()", "two()"])]
    yield w.type("T0", "T0", [("one", "T0"), ("two", "T1")], methods)
    for n in range(1, WAYS):
        fields = [("one", f"T{n + 1}"), ("two", f"T{n + 1}"), ("other", "T0"), (f"at{n}", f"T{n}")]
        methods = [w.function("two", f"T{n + 1}", ["two()", f"fan{n}()", f"made().at{n}.two()"])]
        yield w.type(f"T{n}", f"T{(n + 1) % WAYS}", fields, methods)
    inner = w.type("Inner", "Inner", [("one", "Inner")], [])
    for n in range(DEEP):
        yield w.type(f"Deep{n}", f"Deep{n + 1}{w.inner}Inner", [("one", f"Deep{n}")], [inner])
    for n in range(WAYS) if w.alias is not None else ():
        yield w.alias(f"A{n}", f"A{(n + 1) % WAYS}") + "\n"
    for name, base in (("Gen", "Gen"), ("GenA", "GenB"), ("GenB", "GenA")):
        yield w.generic.replace("NAME", name).replace("BASE", base) + "\n"
    for name, value in (("v", "v"), ("w", "w.one()"), ("p", "q.one"), ("q", "p.two()")):
        yield w.variable(name, value) + "\n"
    for n in range(DEEP):
        yield w.variable(f"z{n}", f"z{(n + 1) % DEEP}.one") + "\n"
    for step in (".one", ".two()"):
        yield w.function(f"long{len(step)}", "T0", [f"made(){step * LONG}", f"v{step * 50}"])


def _program(language: str) -> dict[str, str]:
    """Return a project in one language: files that import each other; one has all of the above."""
    w = WRITTEN[language]
    names = [f"m{n}" for n in range(FILES)]
    files = {}
    for n, name in enumerate(names):
        others = "".join(w.imports.replace("OTHER", other) for other in names)
        start = w.function(f"start{n}", "T0", ["made().one.nowhere()", "T0.unknown()"])
        text = "\n".join(_made(w)) if not n else ""
        files[f"{name}{w.ending}"] = f"{w.head}{others}{start}{text}{w.foot}"
    return files


@pytest.mark.parametrize("language", WRITTEN)
def test_a_program_that_goes_in_circles_is_indexed_and_answers(
    language: str, make_project: MakeProject
) -> None:
    project = make_project(_program(language))
    report = project.update()
    assert (report.files_indexed, report.errors) == (FILES, ())
    for aim in (Aim.CALLERS, Aim.CALLEES, Aim.USES, Aim.IMPLEMENTATIONS, Aim.OVERRIDES, Aim.IMPACT):
        for symbol in ("made", "fan0", "T0", "two", "Deep0", "long4"):
            assert project.research(Inquiry(relation=aim, symbol=symbol)).summary
    assert project.research(Inquiry(relation=Aim.IMPORTERS, symbol=f"m0{WRITTEN[language].ending}")).summary
    found = project.research(Inquiry(relation=Aim.CALLERS, symbol="ring0"))
    assert f"ring{WAYS - 1}" in found.summary


def test_references_that_are_given_up_are_counted_and_possible_callers(make_project: MakeProject) -> None:
    makers = "".join(f"def make_{n}():\n    return make_{n + 1}()\n" for n in range(200))
    code = f"class Runner:\n    def go_far(self): ...\n{makers}def start():\n    make_0().go_far()\n"
    project = make_project({"far.py": code, "near.py": "def helper(): ...\n\n\nhelper()\n"})
    (note,) = project.update().notes
    assert note == "1 reference was too involved to follow: in far.py."
    assert note in project.status().notes
    found = project.research(Inquiry(relation=Aim.CALLERS, symbol="go_far"))
    assert [(use.path, use.line, use.reason) for use in found.possible] == [
        ("far.py", 404, "too involved to follow")
    ]
    assert "near.py" in project.research(Inquiry(relation=Aim.CALLERS, symbol="helper")).summary


TEXT = "def helper(): ...\n\n\nx = 1\n\n\ndef start():\n    x.go()\n    helper()\n"


@pytest.mark.parametrize(
    ("bindings", "owner", "callers"),
    [([BindingFact(-1, "x", "<")], 1, [("a.py", 9)]), ([], 99, [])],
)
def test_a_mistake_costs_one_reference_or_file(
    bindings: list[BindingFact],
    owner: int,
    callers: list[tuple[str, int]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Facts that no reader writes stand for a case that nobody thought of."""
    store = stored({"b.py": "from a import helper\n\nhelper()\n"}, tmp_path)
    record = record_of("a.py", TEXT)
    read = unpack(record.facts or b"")
    references = [fact._replace(owner=owner) for fact in read.references]
    facts = Facts(read.package, read.definitions, read.imports, bindings, references)
    with store.writer() as writer:
        writer.put(FileRecord(record.file, "", RecordRows.of(()), pack(facts), names_of(facts)))
        writer.commit()
    with store.writer() as writer, store.snapshot() as snapshot, writer.storing_edges() as rows:
        resolve_pending(snapshot, rows, CancelToken())
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        found = graph.callers(graph.find("helper")[0])
        assert [(edge.path, edge.line) for edge in found] == [*callers, ("b.py", 3)]
        assert StoredEdges(snapshot).given_up() == {"a.py": 1}
        assert given_up_note(snapshot) == "1 reference was too involved to follow: in a.py."
    assert "could not be resolved" in caplog.text
    store.close()
