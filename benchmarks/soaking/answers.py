"""What an index answers, in a form that two indexes can be compared in."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from findspot import Project, Query

QUERIES = (
    "how is an error handled",
    "parse the arguments",
    "open a connection",
    "test of a value",
    "version",
)

Held = tuple[list[tuple[Any, ...]], list[list[tuple[Any, ...]]]]


def held(project: Project) -> Held:
    """Every file with its chunks, and the answers to a few questions."""
    with project.store.snapshot() as snapshot:
        files = [
            (
                file.path,
                file.sha256,
                [(c.start_line, c.end_line, c.text) for c in snapshot.chunks.of_file(file.path)],
            )
            for file in snapshot.files.files
        ]
    answers = [
        [(hit.path, hit.span, hit.text) for hit in project.search(Query(query)).hits] for query in QUERIES
    ]
    return files, answers


def rebuilt(root: Path) -> Held:
    """The same of an index built from nothing."""
    before = os.environ["FINDSPOT_HOME"]
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        try:
            project = Project(root)
            project.update()
            try:
                return held(project)
            finally:
                project.close()
        finally:
            os.environ["FINDSPOT_HOME"] = before
