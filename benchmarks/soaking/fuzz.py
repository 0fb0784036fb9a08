"""Random names, contents, globs, queries, settings and damaged stores: nothing crashes, hangs or leaks."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from findspot import FindspotError, Project, Query
from findspot.core.config import load_settings
from findspot.core.globs import compile_glob
from findspot.core.model import Mode, Skip
from findspot.core.paths import relative_path
from findspot.discover.file_content import readable_text
from findspot.discover.walk import classify
from findspot.sync.changed_paths import changed_path

SLOW_S = 10.0
"""What takes longer than this twice hangs; on a busy machine a new index waits for its worker's start."""

_PIECES = (
    "a", "src", "..", ".", "/", "//", "\\", "*", "**", "?", "[", "]", "{", "}", "!", ",", "é", "e\u0301",
    "\u202e", "\0", "\n", "\x1b[31m", " ", "node_modules", ".git", ".env", "x" * 300, "-", "~", "CON", "a.py",
    "$(id)", "'", '"',
)  # fmt: skip
_BYTES = (b"def f():\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"-----BEGIN RSA PRIVATE KEY-----",
          b"ghp_", b"(" * 50, b"\xc3", b"class A:\n    pass\n", b"# T\n", b"{",
          b'"', b"\x1b]0;x\x07")  # fmt: skip

Case = Callable[["Fuzz"], object]


class Fuzz:
    """One project, one source of chance, and everything opened outside the project counted."""

    def __init__(self, place: Path) -> None:
        self.chance = random.Random()
        self.doing = ""
        self.place = place
        self.outside = place / "outside"
        self.outside.mkdir()
        (self.outside / "secret.py").write_text("secret = 1\n")
        self.root = place / "project"
        (self.root / "src").mkdir(parents=True)
        for number in range(8):
            (self.root / "src" / f"m{number}.py").write_text(
                f"def function_{number}():\n    return {number}\n"
            )
        (self.root / "link").symlink_to(self.outside)
        self.project = Project(self.root)
        self.project.update()
        self.opened_outside = 0
        sys.addaudithook(self._audit)

    def text(self, most: int = 6) -> str:
        return "".join(self.chance.choice(_PIECES) for _ in range(self.chance.randrange(1, most + 1)))

    def data(self) -> bytes:
        return b"".join(self.chance.choice(_BYTES) for _ in range(self.chance.randrange(0, 30)))

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(self.outside) in str(arguments[0]):
            self.opened_outside += 1


def names(fuzz: Fuzz) -> None:
    changed_path(fuzz.root, f"{fuzz.root}/{fuzz.text()}")
    with contextlib.suppress(ValueError):
        classify(fuzz.root, relative_path(fuzz.root, fuzz.text()), load_settings().discover)


def contents(fuzz: Fuzz) -> None:
    read = readable_text("a.py", fuzz.data(), fuzz.chance.choice(("skip", "mask", "off")))
    assert isinstance(read, str | Skip)


def globs(fuzz: Fuzz) -> None:
    compile_glob(fuzz.text()).match(fuzz.text())


def queries(fuzz: Fuzz) -> None:
    def now_and_then() -> str | None:
        return fuzz.text() if fuzz.chance.random() < 0.2 else None

    query = Query(
        fuzz.text(12),
        mode=fuzz.chance.choice(list(Mode)),
        path_filter=now_and_then(),
        exclude=now_and_then(),
        under=now_and_then(),
        similar_to=now_and_then(),
    )
    fuzz.project.search(query)


def settings(fuzz: Fuzz) -> None:
    keys = ("include", "maxFiles", "indexingStrategy", "secretScan", "toolsets", fuzz.text(1))
    values: tuple[Any, ...] = (None, -1, 1e9, True, fuzz.text(), [fuzz.text()], {}, {"a": [1]})
    given = {fuzz.chance.choice(keys): fuzz.chance.choice(values) for _ in range(3)}
    file = fuzz.place / "given" / "config.json"
    file.parent.mkdir(exist_ok=True)
    text = json.dumps(given)
    file.write_text(text[: fuzz.chance.randrange(len(text) + 1)] if fuzz.chance.random() < 0.3 else text)
    load_settings(fuzz.root, file.parent)


def damage(fuzz: Fuzz) -> None:
    """Truncate or flip a file of the index; it answers, says it is damaged, or is built anew."""
    fuzz.project.close()
    files = [
        path for path in fuzz.project.store.folder.rglob("*") if path.is_file() and path.suffix != ".lock"
    ]
    path = fuzz.chance.choice(sorted(files))
    data = bytearray(path.read_bytes())
    if data and fuzz.chance.random() < 0.5:
        data[fuzz.chance.randrange(len(data))] ^= 1 << fuzz.chance.randrange(8)
    else:
        del data[fuzz.chance.randrange(len(data) + 1) :]
    path.write_bytes(data)
    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        (f"searching with {path.name} damaged", lambda: fuzz.project.search(Query("function"))),
        (f"status with {path.name} damaged", fuzz.project.status),
        (f"updating with {path.name} damaged", fuzz.project.update),
        ("removing", lambda: shutil.rmtree(fuzz.project.store.folder)),
        ("building anew", fuzz.project.update),
    )
    spent = []
    for name, step in steps:
        started = time.monotonic()
        with contextlib.suppress(FindspotError):
            step()
        spent.append(f"{name} {time.monotonic() - started:.1f} s")
    fuzz.doing = ", ".join(spent)


CASES: tuple[tuple[Case, int], ...] = (
    (names, 3_000), (contents, 3_000), (globs, 2_500), (queries, 800), (settings, 695), (damage, 5),
)  # fmt: skip
"""Each kind and how many of ten thousand cases are of it."""


def _one(fuzz: Fuzz, seed: str) -> tuple[str, float, str]:
    """Name, seconds and crash of one case; it depends on its seed alone, and can be replayed."""
    fuzz.chance.seed(seed)
    case = fuzz.chance.choices([case for case, _ in CASES], [weight for _, weight in CASES])[0]
    crash = ""
    started = time.monotonic()
    try:
        case(fuzz)
    except FindspotError:
        pass
    except Exception as error:  # noqa: BLE001 - what is looked for
        crash = repr(error)
    return case.__name__, time.monotonic() - started, crash


def run(place: Path, count: int, seed: int, first: int = 0) -> dict[str, Any]:
    """Any FindspotError is an answer; anything else is a crash. `first` replays a case by its number."""
    fuzz = Fuzz(place)
    done: dict[str, int] = {case.__name__: 0 for case, _ in CASES}
    slowest: dict[str, float] = dict.fromkeys(done, 0.0)
    crashes: list[str] = []
    slow: list[str] = []
    hangs = 0
    for number in range(first, first + count):
        case, took_s, crash = _one(fuzz, f"{seed}:{number}")
        if crash:
            crashes.append(f"{number} {case}: {crash}")
        if took_s > SLOW_S:
            slow.append(f"{number} {case}: {took_s:.1f} s {fuzz.doing}")
            hangs += _one(fuzz, f"{seed}:{number}")[1] > SLOW_S  # once may be the machine's fault
        slowest[case] = max(slowest[case], round(took_s, 3))
        done[case] += 1
    fuzz.project.close()
    return {
        "cases": count, **done, "crashes": len(crashes), "hangs": hangs, "slow": len(slow),
        "first": (crashes + slow)[:5], "slowest_s": slowest, "opened_outside": fuzz.opened_outside,
    }  # fmt: skip
