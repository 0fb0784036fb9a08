"""The page of a team's server in a browser: a token is entered, and its projects are shown as text."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from warm_start import INSTALLED, Popen

from .served import PATIENCE_S, Home

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TOKEN = "token-of-the-page"


@pytest.fixture
def address(indexed: tuple[Home, Path]) -> Iterator[str]:
    home, root = indexed
    command = [INSTALLED, "serve", "--http", "127.0.0.1:0", "--read-only", "--token", TOKEN]
    with Popen(command, cwd=root, env=home.environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            yield server.stderr.readline().split()[-1].removesuffix("mcp")
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE_S)


@pytest.mark.programs
def test_a_token_shows_its_projects(browser: Browser, address: str, indexed: tuple[Home, Path]) -> None:
    """Nothing is shown before the token, and nothing is loaded from elsewhere."""
    from playwright.sync_api import expect

    window, errors, asked = browser.new_page(), list[str](), list[str]()
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.on("request", lambda request: asked.append(request.url))
    window.goto(address)
    expect(window.get_by_label("Your token")).to_be_visible()
    expect(window.get_by_role("table")).to_be_hidden()
    window.get_by_label("Your token").fill("wrong")
    window.get_by_role("button").click()
    expect(window.get_by_role("status")).to_contain_text("a valid bearer token is required")
    window.get_by_label("Your token").fill(TOKEN)
    window.get_by_role("button").click()
    rows: Any = window.get_by_role("row")
    expect(rows.nth(1)).to_contain_text(indexed[1].name)
    expect(rows.nth(1)).to_contain_text("ready")
    expect(window.get_by_label("Your token")).to_be_hidden()
    window.close()
    assert errors == []
    assert all(url.startswith(address) for url in asked)
