"""What a catalogue leaves out because nobody has agreed to start it, said in every answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from findspot.catalogue.consent import Agreements
from findspot.catalogue.kept import State, state_of
from findspot.catalogue.memory import Remembered, memory_file, recall
from findspot.catalogue.sources import ServerSpec, read_sources
from findspot.core.errors import FindspotError

_CONFIGURATION_BYTES = 1 << 20
"""A larger file is a list of tools: it is not read at every change only to look for servers."""

_NAMED = 10
_NAME_CHARS = 60


class Notice:
    """Looks at the configurations of some index files again whenever one of them changes."""

    def __init__(self, home: Path, indexes: Sequence[Path]) -> None:
        self._home = home
        self._indexes = indexes
        self._agreements = Agreements(home)
        self._guard = threading.Lock()
        self._state: list[State | None] = []
        self._files: list[Path] = []
        self._text: str | None = None

    def text(self) -> str | None:
        """Return a warning that names new and changed servers, or None where there are none."""
        with self._guard:
            if self._seen() != self._state or not self._state:
                memories = [recall(self._home, index) for index in self._indexes]
                self._files = [file for memory in memories for file in memory.files]
                self._state = self._seen()
                self._text = self._worded([spec for memory in memories for spec in self._lacking(memory)])
            return self._text

    def _seen(self) -> list[State | None]:
        return [state_of(path) for path in (memory_file(self._home), self._agreements.path, *self._files)]

    def _lacking(self, memory: Remembered) -> list[ServerSpec]:
        lacking: list[ServerSpec] = []
        for file in memory.files:
            try:
                read = read_sources([file], _CONFIGURATION_BYTES).without(memory.exclude)
            except FindspotError:  # one that is gone or broken starts nothing
                continue
            lacking += self._agreements.lacking(read.servers)
        return lacking

    def _worded(self, lacking: Sequence[ServerSpec]) -> str | None:
        if not lacking:
            return None
        names = [
            f"{' '.join(spec.name.split())[:_NAME_CHARS]} "
            f"({'changed' if self._agreements.is_known(spec) else 'new'})"
            for spec in lacking[:_NAMED]
        ]
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        return (
            f"Servers were not started, since the user has not agreed to them as they are now: "
            f"{', '.join(names)}{more}. `findspot tools index` shows what they run and asks."
        )
