"""Offline documentation: what is read of folders and archives, and what is not."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.dependencies.document_sets import add_set, list_sets, remove_set
from findspot.dependencies.document_text import text_of_html, text_of_info, text_of_manual

PAGE = (
    "<html><head><title>x</title><style>p{}</style></head><body><nav>Menu</nav><h1>Dates</h1>"
    "<p>Parse&nbsp;a <b>date</b>\n from text.</p><pre>parse('1')\n  x</pre>"
    "<script>run()</script></body></html>"
)


def test_a_page_becomes_text() -> None:
    text = text_of_html(PAGE)
    assert text.startswith("# Dates\n\nParse a date from text.")
    assert "```\nparse('1')\n  x\n```" in text
    assert "Menu" not in text
    assert "run()" not in text


def test_a_manual_page_becomes_text() -> None:
    head = '.\\" comment\n.TH SORT 1\n.SH NAME\nsort \\- sort lines\n.SH "OPTIONS LIST"\n'
    page = head + ".TP\n\\fB\\-r\\fR\nreverse\n"
    text = text_of_manual(page, "sort(1)")
    assert text == "# sort(1)\n\n## NAME\n\nsort - sort lines\n\n## OPTIONS LIST\n\n-r\nreverse\n"


def test_an_info_file_becomes_text() -> None:
    assert text_of_info("\x1f\nFile: a.info,  Node: Top,  Up: (dir)\n\nHello.\n") == "## Top\n\nHello.\n"


def test_a_folder_is_added_and_removed(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    (source / "guide").mkdir(parents=True)
    (source / "guide" / "dates.html").write_text(PAGE)
    (source / "sort.1.gz").write_bytes(gzip.compress(b".SH NAME\nsort \\- sort lines\n"))
    (source / "plain.md").write_text("# Plain\n\nText.\n")
    (source / "picture.png").write_bytes(b"\x89PNG")
    (source / "broken.2.gz").write_bytes(b"not packed")
    (tmp_path / "secret.md").write_text("secret")
    if os.name != "nt":
        (source / "link.md").symlink_to(tmp_path / "secret.md")
    added, count = add_set(tmp_path / "home", str(source), "manuals", "1.0")
    assert (added.label, count) == ("docs/manuals@1.0", 3)
    assert added.folder is not None
    found = sorted(path.relative_to(added.folder).as_posix() for path in added.folder.rglob("*.md"))
    assert found == ["guide/dates.html.md", "plain.md", "sort.1.md"]
    assert list_sets(tmp_path / "home") == [added]
    assert remove_set(tmp_path / "home", "manuals@1.0")
    assert not remove_set(tmp_path / "home", "manuals")


def test_archives_write_nowhere_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    packed = tmp_path / "set.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("good.md", "../../outside.md", "/absolute.md", "a/../../b.md", "c:\\d.md"):
            archive.writestr(name, "text")
    assert add_set(home, str(packed), "zipped", "1")[1] == 1
    tarred = tmp_path / "set.tar.gz"
    with tarfile.open(tarred, "w:gz") as files:
        for name, kind in (
            ("good.md", tarfile.REGTYPE),
            ("link.md", tarfile.SYMTYPE),
            ("../up.md", tarfile.REGTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size = (
                kind,
                "/etc/passwd",
                4 if kind == tarfile.REGTYPE else 0,
            )
            files.addfile(member, io.BytesIO(b"text"))
    added, count = add_set(home, str(tarred), "tarred", "1")
    assert count == 1
    assert not list(tmp_path.glob("*.md"))
    assert [path.name for path in (added.folder or home).iterdir()] == ["good.md"]


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        ("missing", "x", "There is no folder or archive"),
        ("empty", "x", "no documents"),
        ("empty", "../x", "cannot be"),
    ],
)
def test_what_cannot_be_added_is_said(tmp_path: Path, source: str, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgumentError, match=said):
        add_set(tmp_path / "home", str(tmp_path / source), name, "1")


def test_a_set_that_cannot_be_read_leaves_the_old_one(tmp_path: Path) -> None:
    home, packed = tmp_path / "home", tmp_path / "set.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("a", "a/b.md", "a/b.md/c.md", "x" * 300 + ".md", "good.md", "a.md"):
            archive.writestr(name, "text")
    added, count = add_set(home, str(packed), "kept", "1")
    assert count == 3
    packed.write_bytes(packed.read_bytes()[:-40])
    with pytest.raises(InvalidArgumentError):
        add_set(home, str(packed), "kept", "1")
    assert [each.label for each in list_sets(home)] == [added.label]
    assert (added.folder or home).joinpath("good.md").read_text() == "text"


def test_an_archive_makes_no_folder_outside(tmp_path: Path) -> None:
    tarred = tmp_path / "set.tar"
    with tarfile.open(tarred, "w") as files:
        for name in (f".//{tmp_path}/made/q.md", "good.md"):
            member = tarfile.TarInfo(name)
            member.size = 4
            files.addfile(member, io.BytesIO(b"text"))
    add_set(tmp_path / "home", str(tarred), "tarred", "1")
    assert not (tmp_path / "made").exists()
