"""Bug reports taken apart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from findspot.rank.mentions import Place, Where
from findspot.rank.reports import MAX_CHARS, NoiseKind, Report, read_report

GITHUB = """\
Cart.add() loses items when `strict` is on

<!-- Thank you for reporting an issue!
Please fill in the template. -->

### Checklist

- [x] I have searched the existing issues
- [ ] I am willing to submit a pull request

### Describe the bug

Adding a second item with `Cart.add(strict=True)` drops the first one, see
[the loop](https://github.com/ann/shop/blob/0123abc/src/shop/cart.py#L136-L151) and src/shop/store.py:40.

### To Reproduce

```python
from shop.cart import Cart, Item as I

class MyItem(I):
    price = 3

cart = Cart(strict=True)
cart.add_many(MyItem())
```

### Expected behavior

Both items stay in the cart.

### Logs

```
Traceback (most recent call last):
  File "shop/cart.py", line 40, in add
    self.store.keep(item)
shop.errors.CartError: lost
```

### Environment

- OS: Ubuntu 22.04
- Python version: 3.11
```
Package    Version
---------- -------
shop       1.2.3
requests   2.28.1
```

Thanks in advance!
"""


def _noise(report: Report, kind: NoiseKind) -> list[str]:
    return [noise.text for noise in report.noise if noise.kind is kind]


def _names(report: Report, where: Where) -> list[str]:
    return [name.text for name in report.names if name.where is where]


def test_a_report_is_taken_apart() -> None:
    report = read_report(GITHUB)
    assert report.title == "Cart.add() loses items when `strict` is on"
    assert [(p.text[:20], p.weight) for p in report.prose] == [
        ("Adding a second item", 1.0),
        ("Both items stay in t", 0.9),
    ]
    assert [text[:21] for text in report.code] == ["from shop.cart import"]
    assert report.errors == ("shop.errors.CartError: lost",)
    assert [(f.path, f.line, f.function, f.innermost) for f in report.frames] == [
        ("shop/cart.py", 40, "add", True)
    ]
    assert report.places == (
        Place("src/shop/cart.py", 136, 151, "ann/shop"),
        Place("src/shop/store.py", 40),
    )


def test_what_says_little_is_kept_apart() -> None:
    report = read_report(GITHUB)
    assert [kind for kind in NoiseKind if _noise(report, kind)] == [
        NoiseKind.HEADING,
        NoiseKind.CHECKLIST,
        NoiseKind.COMMENT,
        NoiseKind.ENVIRONMENT,
        NoiseKind.URL,
        NoiseKind.PHRASE,
    ]
    assert len(_noise(report, NoiseKind.CHECKLIST)) == 2
    assert _noise(report, NoiseKind.PHRASE) == ["Thanks in advance!"]
    assert _noise(report, NoiseKind.ENVIRONMENT)[0] == "- OS: Ubuntu 22.04"


def test_names_say_where_they_stand() -> None:
    report = read_report(GITHUB)
    assert _names(report, Where.TITLE) == ["strict", "Cart.add", "Cart", "add"]
    assert "Cart.add" in _names(report, Where.SPAN)
    assert _names(report, Where.IMPORT) == ["shop.cart", "Cart", "shop.cart.Cart", "Item", "shop.cart.Item"]
    assert _names(report, Where.DEFINED) == ["MyItem", "price", "cart"]
    assert "add_many" in _names(report, Where.CODE)
    assert "cart.add_many" not in _names(report, Where.CODE)
    assert _names(report, Where.TRACE) == ["add", "self.store.keep", "store", "keep", "item"]
    assert "shop.errors.CartError" in _names(report, Where.ERROR)


def _calls(text: str) -> int:
    """Count the function calls that reading a text takes, Python's and C's."""
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read_report(text)
    finally:
        sys.setprofile(before)
    return calls


HOSTILE: list[Callable[[int], str]] = [
    lambda n: "a" * n,
    lambda n: "a." * (n // 2),
    lambda n: "a/" * (n // 2),
    lambda n: "A_" * (n // 2),
    lambda n: "`" * n,
    lambda n: "[" * n,
    lambda n: "<!--" * (n // 4),
    lambda n: "<!--\n" * (n // 5),
    lambda n: "```\n" * (n // 4),
    lambda n: "{{{\n" * (n // 4),
    lambda n: "<" * n,
    lambda n: "\n" * n,
    lambda n: " " * n + "x",
    lambda n: "    x\n\n" * (n // 7),
    lambda n: "> " * (n // 2),
    lambda n: "at a.b(" * (n // 7),
    lambda n: "at a.b(c.js:1:1\n" * (n // 16),
    lambda n: '  File "' * (n // 8),
    lambda n: '  File "a.py", line 3, in f\n' * (n // 28),
    lambda n: "#0 0x1 in f " * (n // 12),
    lambda n: "(" * n + "):12",
    lambda n: "Error: " * (n // 7),
    lambda n: "https://x/" * (n // 10),
    lambda n: "a 1.0 " * (n // 6),
    lambda n: "import a, " * (n // 10),
    lambda n: "'\"" * (n // 2),
    lambda n: "==" * (n // 2) + " x",
    lambda n: "**" * (n // 2),
    lambda n: "- [ ] x\n" * (n // 8),
    lambda n: ">>> x\n" * (n // 6),
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_reading_is_linear(hostile: Callable[[int], str]) -> None:
    """Four times the text takes about four times the calls; no line is seen by a pattern as a whole."""
    read_report(hostile(1_000))  # fill the caches
    few, many = _calls("title\n" + hostile(4_000)), _calls("title\n" + hostile(16_000))
    assert many <= 5 * few + 1_000


def test_longer_texts_are_cut() -> None:
    report = read_report("title\n" + "word " * MAX_CHARS + "LastWord")
    assert sum(len(paragraph.text) for paragraph in report.prose) <= MAX_CHARS


def test_an_empty_text_has_no_parts() -> None:
    assert read_report("") == Report("")
    assert read_report(" \n\n") == Report("")
