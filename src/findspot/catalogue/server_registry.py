"""The servers of a catalogue: where each comes from, whether it is enabled, and whether it may be started.

Files in the home folder decide that, none of them in a repository or beside an index: opening somebody's
repository must not start the programs that it names. `sources.json` records how each index was last built,
and from which files; `added/*.json` holds the servers of `findspot tools add`, one configuration per index,
and `choices.json` what was enabled or disabled, per index. A choice for a project wins over one for all.

`agreed.json` holds what the user agreed to: nothing else is ever started or called. It has one agreement per
server: a keyed hash of its command, arguments, working folder, environment, address, headers and lists of
tools, with its name, its file and the project, if any, for which that was read. An entry that is new or that
changed by one character has none. Beside it is a hash of each tool as the server described it first: a tool
that is new or another since then is called only after a question.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

from findspot.catalogue.indexfile import ToolSet, definition_object, project_of
from findspot.catalogue.server_sources import ServerSpec, Sources, read_sources, without_literals
from findspot.catalogue.tool_record import MAX_DESCRIPTION_CHARS, SEPARATOR, ToolDefinition
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.files import State, state_of
from findspot.core.locks import HomeFile
from findspot.core.paths import index_key
from findspot.discover.secrets import MASK, masked
from findspot.text.snippet import listed

_KEY_BYTES = 32

CHANGED_TOOL = "New or changed since the user agreed to its server: a call asks the user first"


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

    def remove(self, name: str, source: Path, project: Path | None) -> None:
        """Forget what the user agreed to about an entry, which may be gone."""
        with self.changing() as stored:
            for kind in ("servers", "tools"):
                stored[kind].pop(_key(ServerSpec(name, source=source, project=project)), None)

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
        return BuildRecord(files, about["provider"], errors, offers)
    except (KeyError, TypeError, ValueError, AttributeError):
        return BuildRecord()


def write_build_record(home: Path, index: Path, record: BuildRecord) -> None:
    about = {
        "files": {str(source): list(names) for source, names in record.files.items()},
        "provider": record.provider,
        "errors": dict(record.errors),
        "offers": {name: [offered.kinds, offered.instructions] for name, offered in record.offers.items()},
    }
    with build_records(home).changing() as stored:
        stored[str(index)] = about


_CONFIGURATION_BYTES = 32 << 20
"""A larger file is a list of tools: it is not read at every change only to look for servers."""

_NAMED = 10
_NAME_CHARS = 60

LOGIN_COMMAND = "findspot tools login"
"""Named in the error of a server that needs a login."""


class LoginRequiredError(FindspotError):
    code = "LOGIN_REQUIRED"

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"{reason} Run `{LOGIN_COMMAND} {shlex.quote(server)}`.")


class Choices(HomeFile):
    """What the user enabled and disabled: servers by name, tools as `server__tool`."""

    def __init__(self, home: Path, indexes: Sequence[Path]) -> None:
        super().__init__(home / "catalogues" / "choices.json", _checked_choices)
        self._indexes = [str(index) for index in indexes]

    def is_enabled(self, name: str) -> bool:
        made = (self.read().get(index, {}).get(name) for index in self._indexes)
        return next((choice for choice in made if choice is not None), True)

    def disabled(self) -> set[str]:
        return {name for of in self.read().values() for name in of if not self.is_enabled(name)}

    def make(self, index: Path, name: str, enabled: bool) -> None:
        with self.changing() as stored:
            stored.setdefault(str(index), {})[name] = enabled

    def forget(self, index: Path, name: str) -> None:
        if str(index) in self.read():
            with self.changing() as stored:
                made = stored.get(str(index), {}).items()
                stored[str(index)] = {n: c for n, c in made if n.partition(SEPARATOR)[0] != name}


def _checked_choices(stored: Any) -> dict[str, Any]:
    return {index: {n: c for n, c in of.items() if c in (True, False)} for index, of in stored.items()}


ADDED, LIST = "tools add", "a file of tools"
"""Where servers come from that no configuration names."""


class Availability(StrEnum):
    AGREED = "agreed"
    NEW = "new"
    CHANGED = "changed"
    """The user agreed to start another version of the entry."""
    DISABLED = "disabled"
    FAILED = "failed"
    NEEDS_LOGIN = "needs login"
    REMOVED = "removed"
    """Its entry is gone from its configuration: its tools are not found any more."""
    LISTED = "listed"
    """Its tools come from a JSON file: there is nothing to start."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    name: str
    state: Availability
    tools: int = 0
    spec: ServerSpec | None = None
    index: Path | None = None
    origin: str = LIST
    """The file that names it, or that named it."""
    disabled_tools: tuple[str, ...] = ()
    error: str | None = None
    allowed_tools: tuple[str, ...] = ()
    """Tools that are called without a question."""
    changed_tools: tuple[str, ...] = ()
    """Tools that are new or changed since the user agreed to the server."""

    @property
    def is_left(self) -> bool:
        """Whether its entry is gone, or cannot be read, and only its tools are left."""
        return self.spec is None and self.origin != LIST


