"""What the user agreed to, stored on this machine: nothing else is ever started or called.

`agreed.json` holds one agreement per server: a keyed hash of its command, arguments, working folder,
environment, address and headers, with the file and the name it was read from. An entry that is new or that
changed by one character has none. `sources.json` records how each index was last built. Both are in the home
folder, never beside the index: opening somebody's repository must not start the programs that it names.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.catalogue.server_sources import MissingVariableError, ServerSpec, read_sources
from findspot.catalogue.toolset import State, state_of
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir, read_json, write_json
from findspot.core.locks import writer_lock

_KEY_BYTES = 32
_PATIENCE_S = 30.0


class Agreements:
    """The agreements of one home folder."""

    def __init__(self, home: Path) -> None:
        self.path = home / "catalogues" / "agreed.json"

    def holds(self, spec: ServerSpec) -> bool:
        """Return whether the user agreed to start exactly this."""
        return self.lacking([spec]) == []

    def lacking(self, specs: Iterable[ServerSpec]) -> list[ServerSpec]:
        """Return the servers that the user has not agreed to start as they are now."""
        stored = self._read()
        return [spec for spec in specs if not _is_agreed(stored, spec)]

    def is_known(self, spec: ServerSpec) -> bool:
        """Return whether the user agreed to another version of this entry before."""
        return spec.name in self._read()["servers"].get(str(spec.source), {})

    def add(self, specs: Iterable[ServerSpec]) -> None:
        """Store that the user agreed to start these servers."""
        make_private_dir(self.path.parent)
        with writer_lock(self.path.with_suffix(".lock"), _PATIENCE_S):
            stored = self._read()
            stored["key"] = stored["key"] or secrets.token_hex(_KEY_BYTES)
            for spec in specs:
                agreed = stored["servers"].setdefault(str(spec.source), {})
                agreed[spec.name] = _digest(stored["key"], spec.launch)
            write_json(self.path, stored)

    def digest(self, spec: ServerSpec) -> str:
        """Return a hash of the values that a server gets, with variables expanded."""
        try:
            launch = spec.expanded().launch
        except MissingVariableError:
            launch = spec.launch
        key = self._read()["key"]
        return _digest(key, launch) if key else ""

    def _read(self) -> dict[str, Any]:
        """Return what is stored; no agreements if it is unusable."""
        try:
            stored = read_json(self.path)
            key, servers = stored["key"], stored["servers"]
            if isinstance(key, str) and all(isinstance(names, dict) for names in servers.values()):
                return {"key": key, "servers": servers}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return {"key": "", "servers": {}}


def _is_agreed(stored: dict[str, Any], spec: ServerSpec) -> bool:
    agreed = stored["servers"].get(str(spec.source), {}).get(spec.name)
    return isinstance(agreed, str) and hmac.compare_digest(agreed, _digest(stored["key"], spec.launch))


def _digest(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """How an index was last built."""

    files: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """Each file that was named, with the servers that it named."""
    exclude: tuple[str, ...] = ()
    follow: bool = False
    """Whether to follow the servers while serving."""
    provider: str | None = None
    """The embedding provider that the user chose for it."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Server → a hash of the values it got when it was last asked."""


def build_records_file(home: Path) -> Path:
    """Return the file that records how each index was built."""
    return home / "catalogues" / "sources.json"


def read_build_record(home: Path, index: Path) -> BuildRecord:
    """Return how an index was last built; an empty record if that is unknown."""
    try:
        about = _stored(home)[str(index)]
        if "sources" in about:  # version 0.1.0, which followed servers by default
            return BuildRecord({Path(path): () for path in about["sources"]}, tuple(about["exclude"]))
        return BuildRecord(
            files={Path(path): tuple(map(str, names)) for path, names in about["files"].items()},
            exclude=tuple(map(str, about["exclude"])),
            follow=about["following"] is True,
            provider=about["provider"],
            digests=dict(about["digests"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return BuildRecord()


def write_build_record(home: Path, index: Path, record: BuildRecord) -> None:
    """Record how an index was built."""
    path = build_records_file(home)
    about = {
        "files": {str(source): list(names) for source, names in record.files.items()},
        "exclude": list(record.exclude),
        "following": record.follow,
        "provider": record.provider,
        "digests": dict(record.digests),
    }
    make_private_dir(path.parent)
    write_json(path, _stored(home) | {str(index): about})


def _stored(home: Path) -> dict[str, Any]:
    try:
        stored = read_json(build_records_file(home))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


_CONFIGURATION_BYTES = 1 << 20
"""A larger file is a list of tools: it is not read at every change only to look for servers."""

_NAMED = 10
_NAME_CHARS = 60


class Notice:
    """Names the servers that a catalogue leaves out because nobody agreed to start them.

    The configurations of its index files are read again whenever one of them changes.
    """

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
                records = [read_build_record(self._home, index) for index in self._indexes]
                self._files = [file for record in records for file in record.files]
                self._state = self._seen()
                self._text = self._warning([spec for record in records for spec in self._lacking(record)])
            return self._text

    def _seen(self) -> list[State | None]:
        return [
            state_of(path) for path in (build_records_file(self._home), self._agreements.path, *self._files)
        ]

    def _lacking(self, record: BuildRecord) -> list[ServerSpec]:
        lacking: list[ServerSpec] = []
        for file in record.files:
            try:
                read = read_sources([file], _CONFIGURATION_BYTES).without(record.exclude)
            except FindspotError:  # a missing or broken file starts nothing
                continue
            lacking += self._agreements.lacking(read.servers)
        return lacking

    def _warning(self, lacking: Sequence[ServerSpec]) -> str | None:
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
