"""What is known of each language of the graph, and what the documentation says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.graph.measure import every_node

from findspot.core.facts import Relation
from findspot.graph.languages import language_of
from findspot.graph.languages.by_name import ModulesByPath
from findspot.graph.sources import Sources
from findspot.graph.values import UNIQUE
from graphs import graph_of, stored

PAGE = Path(__file__).parents[3] / "docs" / "graph.md"
NAMES = {"C#": "csharp", "C++": "cpp"}


def _names(text: str) -> set[str]:
    words = re.split(r",\s+|\s+and\s+", text.partition("(TSX)")[0] + text.partition("(TSX)")[2])
    return {NAMES.get(word.strip(), word.strip().lower()) for word in words if word.strip()}


def test_the_page_lists_exactly_the_languages_by_name() -> None:
    page = PAGE.read_text(encoding="utf-8")
    every = re.search(r"^Languages: ([^.]+)\.", page, re.MULTILINE)
    partial = re.search(r"\*\*By name\*\* are ([^:]+):", page)
    assert every
    assert partial
    assert _names(partial[1]) == {name for name in _names(every[1]) if language_of(name).by_name}


def test_a_declaration_has_the_callers_of_its_definition(tmp_path: Path) -> None:
    files = {
        "a.h": "int add(int left, int right);\n",
        "a.c": '#include "a.h"\nint add(int left, int right) { return left + right; }\n',
        "b.c": '#include "a.h"\nint twice(int value) { return add(value, value); }\n',
    }
    with graph_of(files, tmp_path) as graph:
        nodes = graph.find("add")
        assert {node.path for node in nodes} == {"a.h", "a.c"}
        for node in nodes:
            assert [edge.source.name for edge in graph.callers(node)] == ["twice"]


def test_an_included_file_is_the_nearest_whose_path_ends_in_what_is_named(tmp_path: Path) -> None:
    add = "static int add(int value) { return value; }\n"
    files = {
        "base/include/math/add.h": add,
        "base/include/add.h": add,
        "shop/include/math/add.h": add,
        "shop/include/math/xadd.h": add,
        "shop/src/cart.c": '#include "math/add.h"\nint twice(int value) { return add(value + value); }\n',
    }
    with graph_of(files, tmp_path) as graph:
        included = [edge.target.path for edge in graph.imports_of("shop/src/cart.c")]
    assert included == ["shop/include/math/add.h"]


class _Counted(dict[str, int]):
    """Paths that count how often somebody looks through all of them."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()


def test_all_paths_are_looked_through_once_for_all_imports(tmp_path: Path) -> None:
    """Of a project with a hundred thousand files, each import looked through all of them."""
    store = stored({f"lib/{n}.h": "int x;\n" for n in range(3)}, tmp_path)
    with store.snapshot() as snapshot:
        finder = ModulesByPath(Sources(snapshot).project)
        paths = finder.paths = _Counted(finder.paths)
        found = [list(finder.files("src/a.c", f"{n}.h")) for n in range(5)]
    store.close()
    assert found == [["lib/0.h"], ["lib/1.h"], ["lib/2.h"], [], []]
    assert paths.looks == 1


def test_calls_of_rust_and_ruby(tmp_path: Path) -> None:
    """In macros and closures, on types that are named, and by names with marks."""
    rust = """\
pub struct Part;
impl Part {
    pub fn new() -> Option<Part> { None }
    pub fn weigh(&self) -> u32 { 1 }
}
fn closure(parts: &[Part]) { parts.iter().map(|part| part.weigh()); }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn asserted() { assert_eq!(Part::new().unwrap().weigh(), 1); }
}
"""
    ruby = """\
module Shop
  class Task
    def needed?; true; end
    def clear!; end
    def name; "x"; end
    def run(*rest, &block)
      clear! if needed?
      first, second = rest
      puts "#{name} #{first}"
      [block, second]
    end
  end
end
class Other < Shop::Task
  def made; Shop::Task.new.needed?; end
end
"""
    with graph_of({"src/lib.rs": rust, "lib/task.rb": ruby}, tmp_path) as graph:
        edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
    calls = {(e.source.name, e.target.qualified) for e in edges if e.relation is Relation.CALL}
    assert calls == {
        ("closure", "Part.weigh"),
        ("asserted", "Part.new"),
        ("asserted", "Part.weigh"),
        ("run", "Shop.Task.clear!"),
        ("run", "Shop.Task.needed?"),
        ("run", "Shop.Task.name"),
        ("made", "Shop.Task"),
        ("made", "Shop.Task.needed?"),
    }
    bases = {(e.source.name, e.target.name) for e in edges if e.relation is Relation.INHERIT}
    assert bases == {("Other", "Task")}


