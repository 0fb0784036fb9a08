"""A file for bug reports: versions, settings, findings and the log; no source text and no secrets.

Everything goes through one `Scrubber`. Of a traceback only places and the kind of error are kept: a
message may quote what was being read.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.files import replacing
from findspot.core.log import RECORD
from findspot.core.setting_keys import KEYS
from findspot.core.settings import Settings
from findspot.discover.secrets import NAMES_OF_SECRETS, redacted
from findspot.discover.secrets import REMOVED as GONE

if TYPE_CHECKING:
    from findspot.core.model import IndexStatus
    from findspot.serve.cli.doctor import Check

_LEAST_SECRET_CHARS = 6
"""Shorter values are words like `true`, which every text holds."""
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_QUERY = re.compile(r"(https?://[^\s?\"']+)\?[^\s\"']+")
_QUOTE = re.compile(r"(?<!\w)(['\"`])(?:(?!\1).)*(\1|$)")
_MOST_QUOTED = 60
"""A message that quotes more, or beyond its line, quotes a text rather than a name."""
_PLACE = re.compile(r'^\s+File "[^"]+", line \d+, in \S+$')
_KIND = re.compile(r"^([\w.]*(?:Error|Exception|Warning|Interrupt|Exit))(?::|$)")
_MOST_LINES = 2_000
_MOST_CHARS = 400

README = """\
Made by `findspot doctor --bundle` for a bug report. It holds versions, settings without secrets, the
findings of the doctor, figures of the indexes, and the last lines of the log. It holds no text of your
files and no secrets; names of files may stand in the log. Look through it before you send it.
"""


class Scrubber:
    """Removes secrets and personal paths from texts."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._secrets = sorted(_secret_values(settings, environ), key=len, reverse=True)
        self._home = str(Path.home())

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, GONE)
        text = redacted(text)
        text = _QUERY.sub(rf"\1?{GONE}", _CREDENTIALS.sub(f"{GONE}@", text))
        return text.replace(self._home, "~") if len(self._home) > 1 else text

    def values(self, value: Any) -> Any:
        """Return a value with every text in it scrubbed."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {self(str(name)): self.values(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.values(inner) for inner in value]
        return value

    def log(self, lines: Iterable[str]) -> list[str]:
        """Return log lines that say what happened, without the text it happened with."""
        return [self(line) for line in map(_bare, lines) if line]


def _secret_values(settings: Settings, environ: Mapping[str, str]) -> set[str]:
    named = {value for name, value in environ.items() if NAMES_OF_SECRETS.search(name)}
    named |= {str(settings.values[key.name]) for key in KEYS if NAMES_OF_SECRETS.search(key.name)}
    return {value for value in named if len(value) >= _LEAST_SECRET_CHARS}


def _bare(line: str) -> str:
    """Return a record without long quotations; of a traceback only the locations and the kind of error."""
    if RECORD.match(line):
        return _QUOTE.sub(_short, line)[:_MOST_CHARS]
    if _PLACE.match(line):
        return line[:_MOST_CHARS]
    kind = _KIND.match(line)
    return kind[1] if kind else ""


def _short(quote: re.Match[str]) -> str:
    return quote[0] if quote[2] and len(quote[0]) <= _MOST_QUOTED else GONE


def write_bundle(
    path: Path,
    checks: Sequence[Check],
    settings: Settings,
    indexes: Sequence[tuple[str, IndexStatus]],
    log: Sequence[str],
) -> list[str]:
    """Write the zip file; returns the names of what is in it."""
    scrub = Scrubber(settings)
    parts = {
        "README.txt": README,
        "checks.json": _json(scrub.values([_check(check) for check in checks])),
        "versions.json": _json(_versions()),
        "settings.json": _json(scrub.values(_settings(settings))),
        "indexes.json": _json(scrub.values([_index(identity, status) for identity, status in indexes])),
        "findspot.log": "\n".join(scrub.log(log[-_MOST_LINES:])) + "\n",
    }
    with replacing(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in parts.items():
            bundle.writestr(name, text)
    return list(parts)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _check(check: Check) -> dict[str, str]:
    return {"name": check.name, "state": check.state, "text": check.text, "remedy": check.remedy}


def _versions() -> dict[str, str]:
    versions = {str(dist.metadata["Name"]): dist.version for dist in metadata.distributions()}
    return dict(sorted(versions.items()))


def _settings(settings: Settings) -> dict[str, Any]:
    """Return the settings and their sources; of a secret only that it is set."""
    values = {
        name: GONE if NAMES_OF_SECRETS.search(name) and value else value
        for name, value in settings.values.items()
    }
    return {"values": values, "sources": settings.sources, "warnings": settings.warnings}


def _index(identity: str, status: IndexStatus) -> dict[str, Any]:
    """Return the figures of an index alone: names are not needed to help."""
    return {
        "id": identity,
        "state": status.state,
        "files": status.total_files,
        "chunks": status.total_chunks,
        "bytes": status.storage_bytes,
        "updated": status.last_updated,
        "model": status.model,
        "strategy": status.strategy,
        "skipped": status.skipped,
        "lastError": (status.last_error or "").partition(":")[0] or None,
    }
