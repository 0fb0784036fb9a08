"""What the user agreed to start: nothing else is ever started or called.

An agreement is a keyed hash of a server's command, arguments, working folder, environment, address and
headers, kept in the home folder with the file and the name it was read from. An entry that is new, or that
changed by one character since, has none.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from findspot.catalogue.sources import MissingVariableError, ServerSpec
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
        """Return whether another form of this entry was agreed to before."""
        return spec.name in self._read()["servers"].get(str(spec.source), {})

    def add(self, specs: Iterable[ServerSpec]) -> None:
        """Remember that the user agreed to start these."""
        make_private_dir(self.path.parent)
        with writer_lock(self.path.with_suffix(".lock"), _PATIENCE_S):
            stored = self._read()
            stored["key"] = stored["key"] or secrets.token_hex(_KEY_BYTES)
            for spec in specs:
                agreed = stored["servers"].setdefault(str(spec.source), {})
                agreed[spec.name] = _digest(stored["key"], spec.launch)
            write_json(self.path, stored)

    def digest(self, spec: ServerSpec) -> str:
        """Return a hash that changes with the values that a server is given, variables expanded."""
        try:
            launch = spec.expanded().launch
        except MissingVariableError:
            launch = spec.launch
        key = self._read()["key"]
        return _digest(key, launch) if key else ""

    def _read(self) -> dict[str, Any]:
        """Return what is stored; where that is unusable, nothing was agreed to."""
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