@dataclass(frozen=True, slots=True)
class _Configurations:
    """What the configurations of a catalogue said when they were last read."""

    files: Sequence[Path] = ()
    state: list[State | None] = field(default_factory=list)
    sources: dict[Path, Sources] = field(default_factory=dict)
    removed: dict[str, Path] = field(default_factory=dict)
    problems: dict[Path, str] = field(default_factory=dict)


class ServerRegistry:
    """The servers of the project's index and of the user's; changes of files are noticed."""

    def __init__(self, home: Path, indexes: Sequence[Path]) -> None:
        self.home = home
        self.indexes = list(indexes)
        self.choices = Choices(home, indexes)
        self.agreements = Agreements(home)
        self._guard = threading.Lock()
        self._last = _Configurations()

    def added(self, index: Path) -> HomeFile:
        """Return the servers that the user added to an index: a configuration."""
        path = self.home / "catalogues" / "added" / f"{index_key(index)}.json"
        return HomeFile(path, lambda stored: {"mcpServers": dict(stored.get("mcpServers", {}))})

    def servers(self, index: Path) -> tuple[ServerSpec, ...]:
        """Return the servers of one index, whether or not they are enabled and agreed to."""
        return self._read().sources[index].servers

    def _all(self) -> Iterator[ServerSpec]:
        return (spec for index in self.indexes for spec in self.servers(index))

    def find(self, name: str) -> ServerSpec | None:
        """Return a server by its name, the project's before the user's; None if there is none."""
        return next((spec for spec in self._all() if spec.name == name), None)

    def agreed(self, name: str) -> ServerSpec:
        """Return a server by its name; an error if the user has not agreed to it as it is now."""
        spec = self.find(name)
        if spec is None or not self.agreements.holds(spec):
            hint = f"{spec.index_command} asks." if spec else "`findspot tools list` shows the servers."
            raise InvalidArgumentError(f"You have not agreed to the server '{name}' as it is now.", hint=hint)
        return spec

    def state(self) -> list[State | None]:
        """Return values that change whenever an answer of this registry may change."""
        return [*self._read().state, state_of(self.agreements.path)]

    def in_workspace(self, index: Path, read: Sources) -> Sources:
        """Return the sources of an index; servers of all projects are started in the one that is open."""
        if project_of(index) is not None:
            return read
        here = project_of(self.indexes[0])
        return replace(read, servers=tuple(replace(spec, workspace=here) for spec in read.servers))

    def availability(self, spec: ServerSpec) -> Availability:
        """Return what the user decided about a server: `agreed`, `disabled`, `new` or `changed`."""
        if not self.choices.is_enabled(spec.name):
            return Availability.DISABLED
        if self.agreements.holds(spec):
            return Availability.AGREED
        return Availability.CHANGED if self.agreements.is_known(spec) else Availability.NEW

    def is_usable(self, spec: ServerSpec) -> bool:
        """Return whether a server is enabled and the user agreed to start it as it is now."""
        return self.availability(spec) is Availability.AGREED

    def usable(self) -> list[str]:
        return list(dict.fromkeys(spec.name for spec in self._all() if self.is_usable(spec)))

    def offering(self, kind: str) -> list[ServerSpec]:
        """Return the servers with `prompts` or `resources` that may be started."""
        found: dict[str, ServerSpec] = {}
        for index in self.indexes:
            offers = read_build_record(self.home, index).offers
            for spec in self.servers(index):
                if spec.name in offers and kind in offers[spec.name].kinds and self.is_usable(spec):
                    found.setdefault(spec.name, spec)
        return list(found.values())

    def instructions(self, name: str) -> str:
        """Return the instructions that a server gave when it was last asked, if it may be started."""
        if not ((spec := self.find(name)) and self.is_usable(spec)):
            return ""
        records = (read_build_record(self.home, index).offers.get(name) for index in self.indexes)
        return next((offered.instructions for offered in records if offered is not None), "")

    def lacking(self, specs: Iterable[ServerSpec] | None = None) -> list[ServerSpec]:
        """Return the enabled ones of these servers, or of all, to which the user has not agreed."""
        known = self._all() if specs is None else specs
        return [spec for spec in known if self.availability(spec) in (Availability.NEW, Availability.CHANGED)]

    def notice(self) -> str | None:
        """Return a warning that names what is left out: servers that are new or changed, broken files."""
        lacking, warnings = self.lacking(), list(self.problems().values())
        if lacking:
            named = [
                f"{' '.join(spec.name.split())[:_NAME_CHARS]} ({self.availability(spec)})" for spec in lacking
            ]
            asks = " and ".join(sorted({spec.index_command for spec in lacking}))
            warnings.insert(
                0,
                f"Servers were not started, since the user has not agreed to them as they are now: "
                f"{listed(named, _NAMED)}. {asks} shows what they run and asks.",
            )
        return " ".join(warnings) or None

    def own_servers(self) -> set[str]:
        """Return the servers that the user agreed to for all projects, and not for this one.

        Nothing in the project may describe their tools: its index file may be committed by anyone.
        """
        holds = self.agreements.holds
        agreed = [{spec.name for spec in self.servers(index) if holds(spec)} for index in self.indexes]
        return agreed[-1].difference(*agreed[:-1]) if len(agreed) > 1 else set()

    def hidden(self, tools: ToolSet) -> set[str]:
        """Return the servers and tools that are left out: by the user, by an entry, with an entry."""
        specs = {name: self.find(name) for name in set(tools.servers)}
        left_out = {
            name
            for name, server in zip(tools.names, tools.servers, strict=True)
            if (spec := specs[server]) and not spec.offers(name.removeprefix(server + SEPARATOR))
        }
        return self.choices.disabled() | left_out | self.removed().keys()

    def removed(self) -> dict[str, Path]:
        """Return the servers whose entries are gone, with the configurations that named them."""
        return self._read().removed

    def problems(self) -> dict[Path, str]:
        """Return which configurations of the catalogue cannot be read, and why."""
        return self._read().problems

    def statuses(self, tools: ToolSet | None) -> list[ServerStatus]:
        """Return every server with its state, those of the project first."""
        listed: dict[str, list[ToolDefinition]] = {}
        if tools is not None:
            for at, server in enumerate(tools.servers):
                listed.setdefault(server, []).append(tools.definition(at))
        rows: dict[str, ServerStatus] = {}
        for index in self.indexes:
            record = read_build_record(self.home, index)
            for spec in self.servers(index):
                rows.setdefault(spec.name, self._status(spec, index, record.errors.get(spec.name)))
            for file, problem in self.problems().items():
                for name in record.files.get(file, ()):
                    broken = ServerStatus(
                        name, Availability.FAILED, index=index, origin=str(file), error=problem
                    )
                    rows.setdefault(name, broken)
        for name in sorted(listed.keys() - rows.keys()):
            state = Availability.LISTED if self.choices.is_enabled(name) else Availability.DISABLED
            rows[name] = ServerStatus(name, state)
            if gone := self.removed().get(name):
                rows[name] = ServerStatus(name, Availability.REMOVED, origin=str(gone))
        off = self.choices.disabled()
        return [self._with_tools(row, listed.get(name, []), off) for name, row in rows.items()]

    def _with_tools(self, row: ServerStatus, tools: list[ToolDefinition], off: set[str]) -> ServerStatus:
        spec = row.spec
        standings = {tool.name: self.agreements.standing(spec, tool) for tool in tools} if spec else {}
        return replace(
            row,
            tools=len(tools),
            disabled_tools=tuple(tool.name for tool in tools if tool.name in off),
            allowed_tools=tuple(name for name, of in standings.items() if of is Standing.ALWAYS),
            changed_tools=tuple(name for name, of in standings.items() if of is Standing.CHANGED),
        )

    def _status(self, spec: ServerSpec, index: Path, error: str | None) -> ServerStatus:
        state = self.availability(spec)
        if error is not None and state is Availability.AGREED:
            state = Availability.NEEDS_LOGIN if LOGIN_COMMAND in error else Availability.FAILED
        origin = ADDED if spec.source == self.added(index).path else str(spec.source)
        return ServerStatus(spec.name, state, spec=spec, index=index, origin=origin, error=error)

    def _read(self) -> _Configurations:
        """Return what the files say; they are read again when one has changed."""
        with self._guard:
            if not self._last.state or self._state_of(self._last.files) != self._last.state:
                records = {index: read_build_record(self.home, index) for index in self.indexes}
                files = [file for record in records.values() for file in record.files]
                read = _Configurations(files, self._state_of(files))
                for index, record in records.items():
                    read.sources[index] = self._sources(index, record, read)
                for name in {name for sources in read.sources.values() for name in sources.names}:
                    read.removed.pop(name, None)
                self._last = read
            return self._last

    def _state_of(self, files: Iterable[Path]) -> list[State | None]:
        added = [self.added(index).path for index in self.indexes]
        own = (build_records(self.home).path, self.choices.path)
        return [state_of(path) for path in (*own, *added, *files)]

    def _sources(self, index: Path, record: BuildRecord, about: _Configurations) -> Sources:
        read = Sources()
        for file in (self.added(index).path, *record.files):
            state = state_of(file)
            if state is not None and state[1] > _CONFIGURATION_BYTES:
                continue
            try:
                of_file = read_sources([file], _CONFIGURATION_BYTES, project_of(index))
            except FindspotError as error:  # a missing or broken file starts nothing
                if file in record.files:
                    about.problems[file] = f"{error.user_message} Its servers cannot be called."
                continue
            about.removed.update(dict.fromkeys({*record.files.get(file, ())} - of_file.names, file))
            read = read.and_then(of_file)
        return self.in_workspace(index, read)
