"""The resolved references of files: derived from their facts, and stored so that a question need not resolve.

A file is `pending` while its references are not resolved: it is new, or something that it mentions
means something else since. Questions resolve the references of pending files themselves.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from findspot.core.sqlite import Connection, uses_log

EDGE_TABLES = """
CREATE TABLE edges (
    target  INTEGER NOT NULL,    -- a hash of the id of what is referred to
    file_id INTEGER NOT NULL,    -- the file that refers to it
    data    BLOB NOT NULL,       -- where and how: `graph.stored_edges`
    PRIMARY KEY (target, file_id)
) WITHOUT ROWID;

CREATE TABLE edge_sources (
    file_id INTEGER PRIMARY KEY,
    sources BLOB NOT NULL,       -- the definitions that its edges start at: `graph.stored_edges`
    targets BLOB NOT NULL        -- what its edges lead to, by which they are deleted
);

CREATE TABLE pending (
    file_id INTEGER PRIMARY KEY
);

INSERT INTO pending SELECT file_id FROM facts
"""

PEND_ALL = "INSERT OR IGNORE INTO pending SELECT file_id FROM facts"


_MANY = 50_000
"""Rows that one transaction stores, of about 100 bytes each."""


class EdgeRows:
    """The resolved references of an index, for readers and for its writer."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self._unsaved = 0

    def pending(self) -> set[int]:
        """Return the numbers of the files whose references are not resolved."""
        return {row[0] for row in self.db.execute("SELECT file_id FROM pending")}

    def to(self, target: int) -> list[tuple[int, bytes]]:
        """Return the edges that lead to a target, by the number of the file that they start in."""
        select = "SELECT file_id, data FROM edges WHERE target = ? ORDER BY file_id"
        return self.db.execute(select, (target,)).fetchall()

    def sources(self, file_id: int) -> bytes:
        """Return the definitions that the edges of a file start at."""
        select = "SELECT sources FROM edge_sources WHERE file_id = ?"
        return bytes(self.db.execute(select, (file_id,)).fetchone()[0])

    def put(self, file_id: int, sources: bytes, edges: Mapping[int, bytes]) -> None:
        """Store the edges of a file by target: the file is no longer pending."""
        self.drop(file_id)
        rows = ((target, file_id, data) for target, data in edges.items())
        self.db.executemany("INSERT INTO edges VALUES (?,?,?)", rows)
        targets = array("q", edges).tobytes()
        self.db.execute("INSERT INTO edge_sources VALUES (?,?,?)", (file_id, sources, targets))
        self._unsaved += 1 + len(edges)

    def save_many(self) -> None:
        """Commit and begin again once many rows were put: a killed run has these, and the log stays short.

        Without a log nothing can be committed while another process reads.
        """
        if self._unsaved > _MANY and uses_log(self.db):
            self.db.execute("COMMIT")
            self.db.execute("BEGIN IMMEDIATE")
            self._unsaved = 0

    def drop(self, file_id: int) -> None:
        """Delete the edges of a file."""
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
