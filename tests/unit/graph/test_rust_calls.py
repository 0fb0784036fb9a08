"""Calls in Rust: in macros, through fields, variants, limits and the crate's own name."""

from __future__ import annotations

from pathlib import Path

from benchmarks.graph.measure import every_node

from findspot.core.facts import Relation
from graphs import graph_of

LIB = """\
pub struct Inner { pub parts: Vec<Part> }
impl Inner {
    pub fn iterated(&self) { for part in self.parts.iter() { part.get(); } }
    pub fn first(&self) { self.parts.first().unwrap().get(); }
    pub fn closure(&self) { self.parts.iter().map(|part| part.get()); }
}
pub struct Part(Inner, u32);
impl Part {
    pub fn new() -> Option<Part> { None }
    pub fn get(&self) -> u32 { self.0.first(); 1 }
}
pub enum Kind { One(Part), Other }
fn matched(kind: &Kind) { match kind { Kind::One(part) => { part.get(); } _ => {} } }
fn held() { match Part::new() { Some(part) => part.get(), None => 0 }; }
fn tried() -> Option<u32> { let part = Part::new()?; Some(part.get()) }
fn printed(inner: Inner) { println!("{}", vec![inner.first()]); }
fn hidden(inner: Inner) { let value = inner; let value = Part::new().unwrap(); value.get(); }
pub trait Shape { fn area(&self) -> u32; fn make() -> u32; }
fn limited<S>(shape: &S) where S: Clone + Shape { shape.area(); S::make(); }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn asserted() { assert_eq!(Part::new().unwrap().get(), 1); }
}
"""
TEST = """\
use ::own_crate::{Inner, Part};
#[test]
fn outside() { let part = Part::new(); part.unwrap().get(); }
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
        ("iterated", "Part.get"),
        ("first", "Part.get"),
        ("closure", "Part.get"),
        ("get", "Inner.first"),
        ("matched", "Part.get"),
        ("held", "Part.get"),
        ("tried", "Part.get"),
        ("printed", "Inner.first"),
        ("hidden", "Part.get"),
        ("limited", "Shape.area"),
        ("limited", "Shape.make"),
        ("asserted", "Part.get"),
        ("outside", "Part.get"),
    } <= calls
    imports = {(e.path, e.target.path) for e in edges if e.relation is Relation.IMPORT}
    assert imports == {("tests/outside.rs", "src/lib.rs")}
