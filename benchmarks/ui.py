"""How soon the page shows results: from the last key to the painted list, in a real browser.

python -m benchmarks.ui --project FOLDER [--home FOLDER]

Questions are typed key by key into `findspot ui` over the index of a project (made first where there
is none), and the time is taken inside the page: from the event of the last key to the frame after the
one that shows the answer to the whole question. Needs Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from findspot import Engine

if TYPE_CHECKING:
    from playwright.sync_api import Page

GOAL_MS = 150
KEY_MS = 60
"""Between two keys: a fast typist."""

QUERIES = (
    "how are migrations applied",
    "where is the session cookie signed",
    "QuerySet.filter",
    "cache timeout default",
    "render a template with context",
    "password hashing upgrade",
    "parse multipart form data",
    "admin changelist pagination",
    "class ModelForm",
    "retry when the database connection is lost",
)
ROUNDS = 2

WATCH = """query => {
  const field = document.querySelector('[data-search]'), list = document.getElementById('results');
  let last = 0;
  field.addEventListener('keydown', event => { last = event.timeStamp; });
  window.answered = new Promise(done => {
    const seen = new MutationObserver(() => {
      if (list.dataset.query !== query || !list.children.length) return;
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - last)));
    });
    seen.observe(list, { attributes: true, childList: true });
  });
}"""


@contextmanager
def served(project: Path) -> Iterator[str]:
    """`findspot ui` over a project; gives its address."""
    command = [sys.executable, "-m", "findspot", "ui", str(project), "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def measured(window: Page, query: str) -> float:
    """Milliseconds from the last key of a query to its painted results."""
    window.locator("[data-search]").fill("")
    window.evaluate(WATCH, query)
    window.locator("[data-search]").focus()
    window.keyboard.type(query, delay=KEY_MS)
    return float(window.evaluate("window.answered"))


def times(address: str) -> list[float]:
    """All times but those of the first round, which opens files and warms caches."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 1360, "height": 860})
        window.goto(address)
        window.wait_for_selector("[data-search]")
        taken = [[measured(window, query) for query in QUERIES] for _ in range(ROUNDS + 1)]
        browser.close()
    return [time for turn in taken[1:] for time in turn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path, required=True)
    parser.add_argument("--home", type=Path, help="Where indexes are kept. Default: a temporary folder.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = str(given.home or folder)
        engine = Engine()
        report = engine.project(given.project).update()
        engine.close()
        with served(given.project) as address:
            found = sorted(times(address))
    figures = {
        "chunks": report.total_chunks,
        "questions": len(found),
        "median_ms": round(statistics.median(found), 1),
        "p95_ms": round(found[int(0.95 * (len(found) - 1))], 1),
        "worst_ms": round(found[-1], 1),
        "within_goal": sum(time <= GOAL_MS for time in found),
        "load_average": round(os.getloadavg()[0], 1),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
