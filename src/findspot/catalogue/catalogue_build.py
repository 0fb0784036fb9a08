"""Build an index: ask the servers that changed, keep the tools of the others, embed what is new."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from findspot.catalogue.consent import ServerOffers
from findspot.catalogue.indexfile import DECIMALS, DEFAULT_DTYPE, IndexFile, ServerState
from findspot.catalogue.server_sources import START_TIMEOUT_S, ServerSpec, Sources, matches
from findspot.catalogue.tool_fields import embed_tools, fields, fingerprint, searchable_text, token_counts
from findspot.catalogue.tool_record import MAX_DESCRIPTION_CHARS, IndexedTool, ToolDefinition
from findspot.core.errors import InvalidArgumentError
from findspot.core.utc_time import age, utc_now
from findspot.embed.embedder import Embedder

if TYPE_CHECKING:
    from findspot.catalogue.live_connection import ServerAnswer

MAX_AGE = timedelta(days=1)
"""Age after which a server is asked again if no file of this machine shows that it changed."""

Report = Callable[[str], None]


class Outcome(StrEnum):
    """The result of a run for one server."""

    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    REMOVED = "removed"
    NOT_AGREED = "not_agreed"
    """The server is new or changed, and was not started."""
    DISABLED = "disabled"
    """The user disabled the server: it was not started, and its earlier tools are hidden."""


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The result for one server."""

    name: str
    outcome: Outcome
    tools: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build an index."""

    exclude: tuple[str, ...] = ()
    force: bool = False
    dtype: str | None = None
    timeout_s: float = START_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class PreviousRun:
    """What is known of the last run besides the index file."""

    agreed: Callable[[ServerSpec], bool]
    """Whether a server may be started."""
    enabled: Callable[[str], bool] = lambda _name: True
    """Whether a server of this name is enabled."""
    changed: Callable[[ServerSpec], bool] = lambda _spec: False
    """Whether a server gets other values than when it was last asked."""
    exclude: tuple[str, ...] = ()
    refresh: Collection[str] = ()
    """Servers to ask again if no file of this machine shows whether they changed."""
    unread: frozenset[str] = frozenset()
    """Servers of files that cannot be read at the moment: their tools stay."""


@dataclass(frozen=True, slots=True)
class Built:
    """The new index, and the result for each server."""

    index: IndexFile
    servers: tuple[ServerReport, ...]
    embedded: int
    notes: tuple[str, ...]
    written: bool = True
    """False if no server answered: the file is unchanged."""
    answered: bool = True
    """Whether any server that was asked for could be indexed."""
    changed: tuple[str, ...] = ()
    """Tools that are new or changed since the user agreed to their server, and not agreed to since."""
    offers: Mapping[str, ServerOffers] = field(default_factory=dict)
    """What the servers that were asked have besides tools."""

    def named(self, *outcomes: Outcome) -> list[str]:
        """Return the servers with one of these outcomes."""
        return [server.name for server in self.servers if server.outcome in outcomes]


def build(
    sources: Sources,
    previous: IndexFile | None,
    embedder: Embedder | None,
    options: BuildOptions,
    *,
    previous_run: PreviousRun,
    report: Report = lambda _line: None,
) -> Built:
    """Build an index from these sources; without an embedder it has no vectors."""
    dtype = _checked_dtype(options.dtype)
    old = previous or IndexFile()
    wanted = sources.without(options.exclude)
    gathered = _gather(wanted, old, options, previous_run, report)
    notes = [*sources.notes, *gathered.notes]
    tools = [_cut(tool, notes) for tool in gathered.tools]
    indexed, embedded = index_tools(tools, old, embedder, dtype, force=options.force)
    index = IndexFile(
        tools=tuple(indexed),
        provider=embedder.id if embedder else None,
        revision=embedder.revision if embedder else "",
        dimensions=embedder.dimensions if embedder else 0,
        dtype=dtype,
        created_at=old.created_at or utc_now(),
        updated_at=utc_now(),
        servers=gathered.states,
    )
    return Built(index, tuple(gathered.reports), embedded, tuple(notes), offers=gathered.offers)


def _checked_dtype(dtype: str | None) -> str:
    if dtype is not None and dtype not in DECIMALS:
        raise InvalidArgumentError(f"'dtype' must be one of {', '.join(DECIMALS)}, not '{dtype}'.")
    return dtype or DEFAULT_DTYPE


class _Gathered:
    """The tools of every server, with the state and the report of each."""

    def __init__(self, old: IndexFile, exclude: Sequence[str]) -> None:
        self.tools: list[ToolDefinition] = []
        self.states: dict[str, ServerState] = {}
        self.reports: list[ServerReport] = []
        self.notes: list[str] = []
        self.offers: dict[str, ServerOffers] = {}
        self._old, self._exclude = old, exclude
        self.before: dict[str, list[ToolDefinition]] = {}
        for tool in old.tools:
            self.before.setdefault(tool.server_name, []).append(tool.tool)

    def take(self, name: str, key: str, tools: Sequence[ToolDefinition], outcome: Outcome) -> None:
        """Add the tools that a server just listed."""
        shown = [tool for tool in tools if not matches(tool.name, self._exclude)]
        self.states[name] = ServerState(key, len(tools), utc_now())
        self._add(name, shown, outcome)

    def keep(self, name: str, outcome: Outcome, error: str | None = None) -> None:
        """Keep the tools of a server that the index already has."""
        shown = [tool for tool in self.before.get(name, []) if not matches(tool.name, self._exclude)]
        if name in self._old.servers:
            state = self._old.servers[name]
            # Without a fingerprint a server is asked again.
            self.states[name] = state if error is None else replace(state, fingerprint="")
        self._add(name, shown, outcome, error)

    def _add(
        self, name: str, tools: Sequence[ToolDefinition], outcome: Outcome, error: str | None = None
    ) -> None:
        self.tools.extend(tools)
        self.reports.append(ServerReport(name, outcome, len(tools), error))


def _gather(
    sources: Sources, old: IndexFile, options: BuildOptions, previous_run: PreviousRun, report: Report
) -> _Gathered:
    """Ask the servers that may have changed; keep the known tools of the others, and of those that fail."""
    gathered = _Gathered(old, options.exclude)
    enabled = [spec for spec in sources.servers if previous_run.enabled(spec.name)]
    agreed = [spec for spec in enabled if previous_run.agreed(spec)]
    answers = _ask(
        [spec for spec in agreed if _must_ask(spec, gathered, old, options, previous_run)], options, report
    )
    for listed in sources.lists:
        known = _is_new(listed.server_name, listed.fingerprint, old)
        outcome = Outcome.INDEXED if known else Outcome.UNCHANGED
        gathered.take(listed.server_name, listed.fingerprint, listed.tools, outcome)
    for spec in sources.servers:
        answer = answers.get(spec.name)
        if spec not in enabled:
            gathered.keep(spec.name, Outcome.DISABLED)
        elif spec not in agreed:
            gathered.keep(spec.name, Outcome.NOT_AGREED)
        elif answer is None:
            gathered.keep(spec.name, Outcome.UNCHANGED)
        elif answer.error is not None:
            gathered.keep(spec.name, Outcome.FAILED, answer.error)
        else:
            offered = [tool for tool in answer.tools if spec.offers(tool.own_name)]
            gathered.take(spec.name, spec.fingerprint, offered, Outcome.INDEXED)
            gathered.notes += [answer.note] if answer.note else []
            gathered.offers[spec.name] = answer.offers
    for name in sorted(previous_run.unread & gathered.before.keys() - sources.names):
        gathered.keep(name, Outcome.UNCHANGED)
    gone = gathered.before.keys() - {report.name for report in gathered.reports}
    gathered.reports += [ServerReport(name, Outcome.REMOVED, 0) for name in sorted(gone)]
    return gathered


def _ask(specs: Sequence[ServerSpec], options: BuildOptions, report: Report) -> Mapping[str, ServerAnswer]:
    if not specs:
        return {}
    from findspot.catalogue.live_connection import ask_servers

    report(f"asking {len(specs)} servers")
    return ask_servers(specs, options.timeout_s, lambda name, answer: report(_line(name, answer)))


def _must_ask(
    spec: ServerSpec, gathered: _Gathered, old: IndexFile, options: BuildOptions, previous_run: PreviousRun
) -> bool:
    """Return whether a server may have other tools than the index has."""
    if options.force or _is_new(spec.name, spec.fingerprint, old) or previous_run.changed(spec):
        return True
    state = old.servers[spec.name]
    left_out = state.tools > len(gathered.before.get(spec.name, []))
    if left_out and set(previous_run.exclude) - set(options.exclude):
        return True
    return spec.changes_unseen and (spec.name in previous_run.refresh or _is_outdated(state.updated_at))


def _is_outdated(moment: str) -> bool:
    try:
        return age(moment) > MAX_AGE
    except ValueError:
        return True


def _is_new(name: str, key: str, old: IndexFile) -> bool:
    return name not in old.servers or old.servers[name].fingerprint != key


def _line(name: str, answer: ServerAnswer) -> str:
    return f"{name}: {answer.error or f'{len(answer.tools)} tools'}"


def _cut(tool: ToolDefinition, notes: list[str]) -> ToolDefinition:
    size = len(tool.description)
    if size <= MAX_DESCRIPTION_CHARS:
        return tool
    notes.append(f"{tool.name}: its description of {size:,} characters was cut to {MAX_DESCRIPTION_CHARS:,}")
    return replace(tool, description=tool.description[: MAX_DESCRIPTION_CHARS - 1] + "…")


def index_tools(
    tools: Sequence[ToolDefinition],
    old: IndexFile,
    embedder: Embedder | None,
    dtype: str,
    *,
    force: bool = False,
) -> tuple[list[IndexedTool], int]:
    """Return each tool once, with its words and its vector; vectors of equal fingerprints are reused."""
    unique = list({tool.name: tool for tool in reversed(tools)}.values())[::-1]
    read = [fields(tool) for tool in unique]
    model = f"{embedder.id}@{embedder.revision}/{dtype}" if embedder else ""
    keys = [fingerprint(model, tool.server_name, of) for tool, of in zip(unique, read, strict=True)]
    known = {} if force else {tool.fingerprint: tool.embedding for tool in old.tools if tool.embedding}
    new = [position for position, key in enumerate(keys) if embedder and key not in known]
    if embedder and new:
        rows = embed_tools(embedder, [unique[n].server_name for n in new], [read[n] for n in new])
        shortened = np.round(rows.astype(np.float64), DECIMALS[dtype]).tolist()
        known |= {keys[position]: tuple(row) for position, row in zip(new, shortened, strict=True)}
    entries = []
    for tool, of, key in zip(unique, read, keys, strict=True):
        text = searchable_text(of)
        counted = token_counts(text)
        vector = known[key] if embedder else None
        entries.append(IndexedTool(tool, text, tuple(counted), tuple(counted.values()), key, vector))
    return entries, len(new)


def with_tools(
    old: IndexFile,
    server: str,
    tools: Sequence[ToolDefinition],
    embedder: Embedder | None,
    exclude: Sequence[str] = (),
) -> IndexFile | None:
    """Return the index with this server's tools replaced; None if they are the same as before."""
    tools = [tool for tool in tools if not matches(tool.name, exclude)]
    before = [tool.tool for tool in old.tools if tool.server_name == server]
    if list(tools) == before or server not in old.servers:
        return None
    own = index_tools(tools, old, embedder, old.dtype)[0]
    position = next((n for n, tool in enumerate(old.tools) if tool.server_name == server), len(old.tools))
    others = [tool for tool in old.tools if tool.server_name != server]
    merged = (*others[:position], *own, *others[position:])
    state = ServerState(old.servers[server].fingerprint, len(own), utc_now())
    return replace(old, tools=merged, updated_at=utc_now(), servers={**old.servers, server: state})
