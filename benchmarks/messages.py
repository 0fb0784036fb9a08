"""Pasted error messages: is the place that holds the words the first result?

python -m benchmarks.messages --mirrors FOLDER [--cache FOLDER] [--seed N] [--misses] [PROJECT ...]

Messages are found mechanically: string literals of five and more words near `raise`, `throw`, `panic`,
`Error`, `fail`, `log` and the like, in source files that are no tests. Each occurs once in its project, tests
and documentation included. They are asked as they stand (`whole`), by their second half (`half`), with the
name of an error in front (`named`), and, those with placeholders, with values filled in (`filled`).
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from benchmarks.metrics import mean
from findspot import Engine, Query
from findspot.core.model import Hit

DEVELOPMENT = (
    "pallets+flask", "django+django", "psf+requests", "gin-gonic+gin", "colinhacks+zod",
    "celery+celery", "nestjs+nest", "composer+composer", "puma+puma", "labstack+echo",
)  # fmt: skip
"""Looked at while this was built."""

FINAL = (
    "oban-bg+oban", "google+leveldb", "luarocks+luarocks", "detekt+detekt", "akka+akka-http",
    "square+moshi", "serilog+serilog", "heartcombo+devise", "catchorg+Catch2", "nginx+nginx",
)  # fmt: skip
"""Not looked at while this was built, and measured once."""

WANTED = {"whole": 200, "filled": 100}
MOST = 60
"""Messages of a kind out of one project."""
MIN_WORDS = 5

SOURCES = {
    ".py", ".js", ".ts", ".tsx", ".go", ".java", ".kt", ".rb", ".php", ".rs", ".swift", ".cs", ".c", ".cc",
    ".cpp", ".h", ".ex", ".lua", ".scala",
}  # fmt: skip
SINGLE_QUOTED = {".py", ".js", ".ts", ".tsx", ".rb", ".php", ".lua"}
BACK_QUOTED = {".js", ".ts", ".tsx", ".go"}
DOLLAR = {".kt", ".php", ".scala"}
"""Languages in which `$name` is a placeholder."""

ASIDE = re.compile(
    r"(^|[/_.-])(test\w*|\w*tests?|specs?|examples?|docs?|bench\w*|fixtures?|samples?|mocks?|vendor|min)([/_.-]|$)",
    re.IGNORECASE,
)
"""Tests and the like, and minified files, which are not indexed."""

_TRIGGER = re.compile(
    r"raise\b|throw\b|panic|[Ee]rror|fail|fatal|\blog|warn|Exception|abort|assert|require|expect|check", re.I
)
_LITERAL = {
    '"': r'"(?:[^"\\\n]|\\.)*"',
    "'": r"(?<![A-Za-z])'(?:[^'\\\n]|\\.)*'",
    "`": r"`[^`\n]*`",
}
_JOINED = r"\s*(?:\+|\.|\\|<>|)\s*[frbFRB]{0,2}"
"""What may stand between the parts of one message."""

_PLACEHOLDER = re.compile(
    r"%(?:\(\w+\)|\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.\d+)?(?:l{1,2}|z)?[sdrfvqxXciugTtp@w](?![A-Za-z])"
    r"|[$#]?\{[^{}]*\}|\\\((?:[^()]|\([^()]*\))*\)"
)
_DOLLAR_NAME = re.compile(r"\$\w+(?:->\w+)*")
_UNCLEAR = re.compile(r"[%{}$#\\<>=|`]")
_NUMBER = re.compile(r"%[-+#0]*\d*[dxuif]|\{[^{}]*:[^{}]*[dfx]\}")
_VALUES = (
    "user", "order_id", "'id'", "config.yaml", "/tmp/app/data.db", "UserProfile", "127.0.0.1:8080",
    "example.com", "a, b, c", "['id', 'name', 'email']", "True", "foo", "my-service", "GET",
    "<object at 0x7f3a2c>", "2024-05-01",
)  # fmt: skip
_NUMBERS = ("3", "42", "0", "-1", "1024", "65536", "17", "100")


@dataclass(frozen=True)
class Message:
    project: str
    path: str
    line: int
    kind: str
    text: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True, help="folder of git mirrors: OWNER+NAME/repo")
    parser.add_argument("--cache", type=Path, help="where checkouts and indexes are kept")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="show what is not the first result")
    parser.add_argument("project", nargs="*", default=FINAL, help="'development', or OWNER+NAME ...")
    args = parser.parse_args()
    projects = DEVELOPMENT if args.project == ["development"] else tuple(args.project)
    with tempfile.TemporaryDirectory() as temporary:
        cache = args.cache or Path(temporary)
        os.environ["FINDSPOT_HOME"] = str(cache / "home")
        folders = {name: checkout(args.mirrors / name / "repo", cache / name) for name in projects}
        found = {name: gather(name, folder, args.seed) for name, folder in folders.items()}
        ask(folders, chosen(found), misses=args.misses)


def checkout(mirror: Path, folder: Path) -> Path:
    """Write the newest files of a mirror into a folder, once."""
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(
            ["git", f"--git-dir={mirror}", "archive", "HEAD"], check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def gather(project: str, folder: Path, seed: int) -> list[Message]:
    """Return the messages of a project in a random order."""
    texts = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts
    }
    everything = b"\n".join(texts.values())
    draw = random.Random(f"{project} {seed}")
    sources = [path for path in texts if Path(path).suffix in SOURCES and not ASIDE.search(path)]
    messages = [
        found
        for path in sources
        for found in _in_file(project, path, texts[path].decode("utf-8", "replace"), draw)
    ]
    draw.shuffle(messages)
    taken: Counter[str] = Counter()
    kept = []
    for message, pieces in messages:
        if taken[message.kind] < MOST and all(everything.count(piece.encode()) == 1 for piece in pieces):
            taken[message.kind] += 1
            kept.append(message)
    return kept


def _in_file(project: str, path: str, text: str, draw: random.Random) -> Iterator[tuple[Message, list[str]]]:
    """Yield the messages of a file, and the texts that must occur once."""
    ending = Path(path).suffix
    quotes = '"' + "'" * (ending in SINGLE_QUOTED) + "`" * (ending in BACK_QUOTED)
    literal = "|".join(_LITERAL[quote] for quote in quotes)
    for place in re.finditer(rf"(?:{literal})(?:{_JOINED}(?:{literal}))*", text):
        line = text.count("\n", 0, place.start()) + 1
        begin = text.rfind("\n", 0, place.start()) + 1
        for _ in range(2):
            begin = text.rfind("\n", 0, max(0, begin - 1)) + 1
        if not _TRIGGER.search(text[begin : place.start()]):
            continue
        parts = [part[1:-1] for part in re.findall(literal, place[0])]
        for number, part in enumerate(parts):
            if not _UNCLEAR.search(part) and _is_message(part):
                at = line + place[0][: place[0].find(part)].count("\n")
                yield Message(project, path, at, "whole", part), [part]
                half = " ".join(part.split()[-max(MIN_WORDS, len(part.split()) // 2) :])
                if half != part and not number:
                    yield Message(project, path, at, "half", half), [half]
        joined = "".join(parts)
        placeholder = (
            re.compile(f"{_PLACEHOLDER.pattern}|{_DOLLAR_NAME.pattern}") if ending in DOLLAR else _PLACEHOLDER
        )
        fixed = placeholder.split(joined)
        if len(fixed) > 1 and _is_message(" ".join(fixed)) and not _UNCLEAR.search("".join(fixed)):
            filled = placeholder.sub(
                lambda each: draw.choice(_NUMBERS if _NUMBER.match(each[0]) else _VALUES), joined
            )
            longest = max(chain(*(placeholder.split(part) for part in parts)), key=len)
            yield Message(project, path, line, "filled", filled), [*filter(None, parts[:1]), longest]


def _is_message(text: str) -> bool:
    words = re.findall(r"(?<!\S)\W{0,2}[A-Za-z][A-Za-z'-]*\W{0,2}(?!\S)", text)
    return len(words) >= MIN_WORDS and len(words) > 0.7 * len(text.split()) and len(text) < 300


def chosen(found: dict[str, list[Message]]) -> list[Message]:
    """Return as many messages of each kind as are wanted, about as many of each project."""
    by_kind: dict[str, list[list[Message]]] = defaultdict(list)
    for messages in found.values():
        for kind in ("whole", "half", "filled"):
            by_kind[kind].append([message for message in messages if message.kind == kind])
    taken = []
    for kind, lists in by_kind.items():
        in_turns = [message for turn in zip_longest(*lists) for message in turn if message]
        taken += in_turns[: WANTED.get(kind, 100)]
    named = [message for message in taken if message.kind == "whole"][: WANTED["filled"]]
    return taken + [
        Message(each.project, each.path, each.line, "named", f"ValueError: {each.text}") for each in named
    ]


def ask(folders: dict[str, Path], messages: list[Message], *, misses: bool) -> None:
    engine = Engine()
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    projects: Counter[str] = Counter()
    first: Counter[str] = Counter()
    out = sys.stdout.write
    for name, folder in folders.items():
        project = engine.project(folder)
        project.update()
        for message in (each for each in messages if each.project == name):
            hits = project.search(Query(message.text, limit=10)).hits
            rank = next((place for place, hit in enumerate(hits, 1) if _holds(hit, message)), 99)
            strong = float(rank == 1 and hits[0].strength == "strong")
            row = {"first": rank <= 1, "five": rank <= 5, "ten": rank <= 10, "strong": strong}
            rows[message.kind].append({key: float(value) for key, value in row.items()})
            projects[f"{message.kind} {name}"] += 1
            first[f"{message.kind} {name}"] += rank == 1
            if misses and rank > 1:
                best = hits[0] if hits else None
                seen = f"{best.path}:{best.span.start} {best.score:.2f}" if best else "nothing"
                about = f"{name} {message.path}:{message.line} «{message.text}»"
                out(f"{message.kind:7}{rank:3} {about} not {seen}\n")
    engine.close()
    for name in folders:
        counts = (f"{kind} {first[f'{kind} {name}']}/{projects[f'{kind} {name}']}" for kind in rows)
        out(f"{name:24}{'  '.join(counts)}\n")
    for kind, asked in rows.items():
        figures = "  ".join(f"{key} {value:.3f}" for key, value in mean(asked).items())
        out(f"{kind:7}{len(asked):4} messages  {figures}\n")


def _holds(hit: Hit, message: Message) -> bool:
    return hit.path == message.path and hit.span.start <= message.line <= hit.span.end


if __name__ == "__main__":
    main()
