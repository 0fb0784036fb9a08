"""Calls in Rust: in macros, by paths and imports, by the crate's own name, and by the name alone."""

from __future__ import annotations

from pathlib import Path

from benchmarks.graph.measure import every_node

from findspot.core.facts import Relation
from graphs import graph_of

LIB = """\
pub struct Inner { pub parts: Vec<Part> }
impl Inner {
    pub fn iterated(&self) { for part in self.parts.iter() { part.weigh(); } }
    pub fn first(&self) { self.parts.first().unwrap().weigh(); }
    pub fn closure(&self) { self.parts.iter().map(|part| part.weigh()); }
}
pub struct Part(Inner, u32);
impl Part {
    pub fn new() -> Option<Part> { None }
    pub fn weigh(&self) -> u32 { self.0.first(); 1 }
}
pub enum Kind { One(Part), Other }
fn matched(kind: &Kind) { match kind { Kind::One(part) => { part.weigh(); } _ => {} } }
fn held() { match Part::new() { Some(part) => part.weigh(), None => 0 }; }
fn tried() -> Option<u32> { let part = Part::new()?; Some(part.weigh()) }
fn printed(inner: Inner) { println!("{}", vec![inner.first()]); }
fn hidden(inner: Inner) { let value = inner; let value = Part::new().unwrap(); value.weigh(); }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn asserted() { assert_eq!(Part::new().unwrap().weigh(), 1); }
}
"""
TEST = """\
use ::own_crate::{Inner, Part};
#[test]
fn outside() { let part = Part::new(); part.unwrap().weigh(); }
"""
FILES = {
    "Cargo.toml": '[package]\nname = "own-crate"\n',
    "src/lib.rs": LIB,
    "tests/outside.rs": TEST,
}


def test_calls_of_rust(tmp_path: Path) -> None:
    with graph_of(FILES, tmp_path) as graph:
        edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
    calls = {(e.source.name, e.target.qualified) for e in edges if e.relation is Relation.CALL}
    assert {
        ("closure", "Part.weigh"),
        ("matched", "Part.weigh"),
        ("held", "Part.new"),
        ("held", "Part.weigh"),
        ("tried", "Part.weigh"),
        ("printed", "Inner.first"),
        ("hidden", "Part.weigh"),
        ("asserted", "Part.new"),
        ("asserted", "Part.weigh"),
        ("outside", "Part.new"),
        ("outside", "Part.weigh"),
    } <= calls
    imports = {(e.path, e.target.path) for e in edges if e.relation is Relation.IMPORT}
    assert imports == {("tests/outside.rs", "src/lib.rs")}
