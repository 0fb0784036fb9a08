"""What each language's fixture becomes, reviewed as text; `UPDATE_GOLDEN=1` rewrites the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.chunk.dispatch import chunk_file
from findspot.core.languages import LANGUAGES, language_of
from findspot.core.model import Chunk, Corpus, SourceFile
from goldens import compare

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures" / "languages"
PATHS = sorted(FIXTURES.iterdir())

HUGE = {  # first lines, a statement, last lines
    "python": ("def huge(total):\n", "    total = total + {n} * total_{n}\n", "    return total\n"),
    "javascript": ("function huge(total) {\n", "  total = total + {n} * total_{n};\n", "}\n"),
    "typescript": (
        "export function huge(total: number): void {\n",
        "  total = total + {n} * total_{n};\n",
        "}\n",
    ),
    "tsx": ("export const Huge = () => {\n", "  const total{n} = <b>{n}</b>;\n", "};\n"),
    "go": ("package p\n\nfunc huge(total int) {\n", "\ttotal = total + {n} * total{n}\n", "}\n"),
    "java": (
        "class Huge {\n    void huge(int total) {\n",
        "        total = total + {n} * total{n};\n",
        "    }\n}\n",
    ),
    "kotlin": ("fun huge(total: Int) {\n", "    println(total + {n} * total{n})\n", "}\n"),
    "scala": (
        "object Huge {\n  def huge(total: Int): Unit = {\n",
        "    println(total + {n} * total{n})\n",
        "  }\n}\n",
    ),
    "c": ("int huge(int total)\n{\n", "    total = total + {n} * total_{n};\n", "    return total;\n}\n"),
    "cpp": ("int huge(int total) {\n", "  total = total + {n} * total_{n};\n", "  return total;\n}\n"),
    "csharp": (
        "class Huge {\n    int Run(int total) {\n",
        "        total = total + {n} * total{n};\n",
        "    }\n}\n",
    ),
    "rust": (
        "fn huge(mut total: u64) -> u64 {\n",
        "    total = total + {n} * total_{n};\n",
        "    total\n}\n",
    ),
    "ruby": ("def huge(total)\n", "  total = total + {n} * total_{n}\n", "end\n"),
    "php": ("<?php\nfunction huge($total)\n{\n", "    $total = $total + {n} * $total{n};\n", "}\n"),
    "swift": ("func huge(total: Int) {\n", "    print(total + {n} * total{n})\n", "}\n"),
    "elixir": (
        "defmodule Huge do\n  def huge(total) do\n",
        "    total = total + {n} * total_{n}\n",
        "  end\nend\n",
    ),
    "haskell": (
        "huge :: Int -> IO ()\nhuge total = do\n",
        "  print (total + {n} * total{n})\n",
        "  return ()\n",
    ),
    "lua": ("local function huge(total)\n", "  total = total + {n} * total_{n}\n", "end\n"),
    "bash": ("huge() {\n", "  total=$((total + {n} * total_{n}))\n", "}\n"),
    "zig": (
        "fn huge(start: u64) u64 {\n",
        "    total = total + {n} * total_{n};\n",
        "    return total;\n}\n",
    ),
}


def huge_function(language: str) -> str:
    head, statement, tail = HUGE[language]
    return head + "".join(statement.replace("{n}", str(n)) for n in range(90)) + tail


def broken(text: str) -> str:
    """The fixture cut in the middle of a line, with brackets that nothing opened."""
    middle = len(text) * 3 // 5
    return text[:middle] + "\n)]} <<< ((\n" + text[middle + 40 :]


def shown(chunk: Chunk) -> str:
    where = f"{chunk.span.start}-{chunk.span.end}"
    symbols = " ".join(f"{symbol.name}:{symbol.kind}:{symbol.line}" for symbol in chunk.symbols)
    fields = (chunk.breadcrumb, symbols, chunk.signature, " ".join(chunk.tags))
    rows = [" | ".join([f"{where} {chunk.chunk_type} {chunk.kind}", *(value or "-" for value in fields)])]
    for label, value in (("doc", chunk.doc_comment), ("context", chunk.context or None)):
        if value:
            rows.append(f"    {label}: {value!r}")
    if chunk.kind == "outline":
        rows.extend(f"    {line}" for line in chunk.text.split("\n"))
    return "\n".join(rows)


def chunked(language: str, path: str, text: str) -> list[str]:
    result = chunk_file(SourceFile(path, Corpus.CODE, language, len(text), 0), text)
    assert result.skip is None
    return [shown(chunk) for chunk in result.chunks]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_language(path: Path) -> None:
    language = language_of(path.name)
    text = path.read_text("utf-8")
    name = f"src/{path.name}"
    parts = [
        "# the fixture",
        *chunked(language, name, text),
        "\n# the fixture, broken",
        *chunked(language, name, broken(text)),
        "\n# one huge function",
        *chunked(language, name, huge_function(language)),
    ]
    result = "\n".join(parts) + "\n"
    compare(HERE / f"{language}.txt", result)


def test_every_language_with_a_grammar_has_a_fixture_and_a_query() -> None:
    names = {language.name for language in LANGUAGES if language.grammar and not language.extra}
    assert {language_of(path.name) for path in PATHS} == names
    assert set(HUGE) == names
