"""Making an index: ask the servers that changed, keep the rest, embed what is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from findspot.catalogue.indexfile import DECIMALS, DEFAULT_DTYPE, IndexFile, ServerState, now
from findspot.catalogue.model import IndexedTool, ToolDefinition
from findspot.catalogue.sources import Sources, matches
from findspot.catalogue.vectors import embed_tools, fingerprint
from findspot.catalogue.words import fields, searchable_text, token_counts
from findspot.core.errors import InvalidArgumentError
from findspot.embed.protocol import Embedder

if TYPE_CHECKING:
    from findspot.catalogue.connect import Answered

DEFAULT_TIMEOUT_S = 30.0
"""For a server to start and list its tools; some download themselves first."""

MAX_DESCRIPTION_CHARS = 20_000
"""A longer description is cut: it is sent to assistants, whose context it would fill."""

Said = Callable[[str], None]


class Outcome(StrEnum):
    """What became of a server."""

    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One server of a run."""

    name: str
    outcome: Outcome
    tools: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How an index is made."""

    exclude: tuple[str, ...] = ()
    force: bool = False
    dtype: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Built:
    """The new index, and what became of each server."""

    index: IndexFile
    servers: tuple[ServerReport, ...]
    embedded: int
    notes: tuple[str, ...]


def build(
    sources: Sources,
    previous: IndexFile | None,
    embedder: Embedder | None,
    options: BuildOptions,
    said: Said = lambda _line: None,
) -> Built:
    """A whole index from these sources; without an embedder it holds no vectors."""
    dtype = _checked_dtype(options.dtype)
    old = previous or IndexFile()
    wanted = sources.without(options.exclude)
    tools, states, reports = _gather(wanted, old, options, said)
    gone = sorted({tool.server_name for tool in old.tools} - states.keys() - {r.name for r in reports})
    reports += [ServerReport(name, Outcome.REMOVED, 0) for name in gone]
    notes = [*sources.notes]
    kept = [_cut(tool, notes) for tool in tools if not matches(tool.name, options.exclude)]
    indexed, embedded = index_tools(kept, old, embedder, dtype, force=options.force)
    index = IndexFile(
        tools=tuple(indexed),
        provider=embedder.id if embedder else None,
        revision=embedder.revision if embedder else "",
        dimensions=embedder.dimensions if embedder else 0,
        dtype=dtype,
        created_at=old.created_at or now(),
        updated_at=now(),
        servers=states,
    )
    return Built(index, tuple(reports), embedded, tuple(notes))


def _checked_dtype(dtype: str | None) -> str:
    if dtype is not None and dtype not in DECIMALS:
        raise InvalidArgumentError(f"'dtype' must be one of {', '.join(DECIMALS)}, not '{dtype}'.")
    return dtype or DEFAULT_DTYPE


def _gather(
    sources: Sources, old: IndexFile, options: BuildOptions, said: Said
) -> tuple[list[ToolDefinition], dict[str, ServerState], list[ServerReport]]:
    """The tools of every server: of an unchanged one as they were, of a failed one too."""
    before: dict[str, list[ToolDefinition]] = {}
    for tool in old.tools:
        before.setdefault(tool.server_name, []).append(tool.tool)
    changed = [s for s in sources.servers if options.force or _is_new(s.name, s.fingerprint, old)]
    asked: Mapping[str, Answered] = {}
    if changed:
        from findspot.catalogue.connect import ask_servers

        said(f"asking {len(changed)} of {len(sources.servers)} servers")
        asked = ask_servers(changed, options.timeout_s, lambda name, answer: said(_line(name, answer)))
    tools: list[ToolDefinition] = []
    states: dict[str, ServerState] = {}
    reports: list[ServerReport] = []

    def keep(name: str, mark: str, found: Sequence[ToolDefinition], since: str) -> None:
        tools.extend(found)
        states[name] = ServerState(mark, len(found), since)

    for listed in sources.lists:
        outcome = (
            Outcome.INDEXED if _is_new(listed.server_name, listed.fingerprint, old) else Outcome.UNCHANGED
        )
        keep(listed.server_name, listed.fingerprint, listed.tools, now())
        reports.append(ServerReport(listed.server_name, outcome, len(listed.tools)))
    for spec in sources.servers:
        answer, earlier = asked.get(spec.name), before.get(spec.name, [])
        if answer is None:
            keep(spec.name, spec.fingerprint, earlier, old.servers[spec.name].updated_at)
            reports.append(ServerReport(spec.name, Outcome.UNCHANGED, len(earlier)))
        elif answer.error is not None:
            keep(spec.name, "", earlier, now())  # without a fingerprint, so that it is asked again
            reports.append(ServerReport(spec.name, Outcome.FAILED, len(earlier), answer.error))
        else:
            keep(spec.name, spec.fingerprint, answer.tools, now())
            reports.append(ServerReport(spec.name, Outcome.INDEXED, len(answer.tools)))
    return tools, states, reports


def _is_new(name: str, mark: str, old: IndexFile) -> bool:
    return name not in old.servers or old.servers[name].fingerprint != mark


def _line(name: str, answer: Answered) -> str:
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
    """Each tool once, with its words and its vector; vectors of equal fingerprints are kept."""
    unique = list({tool.name: tool for tool in reversed(tools)}.values())[::-1]
    read = [fields(tool) for tool in unique]
    model = f"{embedder.id}@{embedder.revision}/{dtype}" if embedder else ""
    marks = [fingerprint(model, tool.server_name, of) for tool, of in zip(unique, read, strict=True)]
    known = {} if force else {tool.fingerprint: tool.embedding for tool in old.tools if tool.embedding}
    new = [place for place, mark in enumerate(marks) if embedder and mark not in known]
    if embedder and new:
        rows = embed_tools(embedder, [unique[n].server_name for n in new], [read[n] for n in new])
        shortened = np.round(rows.astype(np.float64), DECIMALS[dtype]).tolist()
        known |= {marks[place]: tuple(row) for place, row in zip(new, shortened, strict=True)}
    entries = []
    for tool, of, mark in zip(unique, read, marks, strict=True):
        text = searchable_text(of)
        counted = token_counts(text)
        vector = known[mark] if embedder else None
        entries.append(IndexedTool(tool, text, tuple(counted), tuple(counted.values()), mark, vector))
    return entries, len(new)
