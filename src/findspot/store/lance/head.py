"""The commit point of an index in LanceDB: one row that names the version of every table.

A reader takes the versions that this row names and nothing else, so whatever a writer has
added since is not there for anyone until the row is exchanged.

LANCE_FORMAT
    1   0.2.0   chunks by corpus, files, references, skips, head
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field, fields

from findspot.core.errors import IndexCorruptError, IndexFormatError

LANCE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Head:
    """One commit."""

    generation: int
    """How often the row was exchanged: who finds another number than it read has lost."""
    commit: str
    """Names the content: equal names mean equal rows."""
    epoch: str
    """Changes when vectors were renewed under the numbers of files: nothing held before is of use."""
    tables: dict[str, int]
    meta: dict[str, str] = field(default_factory=dict)
    last_file: int = 0
    """The highest number ever given to a file."""
    skips: str = ""
    """What tells one list of skips from another."""
    untidy: int = 0
    """Commits since small fragments were last put together."""
    foreign: bool = False
    """Whether the tables are still those of another program, with the specification's fields only."""

    def state(self) -> str:
        """Return all but the generation, as it is written."""
        held = asdict(self)
        del held["generation"]
        return json.dumps(held)


def first_head(tables: dict[str, int], *, foreign: bool = False) -> Head:
    """Of an index that is only being made, or of one that another program made."""
    return Head(0, new_name(), new_name(), tables, foreign=foreign)


def new_name() -> str:
    return uuid.uuid4().hex


def read_head(generation: int, version: int, state: str) -> Head:
    """Return a head as it was written; one of a newer format is refused."""
    if version > LANCE_FORMAT:
        raise IndexFormatError(version, LANCE_FORMAT)
    known = {item.name for item in fields(Head)}
    try:
        held = {name: value for name, value in json.loads(state).items() if name in known}
        return Head(generation=generation, **held)
    except (ValueError, TypeError, AttributeError) as error:
        raise IndexCorruptError(f"head: {error}") from error
