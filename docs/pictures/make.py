"""Takes the pictures of the page: `python docs/pictures/make.py`, with Chromium installed.

The project that is shown is this repository, checked out anew so that the path in the pictures is the
same everywhere. Inter and JetBrains Mono are used where the system has them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SIZE = {"width": 1200, "height": 700}
QUESTION = "where are secrets detected"
MOST_BYTES = 200_000


def main() -> None:
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            take(searching(browser, address, scheme), f"search-{scheme}.png")
        take(followed(browser, address), "impact.png")
        take(mapped(browser, address), "map.png")
        browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The page over an indexed copy of this repository; gives its address."""
    project = folder / "findspot"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", project], check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FINDSPOT_")} | {
        "HOME": str(folder)
    }
    program = [sys.executable, "-m", "findspot"]
    subprocess.run([*program, "index", project, "--yes"], env=environment, check=True, capture_output=True)
    command = [*program, "ui", project, "--no-open", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def opened(browser: Browser, address: str, scheme: str, section: str) -> Page:
    window = browser.new_context(color_scheme=scheme, viewport=SIZE).new_page()
    window.goto(f"{address}#/{section}")
    return window


def searching(browser: Browser, address: str, scheme: str) -> Page:
    window = opened(browser, address, scheme, "search")
    window.wait_for_selector(".example")
    window.fill("[data-search]", QUESTION)
    window.wait_for_selector(".pane .code .row:nth-child(20)", state="attached")
    return window


def followed(browser: Browser, address: str) -> Page:
    window = searching(browser, address, "light")
    window.get_by_role("tab", name="Impact").click()
    window.wait_for_selector(".group")
    return window


def mapped(browser: Browser, address: str) -> Page:
    window = opened(browser, address, "dark", "map")
    window.wait_for_selector(".legend")
    return window


def take(window: Page, name: str) -> None:
    """A picture of what is seen, small enough to be kept with the sources."""
    window.wait_for_timeout(400)  # transitions come to rest
    path = HERE / name
    window.screenshot(path=path)
    window.context.close()
    assert path.stat().st_size < MOST_BYTES, f"{name} is too large"


if __name__ == "__main__":
    main()
