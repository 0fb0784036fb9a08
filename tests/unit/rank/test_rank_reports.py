"""Bug reports taken apart."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from findspot.rank.mentions import Place, Where
from findspot.rank.reports import MAX_CHARS, Report, read_report

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


def _names(report: Report, where: Where) -> list[str]:
    return [name.text for name in report.names if name.where is where]


def test_a_report_is_taken_apart() -> None:
    report = read_report(GITHUB)
    assert report.title == "Cart.add() loses items when `strict` is on"
    assert [text[:20] for text in report.prose[:2]] == ["Adding a second item", "Both items stay in t"]
    assert [text[:21] for text in report.code] == ["from shop.cart import"]
    assert report.errors == ("shop.errors.CartError: lost",)
    assert [(f.path, f.line, f.function, f.innermost) for f in report.frames] == [
        ("shop/cart.py", 40, "add", True)
    ]
    assert report.places == (
        Place("src/shop/cart.py", 136, 151, "ann/shop"),
        Place("src/shop/store.py", 40),
    )


def test_names_say_where_they_stand() -> None:
    report = read_report(GITHUB)
    assert _names(report, Where.TITLE) == ["strict", "Cart.add", "Cart", "add"]
    assert "Cart.add" in _names(report, Where.SPAN)
    shown = _names(report, Where.CODE)
    assert {"shop.cart", "add_many", "self.store.keep", "shop.errors.CartError"} <= set(shown)


def test_trac_s_braces_hold_code() -> None:
    report = read_report(
        "Item.save() fails\n\nSo it goes:\n{{{\n#!python\nItem().save(force=True)\n}}}\nIt is lost."
    )
    assert report.code == ("Item().save(force=True)",)
    assert report.prose == ("So it goes:", "It is lost.")


def test_restructured_text_holds_code_after_colons_and_directives() -> None:
    report = read_report(
        "The ``ref`` role\n\nIt fails with::\n\n    :ref:`cart`\n\n.. code-block:: python\n\n"
        "   shop.run()\n\n"
        "Expected\n--------\n\nA link.\n"
    )
    assert report.code == ("    :ref:`cart`", "   shop.run()")
    assert report.prose == ("It fails with::", "A link.")


def test_an_e_mail_has_a_subject_and_quotes() -> None:
    report = read_report(
        "Subject: [Bug] parser crashes\n\nparse_config() crashes.\n\n"
        "> It must never crash, whatever it reads.\n\n$ shop --config empty.toml\nSegmentation fault\n"
    )
    assert report.title == "parser crashes"
    assert report.prose == ("parse_config() crashes.", "It must never crash, whatever it reads.")
    assert report.code == ("shop --config empty.toml",)
    assert report.errors == ("Segmentation fault",)


def test_of_a_session_only_what_was_typed_is_code() -> None:
    report = read_report(
        "Wrong sum\n\n>>> from shop import total\n>>> total([1,\n...        2])\n4\n\n"
        "```console\n$ shop run\nRunning\n```\n\nIn [1]: shop.version\nOut[1]: 3\n"
    )
    assert report.code == ("from shop import total\ntotal([1,\n       2])", "shop run", "shop.version")


def test_only_a_template_s_tag_is_no_part_of_a_title() -> None:
    for title in ("items[0] is lost", "[shop.cart] is empty"):
        assert read_report(f"{title}\n\nIt fails.").title == title
    assert read_report("[Bug]: it fails\n").title == "it fails"


def test_logs_are_noise_and_their_errors_are_errors() -> None:
    report = read_report(
        "Hangs\n```\n2023-01-01 10:00:00,123 INFO shop: start\n"
        "2023-01-01 10:00:01,123 ERROR shop: cannot bind\n```\n"
    )
    assert report.errors == ("shop: cannot bind",)


def test_a_patch_names_its_files() -> None:
    report = read_report(
        "Typo\n```diff\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-retrun 1\n+return 1\n```\n"
    )
    assert report.places == (Place("src/a.py"),)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("see src/a.py", Place("src/a.py")),
        ("see `src/a.py:12`", Place("src/a.py", 12)),
        ("in a.py, line 12 it", Place("a.py", 12)),
        ("in lib\\web\\a.ts#L3-L9", Place("lib/web/a.ts", 3, 9)),
        ("lines a.go:3-9.", Place("a.go", 3, 9)),
        ("[x](https://gitlab.com/a/b/-/blob/main/lib/x.rb#L7)", Place("lib/x.rb", 7, None, "a/b")),
        ("https://raw.githubusercontent.com/a/b/v1/x.c", Place("x.c", None, None, "a/b")),
        ("We use Node.js and call app.run and items.map", None),
        ("https://shop.example/docs/index.html", None),
        ("version 1.2.3, i.e. the last", None),
    ],
)
def test_places(text: str, place: Place | None) -> None:
    assert read_report(f"title\n\n{text}").places == ((place,) if place else ())


@pytest.mark.parametrize(
    "noise",
    [
        "### Is there an existing issue for this?",
        "**Describe alternatives you've considered**",
        "- [X] Follow our [Code of Conduct](https://example.com/conduct)",
        "- Node.js version: 16.13.0",
        "numpy 1.22.3 py39h2e5f0a9_0 anaconda",
        "1.\n2.\n3.",
    ],
)
def test_a_template_says_nothing(noise: str) -> None:
    assert read_report(f"title\n\n{noise}\n").prose == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "If you call `save()` twice, the second call is lost.",
        "The parser does not check versions before it opens the file.",
        "Cart.add is slow.",
        "The result is 3.5 instead of 4.5 here.",
        "Before 2.0 the order was kept.",
        "A Vec<Cart> in <Basket> is lost: 1 -> 0, not a => b.",
        "__init__ fails with __all__",
    ],
)
def test_a_description_is_prose(sentence: str) -> None:
    report = read_report(f"title\n\n{sentence}\n")
    assert report.prose == (sentence,)


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


HOSTILE = (
    *("a", "a.", "a/", "A_", "`", "[", "<!--", "<!--\n", "```\n", "{{{\n", "<", "\n", "    x\n\n", "> "),
    *("at a.b(", "at a.b(c.js:1:1\n", '  File "', '  File "a.py", line 3, in f\n', "#0 0x1 in f "),
    *("Error: ", "https://x/", "a 1.0 ", "import a, ", "'\"", "**", "- [ ] x\n", ">>> x\n"),
    *((" ", "x"), ("(", "):12"), ("==", " x")),
)
"""What a text repeats, and how it ends."""


@pytest.mark.parametrize("hostile", HOSTILE)
def test_reading_is_linear(hostile: str | tuple[str, str]) -> None:
    """Four times the text takes about four times the calls; no line is seen by a pattern as a whole."""
    piece, end = hostile if isinstance(hostile, tuple) else (hostile, "")

    def calls(length: int) -> int:
        return _calls("title\n" + piece * (length // len(piece)) + end)

    calls(1_000)  # fill the caches
    assert calls(16_000) <= 5 * calls(4_000) + 1_000


def test_longer_texts_are_cut() -> None:
    report = read_report("title\n" + "word " * MAX_CHARS + "LastWord")
    assert sum(map(len, report.prose)) <= MAX_CHARS


def test_an_empty_text_has_no_parts() -> None:
    assert read_report("") == Report("")
    assert read_report(" \n\n") == Report("")


@pytest.mark.parametrize(
    ("text", "path", "line", "function"),
    [
        ("    at Object.onerror (/srv/context.js:107:40)", "/srv/context.js", 107, "Object.onerror"),
        ("    at /srv/context.js:107:40\n    at /srv/x.js:1:2", "/srv/context.js", 107, ""),
        ("/srv/foo.rb:12:in `bar': undefined (NameError)", "/srv/foo.rb", 12, "bar"),
        ("   at Shop.Cart.Add(Item a) in D:\\a\\Cart.cs:line 65", "D:/a/Cart.cs", 65, "Shop.Cart.Add"),
        ("#0 /app/Cart.php(120): Shop\\Cart->add(Array)\n#1 {main}", "/app/Cart.php", 120, "Shop\\Cart->add"),
        ("#0  parse (item=0x55) at cart.c:790\n#1  0x0000555 in main () at a.c:3", "cart.c", 790, "parse"),
        ("* thread #1\n  * frame #0: 0x0000000100003f5c a.out`main at a.c:5:8", "a.c", 5, "main"),
        ("thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds", "src/main.rs", 4, ""),
        ("#0      List.[] (dart:core/list.dart:264:36)", "dart:core/list.dart", 264, "List.[]"),
        ("\tat com.a.MainKt.invoke(Main.kt:3)", "com/a/Main.kt", 3, "com.a.MainKt.invoke"),
        ("File ~/lib/cart.py:12, in Cart.add(self)\n---> 12 x", "~/lib/cart.py", 12, "Cart.add"),
    ],
)
def test_a_trace_at_the_beginning_keeps_its_first_frame(
    text: str, path: str, line: int, function: str
) -> None:
    frame = read_report(text).frames[-1]
    assert (frame.path, frame.line, frame.function) == (path, line, function)


def test_the_message_before_a_trace_is_its_error_and_the_title() -> None:
    report = read_report("panic: no cart\n\ngoroutine 1 [running]:\nmain.main()\n\t/tmp/x/main.go:8 +0x1d")
    assert (report.title, report.errors) == ("panic: no cart", ("panic: no cart",))
    assert [frame.path for frame in report.frames] == ["/tmp/x/main.go"]
    node = read_report("Error: no cart\n    at Cart.add (/srv/cart.js:107:40)\n    at main (/srv/a.js:1:2)")
    assert (node.title, node.errors) == ("Error: no cart", ("Error: no cart",))
    assert [frame.function for frame in node.frames] == ["main", "Cart.add"]
    aborted = read_report("rake aborted!\nNoMethodError: no host\n/srv/foo.rb:12:in `bar'")
    assert (aborted.title, len(aborted.frames)) == ("NoMethodError: no host", 1)
    assert read_report("Error: the cart is empty\n\nIt was full before.").title == "Error: the cart is empty"
    assert read_report("Cart is empty\n\n#1 Steps to reproduce\n\nAdd an item.").frames == ()
