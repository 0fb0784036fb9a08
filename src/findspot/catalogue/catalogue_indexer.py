"""Indexing a catalogue: read the configurations, ask for the user's agreement, write the index file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from findspot.catalogue.catalogue_build import (
    BuildOptions,
    Built,
    Outcome,
    PreviousRun,
    Report,
    build,
    with_tools,
)
from findspot.catalogue.client_configs import Input, missing_inputs, store_inputs
from findspot.catalogue.consent import Agreements, BuildRecord, read_build_record, write_build_record
from findspot.catalogue.indexfile import IndexFile, parse_index, project_of, read_bytes, write_index
from findspot.catalogue.server_registry import ServerRegistry
from findspot.catalogue.server_sources import ServerSpec, Sources, read_sources
from findspot.catalogue.tool_record import CatalogueCorruptError, ToolDefinition
from findspot.catalogue.toolset import open_toolset
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.paths import index_key
from findspot.core.utc_time import utc_now
from findspot.embed.embedder import Embedder

_log = get_logger("catalogue")

_WRITER_PATIENCE_S = 30.0

Agree = Callable[[Sequence[ServerSpec]], Collection[ServerSpec]]
"""Takes servers that the user has not agreed to start; returns those that the user agrees to."""


AskInput = Callable[[Path, Input], str | None]
"""Takes a configuration and one of its inputs; returns its value, or None if nobody can be asked."""


def agree_to_none(_servers: Sequence[ServerSpec]) -> Collection[ServerSpec]:
    return ()


AgreeToTools = Callable[[Sequence[ToolDefinition]], bool]
"""Takes tools that are new or changed since the user agreed to their servers; returns whether to agree."""


class CatalogueIndexer:
    """Writes the index files of one catalogue; one writer per file at a time."""

    def __init__(
        self,
        registry: ServerRegistry,
        embedder: Callable[[str], Embedder],
        chosen_embedder: Callable[[str], Embedder],
    ) -> None:
        """Take the servers; `embedder` opens any provider, `chosen_embedder` only one that the user chose."""
        self._registry = registry
        self._home = registry.home
        self._paths = registry.indexes
        self._embedder = embedder
        self._chosen_embedder = chosen_embedder

    def index(
        self,
        sources: Sequence[Path],
        options: BuildOptions,
        *,
        provider: str | None,
        agree: Agree = agree_to_none,
        agree_to_tools: AgreeToTools = lambda _tools: False,
        ask_input: AskInput = lambda _source, _input: None,
        user_wide: bool = False,
        follow: bool | None = None,
        replace_sources: bool = False,
        refresh: bool = True,
        report: Report = lambda _line: None,
    ) -> tuple[Path, Built]:
        """Add these files to the project's index, or to the user's; without a provider, without vectors.

        Files of earlier runs stay part of it unless `replace_sources` is set; without `sources`, they are
        read again. `agree` gets the servers that the user has not agreed to start, and returns those to
        start. If no server answers, the index is not written. With `refresh`, the requested servers
        that can change without a local file changing (`npx`, an address) are asked again.
        """
        path = self._paths[-1 if user_wide else 0]
        with self._writing(path):
            last = read_build_record(self._home, path)
            added = self._registry.added(path).path
            first = [added, *sources] if added.exists() else sources
            read, missing = _read_all(first, {} if replace_sources else last.files, project_of(path))
            read = self._registry.in_workspace(path, self._registry.with_choices(read))
            asked_for = _of_files(read, sources).without(options.exclude).names
            if not asked_for:
                raise _nothing_named(sources or list(last.files), read.notes)
            wanted = read.without(options.exclude)
            agreements = self._agreed(wanted, agree)
            self._ask_inputs(wanted, ask_input)
            embedder = self._embedder(provider) if provider is not None else None
            previous_run = PreviousRun(
                agreed=agreements.holds,
                enabled=self._registry.choices.is_enabled,
                changed=lambda spec: (
                    not agreements.knows_tools(spec)
                    or spec.name not in last.offers
                    or last.digests.get(spec.name, "") not in ("", agreements.digest(spec))
                ),
                exclude=last.exclude,
                refresh=asked_for if refresh else (),
                unread=frozenset(name for names in missing.values() for name in names),
            )
            built = build(
                read,
                self._previous(path, options),
                embedder,
                options,
                previous_run=previous_run,
                report=report,
            )
            errors = {server.name: server.error for server in built.servers if server.error}
            done = set(built.named(Outcome.INDEXED, Outcome.UNCHANGED, Outcome.DISABLED))
            built = replace(built, answered=bool(done & asked_for))
            files = {file: names for file, names in {**missing, **read.files}.items() if file != added}
            if not built.answered and not built.named(Outcome.INDEXED):
                # Servers that the user agreed to and that did not answer are known from now on.
                tried = {file: names for file, names in files.items() if errors.keys() & set(names)}
                write_build_record(
                    self._home, path, replace(last, files={**last.files, **tried}, errors=errors)
                )
                return path, replace(built, written=False)
            built = replace(built, changed=self._agreed_tools(wanted, built, agree_to_tools))
            written = write_index(path, built.index), built.index
            record = BuildRecord(
                files=files,
                exclude=options.exclude,
                follow=last.follow if follow is None else follow,
                provider=provider,
                digests={spec.name: agreements.digest(spec) for spec in read.servers if spec.name in done},
                errors=errors,
                offers={name: of for name, of in {**last.offers, **built.offers}.items() if name in done},
            )
            write_build_record(self._home, path, record)
        # So that the first search finds the arrays.
        open_toolset(self._home, self._paths, written, self._registry.own_servers())
        return path, built

    def remembered(self, *, user_wide: bool = False) -> tuple[Path, ...]:
        """Return the files that the index was built from."""
        path = self._paths[-1 if user_wide else 0]
        return tuple(read_build_record(self._home, path).files)

    def added(self, *, user_wide: bool = False) -> dict[str, Any]:
        """Return the entries of the servers that the user added."""
        return self._registry.added(self._paths[-1 if user_wide else 0]).entries()

    def _agreed(self, sources: Sources, agree: Agree) -> Agreements:
        """Ask about the servers that need an agreement, before any server is started."""
        agreements = self._registry.agreements
        enabled = self._registry.choices.is_enabled
        lacking = agreements.lacking(spec for spec in sources.servers if enabled(spec.name))
        accepted = agree(lacking) if lacking else ()
        if accepted:
            agreements.add(accepted)
        return agreements

    def _agreed_tools(self, sources: Sources, built: Built, agree: AgreeToTools) -> tuple[str, ...]:
        """Remember the tools that servers list first; return the later ones that the user does not agree to.

        A server that was not asked now says nothing: anyone may have written the index file.
        """
        agreements, answered = self._registry.agreements, built.named(Outcome.INDEXED)
        changed: list[tuple[ServerSpec, list[ToolDefinition]]] = []
        for spec in filter(agreements.holds, sources.servers):
            tools = [tool.tool for tool in built.index.tools if tool.server_name == spec.name]
            if agreements.knows_tools(spec):
                changed.append((spec, agreements.changed(spec, tools)))
            elif spec.name in answered:
                agreements.agree_to_tools(spec, tools)
        named = [tool for _, tools in changed for tool in tools]
        if not named or not agree(named):
            return tuple(tool.name for tool in named)
        for spec, tools in changed:
            agreements.agree_to_tools(spec, tools)
        return ()

    def _ask_inputs(self, sources: Sources, ask: AskInput) -> None:
        """Ask for the inputs without a value of the servers that will be started."""
        for spec in sources.servers:
            missing = missing_inputs(spec.texts, spec.source)
            if not missing or not self._registry.is_usable(spec):
                continue
            declared = sources.inputs.get(spec.source, {})
            given = {name: ask(spec.source, declared.get(name, Input(name))) for name in missing}
            values = {name: value for name, value in given.items() if value is not None}
            if values:
                store_inputs(spec.source, values)

    def remove_server(self, path: Path, server: str) -> None:
        """Remove the tools of one server; the file goes with the last one."""
        with self._writing(path):
            data = read_bytes(path)
            if data is None:
                return
            old = parse_index(path, data)
            servers = {name: state for name, state in old.servers.items() if name != server}
            tools = tuple(tool for tool in old.tools if tool.server_name != server)
            if tools or servers:
                write_index(path, replace(old, tools=tools, servers=servers, updated_at=utc_now()))
            else:
                path.unlink()

    def replace_tools(self, path: Path, server: str, tools: Sequence[ToolDefinition]) -> None:
        """Replace the tools of one server; the rest of the file does not change."""
        spec = next((spec for spec in self._registry.servers(path) if spec.name == server), None)
        if spec is not None:
            tools = [tool for tool in tools if spec.offers(tool.own_name)]
        with self._writing(path):
            data = read_bytes(path)
            if data is None:
                return
            old = parse_index(path, data)
            embedder = self._chosen_embedder(old.provider) if old.provider else None
            new = with_tools(old, server, tools, embedder, read_build_record(self._home, path).exclude)
            if new is not None:
                write_index(path, new)
                _log.info("the tools of %s changed: %d", server, len(tools))

    def _previous(self, path: Path, options: BuildOptions) -> IndexFile | None:
        """Return the current content of the file; with `force`, None for a damaged one."""
        try:
            data = read_bytes(path)
            return None if data is None else parse_index(path, data)
        except CatalogueCorruptError as error:
            if not options.force:
                raise
            _log.warning("%s", error.user_message)
            return None

    def _writing(self, path: Path) -> contextlib.AbstractContextManager[None]:
        return writer_lock(self._home / "catalogues" / f"{index_key(path)}.lock", _WRITER_PATIENCE_S)


def _read_all(
    first: Sequence[Path], earlier: Mapping[Path, tuple[str, ...]], project: Path | None
) -> tuple[Sources, dict[Path, tuple[str, ...]]]:
    """Read the first files and those of earlier runs; return also those of them that cannot be read."""
    read = read_sources(first, project=project)
    missing: dict[Path, tuple[str, ...]] = {}
    for file, names in earlier.items():
        if file in read.files:
            continue
        try:
            read = read.and_then(read_sources([file], project=project))
        except FindspotError as error:
            note = f"{error.user_message} Its tools are as they were; --replace leaves them out."
            read = read.and_then(Sources(notes=(note,)))
            missing[file] = names
    return read, missing


def _of_files(read: Sources, files: Sequence[Path]) -> Sources:
    """Return the servers and lists of the named files; all of them if no file is named."""
    if not files:
        return read
    names = {name for file in files for name in read.files.get(file, ())}
    return Sources(
        tuple(spec for spec in read.servers if spec.name in names),
        tuple(listed for listed in read.lists if listed.server_name in names),
    )


def _nothing_named(files: Sequence[Path], notes: Sequence[str]) -> InvalidArgumentError:
    named = ", ".join(map(str, files)) or "No file"
    return InvalidArgumentError(
        f"{named} names no server and no tool that is not left out. The catalogue was not changed.",
        hint=" ".join([*(f"{note}." for note in notes), "To have no catalogue, delete its index.json."]),
    )
