"""What the user agreed to, stored on this machine: nothing else is ever started or called.

`agreed.json` holds one agreement per server: a keyed hash of its command, arguments, working folder,
environment, address and headers, with the file and the name it was read from. An entry that is new or that
changed by one character has none. `sources.json` records how each index was last built. Both are in the home
folder, never beside the index: opening somebody's repository must not start the programs that it names.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.catalogue.client_configs import MissingVariableError, without_literals
from findspot.catalogue.server_sources import ServerSpec
from findspot.core.files import State, make_private_dir, read_json, state_of, write_json
from findspot.core.locks import writer_lock
from findspot.core.paths import agreements_file

_KEY_BYTES = 32
_PATIENCE_S = 30.0


class Agreements:
    """The agreements of one home folder."""

    def __init__(self, home: Path) -> None:
        self.path = agreements_file(home)
        self._state: State | None = None
        self._stored: dict[str, Any] = {}

    def holds(self, spec: ServerSpec) -> bool:
        """Return whether the user agreed to start exactly this."""
        return self.lacking([spec]) == []

    def lacking(self, specs: Iterable[ServerSpec]) -> list[ServerSpec]:
        """Return the servers that the user has not agreed to start as they are now."""
        stored = self._current()
        return [spec for spec in specs if not _is_agreed(stored, spec)]

    def is_known(self, spec: ServerSpec) -> bool:
        """Return whether the user agreed to another version of this entry before."""
        return spec.name in self._read()["servers"].get(str(spec.source), {})

    def sources(self, name: str) -> list[Path]:
        """Return the configurations from which the user agreed to a server of this name."""
        return [Path(source) for source, names in self._read()["servers"].items() if name in names]

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

    def remove(self, spec: ServerSpec) -> None:
        """Forget that the user agreed to start a server."""
        with writer_lock(self.path.with_suffix(".lock"), _PATIENCE_S):
            stored = self._read()
            if stored["servers"].get(str(spec.source), {}).pop(spec.name, None):
                write_json(self.path, stored)

    def allows_sampling(self, spec: ServerSpec) -> bool:
        """Return whether the user lets exactly this server ask the language model of whoever calls it."""
        stored = self._current()
        return _is_agreed(stored, spec) and _digest(stored["key"], spec.launch) in stored["sampling"]

    def allow_sampling(self, spec: ServerSpec, allowed: bool) -> None:
        """Store whether a server that was agreed to may ask the language model of whoever calls it."""
        with writer_lock(self.path.with_suffix(".lock"), _PATIENCE_S):
            stored = self._read()
            digest = _digest(stored["key"], spec.launch)
            others = [other for other in stored["sampling"] if other != digest]
            write_json(self.path, stored | {"sampling": [*others, digest] if allowed else others})

    def digest(self, spec: ServerSpec) -> str:
        """Return a hash of the values that a server gets, with variables expanded."""
        try:
            launch = spec.expanded().launch
        except MissingVariableError:
            launch = spec.launch
        key = self._read()["key"]
        return _digest(key, launch) if key else ""

    def _current(self) -> dict[str, Any]:
        """Return what is stored, to be read only; the file is read when it has changed."""
        state = state_of(self.path)
        if state is None or state != self._state:
            self._stored, self._state = self._read(), state
        return self._stored

    def _read(self) -> dict[str, Any]:
        """Return what is stored; no agreements if it is unusable."""
        try:
            stored = read_json(self.path)
            key, servers = stored["key"], stored["servers"]
            if isinstance(key, str) and all(isinstance(names, dict) for names in servers.values()):
                return {"key": key, "servers": servers, "sampling": list(stored.get("sampling", ()))}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return {"key": "", "servers": {}, "sampling": []}


def _is_agreed(stored: dict[str, Any], spec: ServerSpec) -> bool:
    agreed = stored["servers"].get(str(spec.source), {}).get(spec.name)
    return isinstance(agreed, str) and hmac.compare_digest(agreed, _digest(stored["key"], spec.launch))


def _digest(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


_SHOWN_CHARS, _SHOWN_TAIL_CHARS = 4_000, 1_000

_TELLING = re.compile(
    r"\w*PATH|PATHEXT|(?:LD|DYLD)_\w+|PYTHON\w+|PERL5\w+|RUBY(?:OPT|LIB)|\w*_OPTIONS|\w*_PROXY|\w*_HOME|HOME"
    r"|(?:BASH_)?ENV|SHELL|COMSPEC|EDITOR|VISUAL|PAGER|PROMPT_COMMAND|GOFLAGS|RUSTC_WRAPPER|DOCKER_HOST"
    r"|GIT_(?:SSH|SSH_COMMAND|ASKPASS|EDITOR|PAGER|CONFIG|CONFIG_GLOBAL|CONFIG_SYSTEM)|DOTNET_STARTUP_HOOKS"
    r"|(?:NPM_CONFIG|PIP|UV)_\w*(?:REGISTRY|INDEX|URL)|\w*(?:CA_CERTS|CERT_FILE|CA_BUNDLE)",
    re.IGNORECASE,
)
"""Variables that decide which code runs or whom it talks to: their values are shown."""


def description(spec: ServerSpec) -> list[str]:
    """Return what the user agrees to, in lines: the name, what is run or called, where, and with what.

    Of values only the references to variables are shown, apart from variables that change what runs.
    """
    lines = [spec.name, f"  {'runs' if spec.url is None else 'calls'}: {_shortened(command_line(spec))}"]
    lines += [f"  in: {_shortened(str(spec.working_folder))}"] if spec.url is None else []
    given = spec.env if spec.url is None else spec.headers
    lines += [f"  with: {_values(given)}"] if given else []
    lines += [f"  login: {_values(spec.oauth, shown='authorizationServer')}"] if spec.oauth else []
    if spec.env_file:
        values = "cannot be read" if spec.file_env is None else _values(spec.file_env) or "none"
        lines.append(f"  with the variables of {_shortened(spec.env_file)}: {values}")
    return lines


def command_line(spec: ServerSpec) -> str:
    """Return the command or the address of a server on one line, secrets masked."""
    from findspot.discover.secrets import masked

    return masked(spec.url if spec.url is not None else shlex.join([spec.command or "", *spec.args]))


def _values(given: Mapping[str, str], shown: str = "") -> str:
    """Return variables or headers, those first whose values are shown."""
    from findspot.discover.secrets import masked

    values = {
        name: masked(value) if name == shown or _TELLING.fullmatch(name) else without_literals(value)
        for name, value in given.items()
    }
    order = sorted(values, key=lambda name: (set(values[name]) <= {"…"}, not _TELLING.fullmatch(name), name))
    return _shortened(", ".join(f"{name}={values[name]}" for name in order))


def _shortened(text: str) -> str:
    """Return a text whole up to a limit, else its two ends and how much is hidden between them."""
    hidden = len(text) - _SHOWN_CHARS
    if hidden <= 0:
        return text
    head, tail = text[: _SHOWN_CHARS - _SHOWN_TAIL_CHARS], text[-_SHOWN_TAIL_CHARS:]
    return f"{head} [… {hidden:,} characters are hidden here …] {tail}"


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
    errors: Mapping[str, str] = field(default_factory=dict)
    """Server → why it did not answer when it was last asked."""


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
            errors=dict(about.get("errors", {})),
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
        "errors": dict(record.errors),
    }
    make_private_dir(path.parent)
    write_json(path, _stored(home) | {str(index): about})


def _stored(home: Path) -> dict[str, Any]:
    try:
        stored = read_json(build_records_file(home))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}
