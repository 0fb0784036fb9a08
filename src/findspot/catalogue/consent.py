"""What the user agreed to, stored on this machine: nothing else is ever started or called.

`agreed.json` holds one agreement per server: a keyed hash of its command, arguments, working folder,
environment, address, headers and lists of tools, with its name, its file and the project, if any, for which
that was read. An entry that is new or that changed by one character has none. Beside it is a hash of each
tool as the server described it first: a tool that is new or another since then is called only after a
question. `sources.json` records how each index was last built. Both are in the home folder, never beside the
index: opening somebody's repository must not start the programs that it names.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from findspot.catalogue.client_configs import without_literals
from findspot.catalogue.indexfile import definition_object
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import MAX_DESCRIPTION_CHARS, ToolDefinition
from findspot.core.files import State, make_private_dir, read_json, state_of, write_json
from findspot.core.locks import writer_lock

_KEY_BYTES = 32
_PATIENCE_S = 30.0

CHANGED_TOOL = "New or changed since the user agreed to its server: a call asks the user first"


class HomeFile:
    """A small JSON file in the home folder; a damaged one counts as empty."""

    def __init__(self, path: Path, checked: Callable[[Any], dict[str, Any]] = dict) -> None:
        """Take a file, and what returns of its content, or of an empty object, what can be used."""
        self.path = path
        self._checked = checked
        self._state: State | None = None
        self._stored: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return what is stored, not to be changed; the file is read when it has changed."""
        state = state_of(self.path)
        if state is None or state != self._state:
            self._stored, self._state = self._load(), state
        return self._stored

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """Yield what is stored, and write what the block makes of it; one process at a time."""
        make_private_dir(self.path.parent)
        with writer_lock(self.path.with_suffix(".lock"), _PATIENCE_S):
            stored = self._load()
            yield stored
            write_json(self.path, stored)

    def _load(self) -> dict[str, Any]:
        try:
            return self._checked(read_json(self.path))
        except (OSError, ValueError, TypeError, AttributeError):
            return self._checked({})


class Standing(Enum):
    AGREED = "agreed"
    ALWAYS = "always"
    """It is called without a question, whatever it says that it does."""
    CHANGED = "changed"
    """It is new, or its description, schema or hints are others than when the user agreed."""


class Agreements(HomeFile):
    def __init__(self, home: Path) -> None:
        super().__init__(home / "catalogues" / "agreed.json", _checked_agreements)

    def holds(self, spec: ServerSpec) -> bool:
        stored = self.read()
        agreed = stored["servers"].get(_key(spec), "")
        return hmac.compare_digest(agreed, _digest(stored["key"], spec.launch))

    def is_known(self, spec: ServerSpec) -> bool:
        """Return whether the user agreed to another version of this entry before."""
        return _key(spec) in self.read()["servers"]

    def add(self, specs: Iterable[ServerSpec]) -> None:
        with self.changing() as stored:
            stored["key"] = stored["key"] or secrets.token_hex(_KEY_BYTES)
            for spec in specs:
                key, digest = _key(spec), _digest(stored["key"], spec.launch)
                if stored["servers"].get(key) != digest:
                    stored["servers"][key] = digest
                    stored["tools"].pop(key, None)

    def remove(self, spec: ServerSpec) -> None:
        with self.changing() as stored:
            for kind in ("servers", "tools"):
                stored[kind].pop(_key(spec), None)

    def knows_tools(self, spec: ServerSpec) -> bool:
        return _key(spec) in self.read()["tools"]

    def standing(self, spec: ServerSpec, tool: ToolDefinition) -> Standing:
        """Return what the user agreed to about a tool; before a server listed its tools, nothing changed."""
        known = self.read()["tools"].get(_key(spec))
        if known is None or not self.holds(spec):
            return Standing.AGREED
        digest, always = known.get(tool.own_name, ("", False))
        if digest != _tool_digest(tool):
            return Standing.CHANGED
        return Standing.ALWAYS if always else Standing.AGREED

    def agree_to_tools(
        self, spec: ServerSpec, tools: Iterable[ToolDefinition], *, always: bool = False
    ) -> None:
        """Store that the user agreed to these tools as they are now, and whether they are always allowed."""
        with self.changing() as stored:
            known = stored["tools"].setdefault(_key(spec), {})
            known |= {tool.own_name: [_tool_digest(tool), always] for tool in tools}


def _checked_agreements(stored: Any) -> dict[str, Any]:
    key = stored.get("key", "")
    if not isinstance(key, str):
        raise TypeError("the key is no text")
    tools = {
        server: {name: (str(digest), always is True) for name, (digest, always) in of.items()}
        for server, of in stored.get("tools", {}).items()
    }
    servers = {key: agreed for key, agreed in stored.get("servers", {}).items() if isinstance(agreed, str)}
    return {"key": key, "servers": servers, "tools": tools}


def _key(spec: ServerSpec) -> str:
    return f"{spec.name} {spec.source}" + (f" for {spec.project}" if spec.project else "")


