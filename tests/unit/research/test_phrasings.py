"""Questions in the words of developers and models: their relation and symbols are read from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from findspot.research.findings import Aim
from findspot.research.question_parser import ParsedQuestion, read_question

FILE = Path(__file__).parents[2] / "fixtures" / "phrasings.toml"
REVERSED = {
    Aim.CALLERS: Aim.CALLEES,
    Aim.IMPLEMENTATIONS: Aim.SUPERTYPES,
    Aim.IMPORTERS: Aim.IMPORTS,
    Aim.USES: Aim.CALLEES,
    Aim.TESTS: Aim.CALLEES,
}
REVERSED |= {back: forth for forth, back in REVERSED.items() if forth not in (Aim.USES, Aim.TESTS)}


def phrasings() -> Iterator[tuple[str, ParsedQuestion]]:
    groups = tomllib.loads(FILE.read_text())
    for question in groups.pop("open"):
        yield question, ParsedQuestion(Aim.OPEN)
    for relations in groups.values():
        for relation, questions in relations.items():
            for question, symbols in questions.items():
                ends = [symbols] if isinstance(symbols, str) else symbols
                yield question, ParsedQuestion(Aim(relation), *ends)


def misread() -> dict[str, ParsedQuestion]:
    pairs = ((question, expected, read_question(question)) for question, expected in phrasings())
    return {
        question: read
        for question, expected, read in pairs
        if (read.aim, read.name, read.end) != (expected.aim, expected.name, expected.end)
    }


def test_most_questions_are_read_right() -> None:
    wrong = misread()
    assert len(wrong) <= 0.05 * len(list(phrasings())), wrong


def test_no_question_is_read_backwards() -> None:
    expected = dict(phrasings())
    for question, read in misread().items():
        known = expected[question]
        assert read.aim is not REVERSED.get(known.aim), question
        assert (read.name, read.end) != (known.end, known.name) or not known.end, question
