"""What each signal adds to the rank of a hit, reviewed as text; `UPDATE_GOLDEN=1` rewrites the file.

The project is made for it: each file shows one rule of ranking. A change of any weight is seen here, and
with it what it does to the answers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contents import write_files, indexed_project
from findspot import Engine, Project, Query
from findspot.core.model import Corpus, IncludeTests, Mode
from findspot.rank.candidate_pool import Candidate
from goldens import compare

GOLDEN = Path(__file__).with_name("signals.txt")
SHOWN = 6
SIGNALS = frozenset((*Candidate(0, 0, "", *[0.5] * 10).why(), "file", "chance"))
"""What decides a rank; an explanation also names the evidence for the score of a hit."""


def function(name: str, *words: str) -> str:
    """Return a function of about 800 characters, so that two do not share a chunk."""
    body = "".join(f"    total_{n} = {words[n % len(words)]}_{n} + {n}\n" for n in range(24))
    return f"def {name}(amount):\n{body}    return total_0\n\n\n"


FILES = {
    "src/ledger.py": "class Ledger:\n    def post(self, entry):\n        return entry\n",
    "src/accounts.py": "class Account:\n    ledger = None\n\n    def balance(self):\n        return 0\n\n\n"
    "LEDGER = Account()\n",
    "src/ledger/mod.rs": "pub struct Posting {\n    amount: i64,\n}\n",
    "src/api.rs": "pub use elsewhere::{Receipt, Body};\n",
    "src/receipts.rs": "use crate::api::Receipt;\npub fn show(x: Receipt) -> Receipt { x }\n",
    "tests/test_ledger.py": "def test_ledger():\n    assert Ledger().post(1)\n",
    "examples/ledger_demo.py": "def ledger_demo():\n    Ledger().post(2)\n",
    "types/ledger.pyi": "class Ledger:\n    def post(self, entry): ...\n",
    "config/ledger.yaml": "ledger:\n  post: true\n",
    "src/idna.h": "int encode_domain(const char* name);\n",
    "src/idna.c": "int encode_domain(const char* name) {\n  return name[0];\n}\n",
    "src/web/handlers.py": "def handle(request):\n    return request\n\n\ndef refuse(request):\n"
    "    raise ValueError(request)\n",
    "src/taxes.py": function("customs_duty", "customs", "duty") + function("customs_fee", "customs", "fee")
    + function("customs_form", "customs", "form") + function("weather", "rain", "wind"),
    "docs/guide.md": "# Guide\n\n## Posting entries\n\nWrite each amount once.\n\n" + "Nothing else. " * 80
    + "\n\n## Closing\n\nNothing is left open.\n\n" + "All is done. " * 80 + "\n",
    "docs/posting.md": "# Other\n\nSome words about entries here.\n",
}  # fmt: skip

REPORT = "The ledger is wrong\n\n" + "We saw it on a day in May when nobody had done anything. " * 7
TRACE = 'it fails:\n  File "src/web/handlers.py", line 5, in refuse\nValueError: no'

QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Ledger", {}),
    ("ledger", {}),
    ("Ledger", {"include_tests": IncludeTests.YES}),
    ("Account.balance", {}),
    ("where is the Ledger class used", {}),
    ("tests for the ledger", {}),
    ("example of the ledger", {}),
    ("Receipt", {}),
    ("encode a domain name", {}),
    ("handlers.py", {}),
    (TRACE, {}),
    (REPORT, {}),
    ("customs of a country", {}),
    ("customs of a country", {"mode": Mode.KEYWORD}),
    ("customs of a country", {"mode": Mode.SEMANTIC}),
    ("customs of a country", {"semantic_weight": 0.25}),
    ("customs of a country", {"also": ("rain", "wind")}),
    ("", {"similar_to": "src/taxes.py:2-9"}),
    ("posting entries", {"corpus": Corpus.DOCS}),
    ("how does closing work", {"corpus": Corpus.DOCS}),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("signals"), FILES) as project:
        yield project


def shown(project: Project, text: str, options: dict[str, Any]) -> Iterator[str]:
    yield " ".join([text.partition("\n")[0], *(f"{name}={value}" for name, value in options.items())]).strip()
    for hit in project.search(Query(text, explain=True, limit=SHOWN, **options)).hits:
        why = {name: value for name, value in (hit.why or {}).items() if name in SIGNALS}
        signals = ", ".join(f"{name} {value:.2f}" for name, value in why.items() if value != 1)
        yield f"  {hit.path}:{hit.span.start}  {signals}"


def test_what_each_signal_adds(project: Project) -> None:
    result = [line for text, options in QUERIES for line in (*shown(project, text, options), "")]
    compare(GOLDEN, "\n".join(result))
