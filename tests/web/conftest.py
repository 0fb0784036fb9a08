"""One served project for the tests that only look at it, and a browser to look with."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .served import PATIENCE_S, Home, Served, make_project, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
AXE = "axe-core@4.14.0"
INSTALL = ("npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--silent")

Visit = Callable[..., "Page"]


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Path]:
    """A home with an index of the project, and of its tools."""
    folder = tmp_path_factory.mktemp("web")
    root = make_project(folder / "shop")
    home = Home(folder)
    home.index(root)
    return home, root


@pytest.fixture(scope="session")
def page(indexed: tuple[Home, Path]) -> Iterator[Served]:
    with serving(*indexed) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window.

    Its event loop runs until it is closed: no test of another module in this process could run one.
    """
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE_S)
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, page: Served) -> Iterator[Visit]:
    """Opens an address in a fresh window; at its end, nothing outside was asked for and nothing broke."""
    contexts = []
    asked: list[str] = []
    broken: list[str] = []

    def open_window(address: str | None = None, expect_errors: bool = False, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        window = context.new_page()
        window.on("request", lambda request: asked.append(request.url))
        window.on("pageerror", lambda error: broken.append(str(error)))
        if not expect_errors:
            window.on("console", lambda said: broken.append(said.text) if said.type == "error" else None)
        window.goto(address or page.address)
        return window

    yield open_window
    for context in contexts:
        context.close()
    # A page that is still open when its server has been stopped asks in vain, and says so.
    assert not [said for said in broken if "ERR_CONNECTION_REFUSED" not in said]
    assert not [url for url in asked if not url.startswith("http://127.0.0.1:")]


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, which checks a page for what keeps people from using it."""
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run([*INSTALL, AXE], cwd=folder, check=True, timeout=300)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
