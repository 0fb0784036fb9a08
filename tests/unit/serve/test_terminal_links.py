"""Links on a terminal: what a file is called never steers it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from findspot.serve.cli import output


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_an_address_spells_out_what_could_steer_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Screen())
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "KITTY_WINDOW_ID"):
        monkeypatch.delenv(name, raising=False)
    linked = output.link("text", Path("/p/a\x1b]0;t\x07\udcff #1.py"), 7)
    assert linked.startswith("\x1b]8;;file://")
    assert linked.endswith("/p/a%1B%5D0%3Bt%07%FF%20%231.py\x1b\\text\x1b]8;;\x1b\\")
    monkeypatch.setenv("KITTY_WINDOW_ID", "1")
    assert output.link("text", Path("/p/a.py"), 7).count("/p/a.py#7\x1b") == 1


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_escapes_gets_no_links(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Screen())
    monkeypatch.setenv(name, value)
    assert output.link("text", Path("/p/a.py"), 7) == "text"


def test_a_pipe_gets_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert output.link("text", Path("/p/a.py"), 7) == "text"
