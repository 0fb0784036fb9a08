"""What a graded answer must show, and whether it does.

Keys of a question in `questions.toml`:

- `ask`, and `focus` where the question is asked with one
- `must`: what the answer has to show, as `path#Name` or `path`. The path has to be in the text, and the name
  as a whole word (`Type.name`: the two parts joined by `.`, `#` or `::`). `a | b` accepts either.
- `chains`: names that have to follow each other, in this order and with an arrow between them, on one line
- `says`: words that have to be in the answer
- `never`: patterns that would be false statements
- `code`: pieces of source lines that carry the answer; each has to be in the answer as it is written

Right: everything of `must`, `chains` and `says` is there, nothing of `never`, no chain is listed twice, and
production code comes first: no test is named before a required file that is none.
Usable: all of `code` is there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findspot.rank.roles import Role, role_of

_PATH = re.compile(r"(?<![\w./-])(?:[\w.-]+/)*[\w.-]+\.[A-Za-z]\w*(?=[:\s,)]|$)")


@dataclass(frozen=True)
class Question:
    """A question with what a right answer shows."""

    project: str
    commit: str
    use: str
    kind: str
    ask: str
    focus: str = ""
    must: tuple[str, ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grade:
    """What an answer fails to show."""

    wrong: tuple[str, ...]
    """Missing facts and false statements."""
    without: tuple[str, ...]
    """Code that is not shown."""

    @property
    def right(self) -> bool:
        return not self.wrong

    @property
    def usable(self) -> bool:
        return not self.without

    @property
    def passes(self) -> bool:
        return self.right and self.usable

    @property
    def missing(self) -> tuple[str, ...]:
        return (*self.wrong, *(f"code {code!r}" for code in self.without))


def load(path: Path | None = None) -> list[Question]:
    """Return all questions."""
    text = (path or Path(__file__).with_name("questions.toml")).read_text("utf-8")
    read: dict[str, Any] = tomllib.loads(text)
    return [_question(item, read["projects"]) for item in read["question"]]


def _question(item: dict[str, Any], commits: dict[str, str]) -> Question:
    lists = {name: tuple(item.get(name, ())) for name in ("must", "says", "never", "code")}
    chains = tuple(tuple(chain) for chain in item.get("chains", ()))
    return Question(
        item["project"],
        commits[item["project"]],
        item["use"],
        item["kind"],
        item["ask"],
        item.get("focus", ""),
        chains=chains,
        **lists,
    )


def misstated(question: Question, folder: Path) -> Iterator[str]:
    """Yield what a question requires and the project does not have."""
    for part in (part for must in question.must for part in must.split(" | ")):
        path, _, name = part.partition("#")
        place = folder / path
        last = name.rpartition(".")[2]
        if not place.exists() or (last and last not in place.read_text("utf-8", "replace")):
            yield f"{part} does not exist"
    files = [folder / path for path in _files(question)]
    texts = [file.read_text("utf-8", "replace") for file in files if file.is_file()]
    lost = (code for code in question.code if not any(code in text for text in texts))
    yield from (f"no required file has {code!r}" for code in lost)


def _files(question: Question) -> list[str]:
    parts = (part for must in question.must for part in must.split(" | "))
    return list(dict.fromkeys(part.partition("#")[0] for part in parts))


def grade(question: Question, text: str) -> Grade:
    """Return what of a question's requirements a text fails to show."""
    wrong = [must for must in question.must if not any(_shows(text, part) for part in must.split(" | "))]
    arrows = [line for line in text.split("\n") if "→" in line]
    wrong += [
        f"chain {' → '.join(chain)}"
        for chain in question.chains
        if not any(_follows(line, chain) for line in arrows)
    ]
    wrong += [f"says {word!r}" for word in question.says if word not in text]
    wrong += [f"false: {pattern}" for pattern in question.never if re.search(pattern, text)]
    chains = [line.strip() for line in arrows if line.startswith("  ")]
    wrong += ["a chain is listed twice"] if len(chains) > len(set(chains)) else []
    wrong += [f"test before production code: {path}" for path in _early_tests(_files(question), text)]
    return Grade(tuple(wrong), tuple(code for code in question.code if code not in text))


def _shows(text: str, required: str) -> bool:
    path, _, name = required.partition("#")
    return path in text and (not name or _word(name).search(text) is not None)


def _word(name: str) -> re.Pattern[str]:
    joined = r"(?:\.|#|::)".join(map(re.escape, name.split(".")))
    return re.compile(rf"(?<![\w$]){joined}(?![\w$])")


def _follows(line: str, chain: tuple[str, ...]) -> bool:
    """Return whether names come in this order, each in a later step than the one before."""
    steps = line.split("→")
    at = 0
    for wanted in chain:
        names = [_word(name) for name in wanted.split(" | ")]
        while at < len(steps) and not any(name.search(steps[at]) for name in names):
            at += 1
        if at == len(steps):
            return False
        at += 1
    return True


def _early_tests(required: list[str], text: str) -> list[str]:
    """Return the tests that are named before a required file of production code."""
    production = [text.find(path) for path in required if role_of(path) is not Role.TEST and path in text]
    before = text[: max(production, default=0)]
    return [path for path in dict.fromkeys(_PATH.findall(before)) if role_of(path) is Role.TEST]
