"""Calls in Ruby: names with marks, bare names anywhere, and types that are defined in several places."""

from __future__ import annotations

from pathlib import Path

from benchmarks.graph.measure import every_node

from findspot.core.facts import Relation
from graphs import graph_of

TASK = """\
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
"""
OTHER = """\
module Shop
  class Unrelated; end
end
class Shop::Order < Shop::Task
  def made; Shop::Task.new.needed?; end
end
class Third < Shop::Order
  def inherited; clear!; end
end
"""


def test_calls_of_ruby(tmp_path: Path) -> None:
    with graph_of({"lib/task.rb": TASK, "lib/other.rb": OTHER}, tmp_path) as graph:
        edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
    calls = {(e.source.name, e.target.qualified) for e in edges if e.relation is Relation.CALL}
    assert calls == {
        ("run", "Shop.Task.clear!"),
        ("run", "Shop.Task.needed?"),
        ("run", "Shop.Task.name"),
        ("made", "Shop.Task"),
        ("made", "Shop.Task.needed?"),
        ("inherited", "Shop.Task.clear!"),
    }
    bases = {(e.source.name, e.target.name) for e in edges if e.relation is Relation.INHERIT}
    assert bases == {("Shop::Order", "Task"), ("Third", "Shop::Order")}
