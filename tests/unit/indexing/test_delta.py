"""What counts as unchanged without being read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from findspot.core.files import content_hash
from findspot.core.model import Corpus, SourceFile, Stamp
from findspot.indexing.delta import Delta, compare, split_by_content
from findspot.store.records import KnownFiles, StoredFile

FILE = SourceFile("a.py", Corpus.CODE, "python", 10, 1_000, 2_000, 77)
LATER = 10**18


def known(file: SourceFile) -> KnownFiles:
    stored = StoredFile(1, file.path, file.corpus, file.language, file.size, file.mtime_ns, "x", 1)
    return KnownFiles({file.path: stored._replace(ctime_ns=file.ctime_ns, inode=file.inode)}, {})


def changed(now: SourceFile, before: KnownFiles, indexed_at: int = LATER) -> bool:
    return bool(compare([now], before, indexed_at, force=False).changed)


@pytest.mark.parametrize("field", ["size", "mtime_ns", "ctime_ns", "inode"])
def test_any_difference_of_the_stamp_is_looked_into(field: str) -> None:
    assert not changed(FILE, known(FILE))
    assert changed(replace(FILE, **{field: 3}), known(FILE))
    left_out = KnownFiles({}, {"a.py": FILE.stamp})
    assert not changed(FILE, left_out)
    assert changed(replace(FILE, **{field: 3}), left_out)


def test_what_is_unknown_is_not_compared() -> None:
    """As in an index that other machines share."""
    shared = replace(FILE, ctime_ns=0, inode=0)
    assert not changed(FILE, known(shared))
    assert changed(replace(FILE, size=3), known(shared))


def test_a_change_of_any_kind_within_the_grain_of_the_clock_is_in_doubt() -> None:
    assert changed(FILE, known(FILE), indexed_at=FILE.ctime_ns)


def test_a_number_on_disk_fits_into_a_database(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    stamp = Stamp.of((tmp_path / "a").stat())
    assert stamp.size == 1
    assert 0 <= stamp.inode < 2**63


def test_few_files_in_doubt_are_compared_by_content(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a = 1\nb = 2")
    file = replace(FILE, size=11)
    stored = known(file).indexed["a.py"]
    same = stored._replace(sha256=content_hash(b"a = 1\nb = 2"))
    for before in (None, stored, same._replace(language="ruby"), same._replace(size=12)):
        assert split_by_content(Delta([(file, before)]), tmp_path, 100, force=False) == ([], [(file, before)])
    assert split_by_content(Delta([(file, same)]), tmp_path, 100, force=False) == ([file], [])
    assert split_by_content(Delta([(file, same)]), tmp_path, 100, force=True) == ([], [(file, same)])
    many = Delta([(file, same)] * 100)
    assert split_by_content(many, tmp_path, 100, force=False) == ([], many.changed)
    (tmp_path / "a.py").unlink()
    assert split_by_content(Delta([(file, same)]), tmp_path, 100, force=False) == ([], [(file, same)])
