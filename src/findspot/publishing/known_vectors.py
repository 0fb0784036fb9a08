"""Vectors out of a published index, for models that are slow or far away.

A chunk's key is a hash of the model and of all that is embedded of the chunk, so a vector is taken only for
the same text. Nothing else is taken: whoever can write to the address can make a chunk rank wrongly, and no
more. Whatever goes wrong is one note, and the model is asked as usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.git import read_checkout
from findspot.publishing.choosing import nearest
from findspot.publishing.published import PublishedIndex, Version
from findspot.store.lance.lance_snapshot import PublishedSnapshot


class PublishedVectors:
    """The vectors of the version at an address that is nearest to a checkout, file by file."""

    def __init__(self, address: str, root: Path, model: str) -> None:
        self._published = PublishedIndex(address)
        self._root, self._model = root, model
        self._trouble = ""
        self._files = 0

    def of_file(self, path: str) -> Mapping[bytes, tuple[float, bytes]]:
        """Return scale and vector by the keys of the file's chunks; nothing once something went wrong."""
        found: Mapping[bytes, tuple[float, bytes]] = {}
        try:
            found = {} if self._trouble else self._read(path)
        except FindspotError as error:
            self._trouble = error.user_message
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            self._trouble = f"its rows are not those of an index ({error!r})."
        self._files += bool(found)
        return found

    @property
    def note(self) -> str:
        """What a report says about it; nothing if no file was looked for."""
        if self._trouble:
            return f"Not all vectors could be taken from {self._published.address}: {self._trouble}"
        if not self._files:
            return ""
        version, _ = self._opened
        origin = f"{self._published.address} (commit {version.commit[:12]}, published {version.published_at})"
        return f"The vectors of {self._files:,} files were taken from {origin}."

    @cached_property
    def _opened(self) -> tuple[Version, PublishedSnapshot]:
        fitting = {e.version: e for e in self._published.entries() if e.version.model == self._model}
        version = nearest(fitting, read_checkout(self._root))
        if version is None:
            raise InvalidArgumentError(f"nothing is published there that was made with {self._model}.")
        return version, self._published.snapshot(fitting[version])

    def _read(self, path: str) -> dict[bytes, tuple[float, bytes]]:
        _, snapshot = self._opened
        file = snapshot.files.find(path)
        dimensions = int(self._model.rpartition("/")[2])
        return {
            bytes.fromhex(packed.described[-1]): (packed.scale, packed.vector.tobytes())
            for packed in (snapshot.rows.of_file(file) if file else ())
            if packed.vector.size == dimensions and math.isfinite(packed.scale)
        }
