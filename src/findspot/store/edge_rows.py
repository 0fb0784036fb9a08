"""The resolved references of files: derived from their facts, and stored so that a question need not resolve.

A file is `pending` while its references are not resolved: it is new, or something that it mentions
means something else since. Its edges are missing until then, or those of an earlier time.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping
from zlib import crc32

from findspot.core.sqlite import Connection, uses_log

PEND_ALL = "INSERT OR IGNORE INTO pending SELECT file_id FROM facts"


_MANY_ROWS = 100_000
"""Rows of a transaction: each one writes most pages of the table again. A row has about 100 bytes."""


class EdgeRows:
    """The resolved references of an index, for readers and for its writer."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self._waiting: dict[int, Mapping[int, bytes]] = {}
        """The edges of files that are not stored yet, by target. They are stored in the order of their
        targets, so that neighbours are on the same page."""
        self._unsaved = 0

    def pending(self) -> set[int]:
        """Return the numbers of the files whose references are not resolved."""
        return {row[0] for row in self.db.execute("SELECT file_id FROM pending")}

    def to(self, target: int) -> list[tuple[int, bytes]]:
        """Return the edges that lead to a target, by the number of the file that they start in."""
        select = "SELECT file_id, data FROM edges WHERE target = ? ORDER BY file_id"
        return self.db.execute(select, (target,)).fetchall()

    def sources(self, file_id: int) -> bytes:
        select = "SELECT sources FROM edge_sources WHERE file_id = ?"
        return bytes(self.db.execute(select, (file_id,)).fetchone()[0])

    def of_file(self, file_id: int) -> tuple[bytes, dict[int, bytes]]:
        """Return where the edges of a file start, and the edges by target; nothing while it is pending."""
        select = "SELECT sources, targets FROM edge_sources WHERE file_id = ?"
        row = self.db.execute(select, (file_id,)).fetchone()
        select = "SELECT data FROM edges WHERE target = ? AND file_id = ?"
        found = {
            t: self.db.execute(select, (t, file_id)).fetchone() for t in array("q", row[1] if row else b"")
        }
        return (row[0] if row else b""), {target: data[0] for target, data in found.items() if data}

    def digests(self) -> dict[int, int]:
        found: dict[int, int] = defaultdict(int)
        for target, file_id, data in self.db.execute("SELECT target, file_id, data FROM edges"):
            found[file_id] = (found[file_id] + crc32(data, target & 0xFFFFFFFF)) & 0xFFFFFFFFFFFF
        return found

    def put(self, file_id: int, sources: bytes, edges: Mapping[int, bytes]) -> None:
        """Store the edges of a file by target: the file is no longer pending."""
        self.drop(file_id)
        targets = array("q", edges).tobytes()
        self.db.execute("INSERT INTO edge_sources VALUES (?,?,?)", (file_id, sources, targets))
        self._waiting[file_id] = edges
        self._unsaved += 1 + len(edges)

    def save_many(self) -> None:
        """Commit and begin again once many rows were put: a killed run has these, and the log stays short.

        Without a log nothing can be committed while another process reads.
        """
        if self._unsaved <= _MANY_ROWS:
            return
        self._store()
        if uses_log(self.db):
            self.db.execute("COMMIT")
            self.db.execute("BEGIN IMMEDIATE")

    def save(self) -> None:
        self._store()
        self.db.execute("COMMIT")

    def _store(self) -> None:
        files, self._waiting, self._unsaved = self._waiting, {}, 0
        rows = [(target, file_id, data) for file_id, edges in files.items() for target, data in edges.items()]
        self.db.executemany("INSERT INTO edges VALUES (?,?,?)", sorted(rows))

    def drop(self, file_id: int) -> None:
        self._waiting.pop(file_id, None)
        select = "SELECT targets FROM edge_sources WHERE file_id = ?"
        for (targets,) in self.db.execute(select, (file_id,)).fetchall():
            pairs = ((target, file_id) for target in array("q", targets))
            self.db.executemany("DELETE FROM edges WHERE target = ? AND file_id = ?", pairs)
        self.db.execute("DELETE FROM edge_sources WHERE file_id = ?", (file_id,))
        self.db.execute("DELETE FROM pending WHERE file_id = ?", (file_id,))

    def clear(self) -> None:
        """Delete all edges: every file is pending."""
        self.db.execute("DELETE FROM edges")
        self.db.execute("DELETE FROM edge_sources")
        self.db.execute(PEND_ALL)