def test_a_name_of_ruby_is_followed_wherever_it_stands_unless_it_is_of_the_core(tmp_path: Path) -> None:
    ruby = """\
class Clock
  Late = Class.new(StandardError)
  Never = Class.new(Late)
  def self.now; 1; end
  def include(part); part; end
  def synchronize; end
  def check(error, limits: [Late])
    raise Late, "by #{margin}" if error == Late
    @lock.synchronize { include(Time.now) }
    case error
    in [first, {size:}] then [first, size]
    end
  rescue Clock::Late
    return margin
  end
  def margin = 3
  def first; end
  def size; end
end
class Other
  include Comparable
  def late; Clock.now; end
end
"""
    with graph_of({"lib/clock.rb": ruby}, tmp_path) as graph:
        edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
    late = {(edge.relation, edge.line) for edge in edges if edge.target.name == "Late"}
    assert late == {(Relation.INHERIT, 3), (Relation.CALL, 8), *((Relation.TYPE_USE, n) for n in (7, 8, 13))}
    calls = {(e.line, e.target.qualified) for e in edges if e.relation is Relation.CALL}
    assert calls == {
        (8, "Clock.Late"),
        (8, "Clock.margin"),
        (9, "Clock.include"),
        (14, "Clock.margin"),
        (22, "Clock.now"),
    }


def test_a_ruby_script_calls_what_it_defines_itself(tmp_path: Path) -> None:
    """Even where Ruby's core has the name; and a constant may be made in several ways."""
    ruby = "def warn(text)\n  puts text\nend\nwarn 'a'\nA, B = S.new, S.new\nC ||= S.new\nM::D = S.new\n"
    used = "class S\n  def one; end\n  def two; end\n  def three; end\nend\nA.one\nC.two\nM::D.three\n"
    with graph_of({"lib/script.rb": ruby, "lib/used.rb": used}, tmp_path) as graph:
        edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
    calls = {(e.line, e.target.name) for e in edges if e.relation is Relation.CALL}
    assert calls >= {(4, "warn"), (6, "one"), (7, "two"), (8, "three")}


@pytest.mark.parametrize(
    ("ending", "hiding", "function"),
    [
        ("c", "static", "void {}(int x)"),
        ("kt", "private", "fun {}(x: Int)"),
        ("swift", "fileprivate", "func {}()"),
    ],
)
def test_what_only_its_file_sees_is_meant_nowhere_else(
    ending: str, hiding: str, function: str, tmp_path: Path
) -> None:
    tidy, main, run = (function.format(name) for name in ("tidy", "main", "run"))
    files = {
        f"own.{ending}": f"{hiding} {tidy} {{ }}\n{main} {{ tidy(1); }}\n",
        f"other.{ending}": f"{tidy} {{ }}\n",
        f"caller.{ending}": f"{run} {{ tidy(1); }}\n",
    }
    with graph_of(files, tmp_path) as graph:
        for asked, found in (("run", "other"), ("main", "own")):
            (node,) = graph.find(asked)
            assert [edge.target.path for edge in graph.callees(node)] == [f"{found}.{ending}"]


def test_what_ruby_assigns_is_given_to_the_setter(tmp_path: Path) -> None:
    ruby = """class ::Account
  def quota=(value); end
  def quota; end
end
def raise_quota(account)
  account.quota = account.quota
end
"""
    with graph_of({"lib/account.rb": ruby}, tmp_path) as graph:
        (raised,) = graph.find("raise_quota")
        found = {edge.target.qualified for edge in graph.callees(raised)}
    assert found == {"Account.quota=", "Account.quota"}


def test_a_call_in_swift_leads_to_the_only_definition_of_its_name(tmp_path: Path) -> None:
    """What types say was wrong too often; overrides count as what they override."""
    files = {
        "a.swift": "class Base {\n  func charge() {}\n}\nclass Card: Base {\n  override func charge() {}\n}",
        "b.swift": "func pay(_ card: Card) {\n  card.charge()\n  settle()\n}\n",
        "c.swift": "class Bill {\n  func settle() {}\n}\n",
        "d.swift": "func settle() {}\n",
    }
    with graph_of(files, tmp_path) as graph:
        (pay,) = graph.find("pay")
        found = [(edge.target.qualified, edge.confidence) for edge in graph.callees(pay)]
        assert found == [("Base.charge", UNIQUE)]
        (use,) = [use for use in graph.unresolved(pay) if use.name == "settle"]
        assert (use.reason, len(use.candidates)) == ("ambiguous", 2)
