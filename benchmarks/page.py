"""Time the page: from the last key of a question to its results: `python -m benchmarks.page PROJECT`.

The system's Chromium types each question into `findspot ui` as a person does, key by key. The project is
indexed, and the machine is at rest.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_KEY_MS = 90
_SETTLED_MS = 1_500
_QUESTIONS = (
    "csrf token compare", "where is the session expired", "QuerySet.filter", "render a template to a string",
    "how are migrations ordered", "cache key prefix", "password hasher upgrade", "url resolver",
    "form field clean", "send mail", "lazy translation", "static files finder", "aggregate annotation",
    "signal dispatch", "upload handler", "prefetch related", "middleware order", "database router",
    "test client redirect", "admin changelist filters",
)  # fmt: skip
_WATCH = """() => {
  const results = document.querySelector("#results"), field = document.querySelector("[data-search]");
  field.addEventListener("input", () => { window.typed = performance.now(); }, true);
  new MutationObserver(() => {
    if (results.dataset.query === field.value) window.drawn = performance.now();
  }).observe(results, { attributeFilter: ["data-query"] });
}"""
"""Notes when the last key came, and when the results of all that was typed were shown."""


def main(project: str) -> None:
    from playwright.sync_api import sync_playwright

    command = [str(Path(sys.executable).parent / "findspot"), "ui", "--no-open", "--port", "0"]
    program = next(filter(None, map(shutil.which, _BROWSERS)))
    with (
        subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as served,
        sync_playwright() as playwright,
    ):
        assert served.stdout is not None
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        window = browser.new_page()
        window.goto(served.stdout.readline().split()[-1])
        field = window.get_by_role("combobox", name="Search")
        times = []
        for number, question in enumerate(("warm up", *_QUESTIONS)):
            field.fill("")
            field.press_sequentially(question, delay=_KEY_MS)
            window.wait_for_timeout(_SETTLED_MS)
            if not number:
                window.evaluate(_WATCH)
                continue
            times.append(window.evaluate("window.drawn - window.typed"))
        browser.close()
        served.terminate()
    ordered = sorted(times)
    p95 = ordered[int(0.95 * len(ordered))]
    sys.stdout.write(
        f"{len(times)} questions, from the last key to the results: p50 {statistics.median(times):.0f} ms, "
        f"p95 {p95:.0f} ms; load {os.getloadavg()[0]:.1f}\n"
    )


if __name__ == "__main__":
    main(sys.argv[1])
