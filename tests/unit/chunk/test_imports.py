"""Import statements, read from the syntax tree."""

from __future__ import annotations

import pytest

from findspot.chunk.grammars import grammar_for
from findspot.chunk.imports import Import, names_in_text, read_import, read_imports


@pytest.mark.parametrize(
    ("language", "text", "facts"),
    [
        ("python", "import a.b as c, d.e", [("c", "a.b", "*"), ("d", "d", "*"), ("", "d.e", "*")]),
        ("python", "from ..x import (y as z, w,  # why\n)", [("z", "/pkg/x", "y"), ("w", "/pkg/x", "w")]),
        ("python", "from . import x", [("x", "/pkg/sub", "x")]),
        ("typescript", "import a, { b as c, type D } from './x.js';",
         [("a", "/pkg/sub/x.js", "default"), ("c", "/pkg/sub/x.js", "b"), ("D", "/pkg/sub/x.js", "D")]),
        ("typescript", "export * from '../y'", [("*", "/pkg/y", "*")]),
        ("typescript", "import * as ns from 'lib'", [("ns", "lib", "*")]),
        ("javascript", "const { a, b: c } = require('./y')",
         [("a", "/pkg/sub/y", "a"), ("c", "/pkg/sub/y", "b"), ("$__y", "/pkg/sub/y", "*")]),
        ("javascript", "module.exports = require('./y')",
         [("default", "/pkg/sub/y", "*"), ("$__y", "/pkg/sub/y", "*")]),
        ("javascript", "const y = await import('./y')",
         [("y", "/pkg/sub/y", "*"), ("$__y", "/pkg/sub/y", "*")]),
        ("javascript", "const z = require('./y').z", [("$__y", "/pkg/sub/y", "*")]),
        ("typescript", "let y: import('./y').Y", [("$__y", "/pkg/sub/y", "*")]),
        ("go", 'package x\nimport cash "example.com/shop/money"', [("cash", "example.com/shop/money", "*")]),
        ("java", "import static a.b.C.zero;", [("zero", "a.b.C", "zero")]),
        ("kotlin", "import a.b.format as shown", [("shown", "a.b", "format")]),
        ("rust", "use crate::a::{B, c::D as E, self};",
         [("B", "crate::a", "B"), ("E", "crate::a::c", "D"), ("a", "crate", "a")]),
        ("rust", "mod inner;", [("inner", "/pkg/sub/file/inner", "*")]),
        ("c", '#include "x.h"', [("", "/pkg/sub/x.h", "*")]),
        ("csharp", "using X = Y.Z;", [("X", "Y", "Z")]),
        ("ruby", 'require_relative "a/b"', [("", "/pkg/sub/a/b", "*")]),
        ("php", "<?php use F\\{G, H as I};", [("G", "F", "G"), ("I", "F", "H")]),
        ("swift", "import Foundation", [("", "Foundation", "*")]),
        ("python", "from pkg.core import x, \\\n    total",
         [("x", "pkg.core", "x"), ("total", "pkg.core", "total")]),
        ("python", "from pkg.core import(compute)", [("compute", "pkg.core", "compute")]),
        ("python", "from a import b; from c import d", [("b", "a", "b"), ("d", "c", "d")]),
        ("python", "from a import *", [("*", "a", "*")]),
        ("typescript", 'import { load } from "./c.js" with { "resolution-mode": "import" }',
         [("load", "/pkg/sub/c.js", "load")]),
        ("javascript", 'import x from "./a.json" with { type: "json" }',
         [("x", "/pkg/sub/a.json", "default")]),
        ("javascript", "const {a, b: {c}, ...rest} = require('x')",
         [("a", "x", "a"), ("rest", "x", "*"), ("$x", "x", "*")]),
        ("javascript", "const { a = 1, b: c = 2 } = require('x')",
         [("a", "x", "a"), ("c", "x", "b"), ("$x", "x", "*")]),
        ("javascript", "const x = require(name)", []),
        ("typescript", "import fs = require('fs')", [("fs", "fs", "*")]),
        ("typescript", "export * as ns from './y'", [("ns", "/pkg/sub/y", "*")]),
        ("go", 'package x\nimport (\n . "fmt"\n _ "x/y"\n)', [("*", "fmt", "*"), ("", "x/y", "*")]),
        ("java", "import a.b.*;", [("*", "a.b", "*")]),
        ("kotlin", "import a.b.*", [("*", "a.b", "*")]),
        ("rust", "pub(crate) use a::b::*;", [("*", "a::b", "*")]),
        ("csharp", "using L = System.List<int>;", [("L", "System", "List")]),
        ("ruby", 'require "#{name}/x"', []),
        ("php", "<?php use A\\B, C\\D;", [("B", "A", "B"), ("D", "C", "D")]),
        ("swift", "@testable import struct A.B", [("", "A.B", "*")]),
    ],
)  # fmt: skip
def test_imports(language: str, text: str, facts: list[tuple[str, str, str]]) -> None:
    path = "pkg/sub/file.rs" if language == "rust" else "pkg/sub/file"
    grammar = grammar_for(language)
    assert grammar is not None
    source = text.encode()
    _, references = grammar.matches(grammar.parse(source).root_node)
    statements = [match["import"][0] for match in references if "import" in match]
    read = [fact for statement in statements for fact in read_imports(language, statement, source, path)]
    assert [tuple(fact)[:3] for fact in read] == facts


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("python", "import a.b.c", ("a", "c")),
        ("python", "from a.b import (\n  C,  # why\n  D as E,\n)", ("C", "E")),
        ("typescript", 'import x, { y as z } from "./mod"', ("x", "z")),
        ("typescript", 'import * as clock from "./clock"', ("clock",)),
        ("typescript", 'import "../styles/page.css"', ("page",)),
        ("go", 'package x\nimport "example.org/path"', ("path",)),
        ("rust", "use std::collections::{HashMap, HashSet as Set};", ("HashMap", "Set")),
        ("rust", "use super::*;", ()),
        ("c", "#include <sys/types.h>\n", ("types",)),
        ("c", "#include <stdio.h>\n", ("stdio",)),
        ("csharp", "using Clock = Base.SystemClock;", ("Clock",)),
    ],
)
def test_a_use_of_an_import_is_recognised_by_its_names(
    language: str, text: str, names: tuple[str, ...]
) -> None:
    grammar = grammar_for(language)
    assert grammar is not None
    source = text.encode()
    definitions, _ = grammar.matches(grammar.parse(source).root_node)
    (statement,) = [match["import"][0] for _, match in definitions if "import" in match]
    assert read_import(language, statement, source, "pkg/sub/file").names == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import scala.x.{A, B => C}", ("A", "C")),
        ("import qualified Data.Map.Strict as Map", ("Map",)),
        ("source ./lib/clock.sh", ("clock",)),
        ('local json = require("lib.json")', ("json",)),
        ('const std = @import("std")', ("std",)),
        ("alias App.Accounts.User", ("User",)),
    ],
)
def test_names_of_imports_in_languages_without_a_reader(text: str, names: tuple[str, ...]) -> None:
    assert names_in_text(text) == names


def test_a_long_import_shows_the_used_names() -> None:
    statement = Import("from package.module import (" + ", ".join(f"Name{n}" for n in range(40)) + ")", ())
    assert statement.shown(["Name3"]) == "from package.module import Name3"
