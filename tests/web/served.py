"""The real `findspot ui` in a process of its own, over a small project whose answers are known."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from contents import write_files
from findspot.core.locks import writer_lock
from findspot.serve.activity import Entry, note
from program import InThisProcess, Program
from warm_start import INSTALLED, Popen

PATIENCE_S = 60
"""A machine may be busy; what takes longer than this hangs."""

HOSTILE = '''\
def hostile_banner(name):
    """<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">"""
    # user\u202etxet desrever\u202c and a zero\u200bwidth space
    return "<b>bold</b> &amp; \\x1b[31mred" + name  # </code></pre><h1>broken out</h1>
'''

SITE = ".venv/lib/python3.12/site-packages"
INSTALLED_PACKAGE = {
    ".venv/pyvenv.cfg": "home = /usr/bin\n",
    f"{SITE}/teatime-1.0.dist-info/METADATA": "Name: teatime\nVersion: 1.0\n",
    f"{SITE}/teatime/kettle.py": 'def heat(litres):\n    """Boil the water for a pot of tea."""\n',
}
FILES: dict[str, str | bytes] = {
    "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["teatime", "absent"]\n',
    "src/shop/__init__.py": "",
    "src/shop/cart.py": '''"""The cart of a customer."""

from shop.prices import price_of


class Cart:
    """What a customer wants to buy."""

    def __init__(self) -> None:
        self.items = {}

    def add(self, article: str, number: int = 1) -> None:
        """Put an article into the cart."""
        self.items[article] = self.items.get(article, 0) + number

    def total(self) -> int:
        """The price of everything in the cart."""
        return sum(price_of(article) * number for article, number in self.items.items())
''',
    "src/shop/prices.py": '''"""What articles cost."""

PRICES = {"apple": 3, "pear": 4}


def price_of(article: str) -> int:
    """The price of one article, in cents."""
    return PRICES[article]


def discounted(article: str, percent: int) -> int:
    """The price of an article after a discount."""
    return price_of(article) * (100 - percent) // 100
''',
    "src/shop/hostile.py": HOSTILE,
    **{f"src/shop/parts/part_{n}.py": f"def part_number_{n}():\n    return {n}\n" for n in range(30)},
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total():\n    cart = Cart()\n"
    '    cart.add("pear", 2)\n    assert cart.total() == 8\n',
    "docs/returns.md": "# Returns\n\n## How to return an article\n\nSend it back within thirty days.\n",
    "web/basket.js": "// The basket of the page\nexport function basketTotal(items) {\n"
    "  return items.reduce((sum, item) => sum + item.price, 0);\n}\n",
    ".env": "TOKEN=secret\n",
    ".gitignore": "build/\n",
    "build/out.py": "x = 1\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0",
}

QUESTION = "price after a discount"


def make_project(root: Path) -> Path:
    write_files(root, FILES | INSTALLED_PACKAGE)
    return root


@dataclass(frozen=True)
class Home:
    """Where one test's indexes are, and its user's files."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
        user = self.folder / "user"
        user.mkdir(parents=True, exist_ok=True)
        return kept | {"FINDSPOT_HOME": str(self.folder / "home"), "HOME": str(user)}

    def program(self, cwd: Path) -> Program:
        """The command line with these indexes, run in a folder."""
        return InThisProcess(self.folder / "home", cwd)

    def copied(self, folder: Path) -> Home:
        """The same indexes in another home, to be spoilt at will."""
        shutil.copytree(self.folder / "home", folder / "home")
        return Home(folder)

    def index(self, root: Path) -> None:
        """Index a project, with some questions about it."""
        program, found = self.program(root), ("src/shop/prices.py:11", "src/shop/cart.py:17")
        program.make_index(root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FINDSPOT_HOME", str(program.home))
            for entry in (
                Entry("claude-code", str(root), "search_code", QUESTION, found, 7, "ok", 12, 340),
                Entry("cursor", str(root), "search_docs", "shipping", (), 0, "DOCS_INDEX_NOT_FOUND", 3, 20),
            ):
                note(entry)


@dataclass(frozen=True)
class Served:
    """A page that is being served."""

    address: str
    process: subprocess.Popen[str]

    @property
    def token(self) -> str:
        return self.address.split("/")[3]

    @property
    def origin(self) -> str:
        return self.address.removesuffix(f"/{self.token}/")

    def request(self, method: str, path: str, **headers: str) -> http.client.HTTPResponse:
        """Ask for a path below the token with exactly these headers, besides a right host unless given."""
        connection = http.client.HTTPConnection(urlsplit(self.origin).netloc, timeout=PATIENCE_S)
        connection.putrequest(method, f"/{self.token}{path}", skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.putheader("Content-Length", "0")
        connection.endheaders()
        return connection.getresponse()

    def ask(self, route: str, method: str = "GET", /, **parameters: Any) -> tuple[int, dict[str, Any]]:
        """The status and the JSON of a route."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        response = self.request(method, f"/api/{route}{query}", Origin=self.origin)
        return response.status, json.loads(response.read())

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def serving(home: Home, cwd: Path, *options: str) -> Iterator[Served]:
    """The page on a free port; checks that it ends cleanly."""
    command = [INSTALLED, "ui", "--no-open", *(options or ("--port", "0"))]
    with Popen(
        command, cwd=cwd, env=home.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("Findspot is at http://127.0.0.1:"), said
        served = Served(said.split()[-1], process)
        try:
            yield served
        finally:
            assert served.stop() in (0, 128 + signal.SIGTERM, -signal.SIGKILL)


def until(found: Callable[[], Any]) -> Any:
    """Ask until there is an answer."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        answer = found()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError("it never came")


@contextlib.contextmanager
def being_indexed(folder: Path) -> Iterator[None]:
    """Hold an index as a run in another process does that somebody asked for."""
    with (
        writer_lock(folder / "writer.lock"),
        contextlib.closing(sqlite3.connect(folder / "index.sqlite")) as db,
    ):
        db.execute("INSERT OR REPLACE INTO meta VALUES ('asked', '1')")
        db.commit()
        yield
        db.execute("DELETE FROM meta WHERE key = 'asked'")
        db.commit()
