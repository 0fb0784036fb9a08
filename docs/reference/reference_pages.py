"""The reference pages, generated from the program: `make docs` writes them, and git ignores them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from clients_page import clients_page
from commands_page import commands_page
from configuration_page import configuration_page
from library_reference_page import library_reference_page
from tools_page import tools_page

GENERATED: dict[str, Callable[[], str]] = {
    "clients.md": clients_page,
    "commands.md": commands_page,
    "configuration.md": configuration_page,
    "library-reference.md": library_reference_page,
    "tools.md": tools_page,
}
"""What makes each page, by its name in `docs/`."""


@cache
def generated(name: str) -> str:
    """Return the text of a page."""
    return GENERATED[name]()


def write_reference(folder: Path) -> None:
    """Write every page whose text changed."""
    for name in GENERATED:
        page, text = folder / name, generated(name)
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")
