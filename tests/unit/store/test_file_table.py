"""The table of files: after a few changes it is what reading all files again would give."""

from __future__ import annotations

from findspot.store.derived import FileTable
from findspot.store.records import StoredFile


def _file(number: int, path: str) -> StoredFile:
    return StoredFile(number, path, "code", "python", 1, 1, "", 1)


def _state(table: FileTable) -> tuple[object, ...]:
    return table.files, table.by_id, list(table.by_path.items()), table.mask(table.files).tolist()


def test_a_table_with_newer_files_is_that_of_all_files() -> None:
    """speed 4: an edit in a project of many files copies the table instead of making it again."""
    table = FileTable([_file(1, "a.py"), _file(2, "b.py"), _file(3, "c.py")])
    assert table.with_newer([]).shape is table.shape
    replaced = table.with_newer([_file(4, "b.py")])
    assert replaced.shape is table.shape
    assert _state(replaced) == _state(FileTable([_file(1, "a.py"), _file(4, "b.py"), _file(3, "c.py")]))
    added = replaced.with_newer([_file(5, "aa.py")])
    assert added.shape is not table.shape
    assert list(added.by_path) == ["a.py", "aa.py", "b.py", "c.py"]
    assert table.by_path["b.py"] == 2
