"""What the files of code say about names, as it is stored: their facts, and the files of each name."""

from __future__ import annotations

from findspot.core.errors import IndexCorruptError
from findspot.core.facts import Facts, unpack
from findspot.core.sqlite import Connection

_LAST = 2**63 - 1
ALL_NUMBERS = 0, _LAST
"""The first and the last number that a file can have."""


class FactRows:
    def __init__(self, db: Connection) -> None:
        self._db = db

    def of_file(self, file_id: int) -> Facts | None:
        """Return the facts of a file; None for files that are not code."""
        try:
            data = self._packed(file_id)
            return unpack(data) if data else None
        except ValueError as error:
            raise IndexCorruptError(str(error)) from error

    def _packed(self, file_id: int) -> bytes | None:
        row = self._db.execute("SELECT data FROM facts WHERE file_id = ?", (file_id,)).fetchone()
        return row[0] if row else None

    def files_naming(self, name: str, first: int = 0, last: int = _LAST) -> list[tuple[int, int, int]]:
        """Return each file that defines or uses a name, by number, with how often it does; those of a range
        of numbers are found without reading the others.
        """
        select = (
            "SELECT file_id, defined, used FROM names WHERE name = ? AND file_id BETWEEN ? AND ? "
            "AND defined + used ORDER BY file_id"
        )
        return self._db.execute(select, (name, first, last)).fetchall()

    def files_defining(self, name: str, first: int = 0, last: int = _LAST) -> list[int]:
        """Return the numbers of the files that define a name, in the same way."""
        select = (
            "SELECT file_id FROM names WHERE name = ? AND file_id BETWEEN ? AND ? "
            "AND defined > 0 ORDER BY file_id"
        )
        return [row[0] for row in self._db.execute(select, (name, first, last))]

    def defined_names(self) -> list[str]:
        found = self._db.execute("SELECT DISTINCT name FROM names WHERE defined > 0 AND name NOT LIKE '% %'")
        return [row[0] for row in found]

    def is_defined(self, name: str) -> bool:
        """Return whether a name is one of the `defined_names`."""
        select = "SELECT 1 FROM names WHERE name = ? AND defined > 0 AND name NOT LIKE '% %' LIMIT 1"
        return self._db.execute(select, (name,)).fetchone() is not None

    def spellings(self, name: str) -> list[str]:
        """Return the defined names that differ from this one only by case."""
        select = "SELECT DISTINCT name FROM names WHERE name = ? COLLATE NOCASE AND defined > 0 ORDER BY name"
        return [row[0] for row in self._db.execute(select, (name,))]