def _tool_digest(tool: ToolDefinition) -> str:
    """Return a hash of everything that a server says about its tool, as far as an index file keeps it."""
    kept = replace(tool, description=tool.description[: MAX_DESCRIPTION_CHARS - 1])
    spelled = json.dumps(definition_object(kept), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(spelled.encode("utf-8", "replace")).hexdigest()


def _digest(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


_SECRET_NAME = re.compile(
    r"(?:.*[_-]|PG)?(?:KEY|API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PASSPHRASE|PAT|CREDENTIALS?|AUTH"
    r"|AUTHORIZATION|BEARER)",
    re.I,
)
_MAY_RUN = re.compile(r"[\s'\"`$;&|<>(){}\\/]")
"""A value without any of these is no command and no path."""

_HEADER_OPTIONS = ("--header", "-H")

_ONE_WORD = re.compile(r"[A-Za-z0-9+/=_.~-]+")
_RANDOM_RUN = re.compile(r"[A-Za-z0-9+=_-]{20,}")


def description(spec: ServerSpec, *, asks: bool = True) -> list[str]:
    """Return what the user agrees to, in lines: the name, what is run or called, where, and with what.

    In a question (`asks`), everything that can decide what runs is shown whole. Only what is recognised as a
    secret is masked, and headers, of which the references to variables are shown.
    """
    lines = [spec.name, f"  {'runs' if spec.url is None else 'calls'}: {command_line(spec, asks=asks)}"]
    lines += [f"  in: {spec.shown_folder}"] if spec.url is None else []
    variables = ", ".join(f"{name}={_shown_value(name, spec.env[name])}" for name in sorted(spec.env))
    given = variables if spec.url is None else _headers(spec.headers)
    lines += [f"  with: {given}"] if given else []
    lines += [f"  login: {_headers(spec.oauth)}"] if spec.oauth else []
    lines += ["  shared by all clients"] if spec.shared else []
    lines += [f"  only the tools: {', '.join(spec.only)}"] if spec.only else []
    lines += [f"  without the tools: {', '.join(spec.left_out)}"] if spec.left_out else []
    return lines


def command_line(spec: ServerSpec, *, asks: bool = False) -> str:
    """Return the command or the address of a server on one line, secrets masked."""
    if spec.url is not None:
        return _masked(spec.url)
    shown = [_shown_argument(before, word, asks) for before, word in pairwise(("", *spec.args))]
    return shlex.join([spec.command or "", *shown])


def _shown_argument(before: str, word: str, asks: bool) -> str:
    """Return an argument, masked if an option before it, or in it, has a secret's name.

    In a question the word after an option is shown: `npx --secret PACKAGE` would run it.
    """
    option, equals, value = word.partition("=")
    if equals and _SECRET_NAME.fullmatch(option):
        return f"{option}={_shown_value(option, value) if asks else without_literals(value)}"
    if not asks and before in _HEADER_OPTIONS:
        name, colon, value = word.partition(":")
        return f"{name}{colon} {without_literals(value.strip())}"
    if not asks and before.startswith("-") and _SECRET_NAME.fullmatch(before) and not word.startswith("-"):
        return without_literals(word)
    return _masked(word)


def _masked(text: str) -> str:
    """Mask secrets, but no blank, quote or character of a shell: they could hide a command."""
    from findspot.discover.secrets import MASK, masked

    def hide(secret: str) -> str:
        runs = _ONE_WORD if _ONE_WORD.fullmatch(secret) else _RANDOM_RUN
        return runs.sub(lambda run: MASK * len(run[0]), secret)

    return masked(text, hide)


def _shown_value(name: str, value: str) -> str:
    if _SECRET_NAME.fullmatch(name) and not _MAY_RUN.search(value):
        return without_literals(value)
    assignment = _masked(f"{name}={value}")  # some rules look at the name
    return assignment.removeprefix(f"{name}=")


def _headers(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={without_literals(given[name])}" for name in sorted(given))


@dataclass(frozen=True, slots=True)
class ServerOffers:
    """What a server has besides its tools, as it said when it was last asked."""

    kinds: tuple[str, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class BuildRecord:
    files: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """Each file that was named, with the servers that it named."""
    follow: bool = False
    provider: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """Server → why it did not answer when it was last asked."""
    offers: Mapping[str, ServerOffers] = field(default_factory=dict)


def build_records(home: Path) -> HomeFile:
    return HomeFile(home / "catalogues" / "sources.json")


def read_build_record(home: Path, index: Path) -> BuildRecord:
    try:
        about = build_records(home).read()[str(index)]
        offers = {
            name: ServerOffers(tuple(kinds), str(instructions))
            for name, (kinds, instructions) in about.get("offers", {}).items()
        }
        files = {Path(path): tuple(map(str, names)) for path, names in about["files"].items()}
        errors = dict(about.get("errors", {}))
        return BuildRecord(files, about["following"] is True, about["provider"], errors, offers)
    except (KeyError, TypeError, ValueError, AttributeError):
        return BuildRecord()


def write_build_record(home: Path, index: Path, record: BuildRecord) -> None:
    about = {
        "files": {str(source): list(names) for source, names in record.files.items()},
        "following": record.follow,
        "provider": record.provider,
        "errors": dict(record.errors),
        "offers": {name: [offered.kinds, offered.instructions] for name, offered in record.offers.items()},
    }
    with build_records(home).changing() as stored:
        stored[str(index)] = about
