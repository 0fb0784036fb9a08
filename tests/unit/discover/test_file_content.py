"""What a file's bytes say."""

from __future__ import annotations

import pytest

from findspot.core.model import SkipReason
from findspot.discover.file_content import content_skip, decode, extension, is_minified

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
CODE = b"def area(radius):\n    return 3.14 * radius ** 2\n"


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.py", b"", SkipReason.EMPTY),
        ("a.py", b" \n\t\r\n", SkipReason.EMPTY),
        ("a.py", b"\xef\xbb\xbf\n", SkipReason.EMPTY),
        ("a.py", b"x = 1\0", SkipReason.BINARY),
        ("a", b"\x7fELF\x02\x01\x01\0\0", SkipReason.BINARY),
        ("a.txt", b"\xff\xfe\0", SkipReason.BINARY),
        ("a.txt", b"\xff\xfe" + b"\0" * 100, SkipReason.BINARY),
        ("model.py", LFS, SkipReason.LFS_POINTER),
        ("a.py", CODE, None),
        ("a.js", b"var a=1;" * 500, None),
        ("a.py", b"x" * 8192 + b"\n\0", None),
        ("a.cs", "class A {}\n".encode("utf-16"), None),
        ("a.cs", "class A {}\n".encode("utf-32"), None),
        ("a.c", "/* déjà vu */\n".encode("latin-1"), None),
        ("lfs.md", LFS + b"x" * 2_000, None),
    ],
)
def test_content_skip(path: str, data: bytes, reason: SkipReason | None) -> None:
    skip = content_skip(path, data)
    assert (skip and skip.reason) == reason
    assert skip is None or skip.path == path


@pytest.mark.parametrize(
    ("path", "data", "minified"),
    [
        ("a.js", b"var a=1;" * 500, True),
        ("a.css", (b"x{y:z}" * 80 + b"\n") * 20, True),
        ("a.json", b'{"a":1},' * 2_000, True),
        ("data.xml", b"<a/>" * 1_250_000, True),
        ("table.py", b"T = '" + b"QUJD" * 5_000 + b"'\n", True),
        ("logo.py", CODE * 100 + b"T = '" + b"QUJD" * 5_000 + b"'\n", False),
        ("a.py", CODE, False),
        ("a.py", CODE * 1_000, False),
        ("a.js", b"import x from 'y';\n" * 500, False),
        ("small.js", b"var a=1;" * 100, False),
        ("a.json", b'{"a":1}', False),
        ("essay.md", b"A long paragraph without an end. " * 500, False),
        ("book.ipynb", b'{"cells": "' + b"x" * 50_000 + b'"}', False),
        *((f"lib/{name}", CODE, True) for name in ("a.min.js", "a-min.css", "a.js.map", "a.min.json")),
        *((name, CODE, False) for name in ("site.map", "min.js", "a.min.py", "minimum.css")),
    ],
)
def test_minified(path: str, data: bytes, minified: bool) -> None:
    assert is_minified(path, data) is minified


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("naïve\n".encode(), "naïve\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("größe".encode("utf-16"), "größe"),
        ("größe".encode("utf-16-be"), "\0g\0r\0ö\0\xdf\0e"),
        (b"\xfe\xff" + "größe".encode("utf-16-be"), "größe"),
        ("größe".encode("utf-32"), "größe"),
        ("größe".encode("latin-1"), "größe"),
        (b"\xff\xfe\xff", "ÿþÿ"),
        (b"", ""),
        (b"a\r\nb", "a\r\nb"),
    ],
)
def test_decode(data: bytes, text: str) -> None:
    assert decode(data) == text


@pytest.mark.parametrize(
    ("name", "kind"), [("a.PY", "py"), ("a.tar.gz", "gz"), ("Makefile", ""), (".profile", ""), ("a.", "")]
)
def test_extension(name: str, kind: str) -> None:
    assert extension(name) == kind
