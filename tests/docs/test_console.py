"""The commands in the guides for monorepos and teams print what the pages show."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pages import ROOT, consoles, matches, run_line

from contents import write_files

SHOP = {
    "libs/money/money.py": 'def total(prices: list[int]) -> int:\n    """Return the sum, in cents."""\n'
    "    return sum(prices)\n",
    "services/cart/pyproject.toml": '[project]\nname = "cart"\n',
    "services/cart/cart.py": '"""The shopping cart."""\n\nfrom money import total\n\n\n'
    'def checkout(prices: list[int]) -> int:\n    """Return what a customer pays for the cart."""\n'
    "    return total(prices)\n",
    "services/billing/invoice.py": 'def send_invoice(customer: str) -> None:\n    """Send an invoice."""\n'
    '    print("invoice for", customer)\n',
    "web/package.json": '{"name": "web"}\n',
    "web/src/cart.ts": "/** Show the cart. */\nexport function showCart(prices: number[]): string {\n"
    '  return prices.join(", ");\n}\n',
    "vendored/charts.js": "export const chart = 1;\n",
}
"""The repository that the guides describe."""


def make_shop(folder: Path) -> None:
    write_files(folder / "shop", SHOP)
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        subprocess.run(
            ["git", *identity, *command], cwd=folder / "shop", env=os.environ | nothing, check=True
        )


def check(page: str, folder: Path) -> None:
    make_shop(folder)
    shown = consoles(ROOT / "docs" / page)
    assert shown
    for line, expected in shown:
        output = run_line(line, folder, folder / "home")
        assert matches(expected, output), f"$ {line}\n{output}"


def test_monorepos(tmp_path: Path) -> None:
    check("troubleshooting.md", tmp_path)


def test_teams(tmp_path: Path) -> None:
    check("teams.md", tmp_path)


def test_what_matches() -> None:
    assert matches("one\n…\nfour …\n", "one\ntwo\nthree\nfour five\n")
    assert matches("one\n…\n", "one\n")
    assert not matches("one\n", "one\ntwo\n")
    assert not matches("one …\ntwo\n", "one\ntwo\n")
