"""The tools of one or two index files in the form that is searched: arrays, and one line of text per tool.

Tool sets are stored in the home folder, so that a catalogue of ten thousand tools opens at once. They are
derived from the index files and stamped with their state: one that is missing, damaged or out of date is
rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.indexfile import (
    IndexFile,
    definition_object,
    parse_index,
    read_bytes,
    read_definition,
    server_of,
)
from findspot.catalogue.tool_fields import keyword_counts
from findspot.catalogue.tool_record import (
    CatalogueCorruptError,
    CatalogueNotFoundError,
    IndexedTool,
    ToolDefinition,
)
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.files import State, load_array, make_private_dir, state_of
from findspot.core.log import get_logger
from findspot.core.paths import restrict_tree
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import Vectors
from findspot.text.bm25 import Bm25, Postings

FORMAT = "2"
"""Part of the stamp of a stored set: raise it when the format changes."""

_ARRAYS = ("starts", "documents", "gains", "offsets", "name_order")


@dataclass(frozen=True, slots=True)
class About:
    """What holds for all tools of a set."""

    provider: str | None
    revision: str
    dimensions: int
    updated_at: str
    warnings: tuple[str, ...] = ()


class ToolSet:
    """Tools that can be searched; rows are in the order in which the files list them."""

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / "about.json").read_text("utf-8"))
        self.about = About(**about | {"warnings": tuple(about["warnings"])})
        self.texts = folder / "texts.txt"
        """One line per tool name, then one line per tool text."""
        listed = (folder / "names.jsonl").read_text("utf-8").splitlines()
        self.names: list[str] = json.loads(listed[0])
        self.servers: list[str] = json.loads(listed[1])
        self.rows = {name: row for row, name in enumerate(self.names)}
        arrays = {name: _mapped(folder / f"{name}.npy") for name in _ARRAYS}
        self.name_order = arrays["name_order"]
        """The rank of each tool's name in alphabetical order."""
        terms = (folder / "terms.txt").read_text("utf-8").split("\n") if len(arrays["starts"]) > 1 else []
        self.keywords = Bm25(
            Postings(terms, arrays["starts"], arrays["documents"], arrays["gains"], len(self.names))
        )
        self._offsets = arrays["offsets"]
        self._records = folder / "records.jsonl"
        vectors = folder / "vectors.npy"
        self.vectors: Vectors | None = _mapped(vectors) if vectors.exists() else None
        self._enabled: NDArray[np.bool_] | None = None
        """Which rows a search may give; None if all."""

    def hide(self, disabled: Collection[str]) -> None:
        """Leave disabled servers and tools out of every search."""
        shown = [
            name not in disabled and server not in disabled
            for name, server in zip(self.names, self.servers, strict=True)
        ]
        self._enabled = None if all(shown) else np.array(shown, dtype=np.bool_)

    @property
    def offered_servers(self) -> tuple[str, ...]:
        """The servers that have a tool which a search may give."""
        rows = self.allowed(None)
        return tuple(sorted({server for server, is_on in zip(self.servers, rows, strict=True) if is_on}))

    @cached_property
    def is_ascii(self) -> bool:
        """Whether all that is searched is plain: then patterns need no tables of other scripts."""
        return self.texts.read_bytes().isascii()

    @cached_property
    def by_name(self) -> NDArray[np.int64]:
        """The rows in the order of their names."""
        return np.argsort(self.name_order)

    def __len__(self) -> int:
        return len(self.names)

    def definition(self, row: int) -> ToolDefinition:
        """Return one tool in full, read from its offset in the file."""
        with self._records.open("rb") as records:
            records.seek(int(self._offsets[row]))
            value = json.loads(records.readline())
        return read_definition(value, self.servers[row], self.names[row])

    def allowed(self, server: str | None) -> NDArray[np.bool_]:
        """Return which rows a search may give."""
        if server is None:
            mask = np.ones(len(self), dtype=np.bool_)
        elif server in self.servers:
            mask = np.fromiter((name == server for name in self.servers), dtype=np.bool_, count=len(self))
        else:
            known = ", ".join(sorted(set(self.servers))[:20])
            raise InvalidArgumentError(
                f"There is no server '{server}' in the catalogue.", hint=f"Known servers: {known}."
            )
        return mask if self._enabled is None else mask & self._enabled


def _mapped(path: Path) -> NDArray[Any]:
    """Map an array file into memory; as a plain array, since views of memory maps are slow."""
    return np.asarray(load_array(path))


def merged(
    files: Sequence[tuple[str, IndexFile]], own: Collection[str] = (), user_file: str = ""
) -> tuple[list[IndexedTool], About]:
    """Return the tools of all files, earlier files first and their tools before others of the same name.

    Tools of the servers in `own` are taken from the user's file only.
    """
    tools: dict[str, IndexedTool] = {}
    chosen: IndexFile | None = None
    warnings = []
    for path, index in files:
        apart = False
        if index.has_embeddings:
            chosen = chosen or index
            apart = (index.provider, index.dimensions) != (chosen.provider, chosen.dimensions)
            apart = apart or index.revision != chosen.revision
        if apart:  # vectors of different models cannot be compared
            warnings.append(f"{path} was made with another model; its tools are found by words only.")
        for tool in index.tools:
            if path != user_file and {tool.server_name, server_of(tool.tool.name)} & set(own):
                continue
            tools.setdefault(tool.tool.name, _without_vector(tool) if apart else tool)
    updated = max((index.updated_at for _, index in files), default="")
    if chosen is None:
        return list(tools.values()), About(None, "", 0, updated, tuple(warnings))
    about = About(chosen.provider, chosen.revision, chosen.dimensions, updated, tuple(warnings))
    return list(tools.values()), about


def _without_vector(tool: IndexedTool) -> IndexedTool:
    return IndexedTool(tool.tool, tool.searchable_text, tool.tokens, tool.counts, tool.fingerprint)


def write_toolset(folder: Path, tools: Sequence[IndexedTool], about: About) -> None:
    """Write everything that a `ToolSet` reads."""
    spelling = {name: getattr(about, name) for name in About.__slots__}
    (folder / "about.json").write_text(json.dumps(spelling | {"warnings": list(about.warnings)}), "utf-8")
    texts = [tool.tool.name for tool in tools]
    texts += [" ".join(tool.searchable_text.split()) for tool in tools]
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8", "replace", "\n")
    names = [tool.tool.name for tool in tools]
    servers = [tool.server_name for tool in tools]
    (folder / "names.jsonl").write_text(json.dumps(names) + "\n" + json.dumps(servers), "utf-8")
    name_order = np.empty(len(names), dtype=np.int64)
    name_order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    postings = Bm25.build(keyword_counts(tool.searchable_text, tool.server_name) for tool in tools).postings
    (folder / "terms.txt").write_text("\n".join(postings.terms), "utf-8", "replace", "\n")
    offsets = _write_records(folder / "records.jsonl", tools)
    arrays: tuple[NDArray[Any], ...] = (*postings[1:4], offsets, name_order)
    for name, array in zip(_ARRAYS, arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
    if about.provider is not None:
        np.save(folder / "vectors.npy", _matrix(tools, about.dimensions))


def _write_records(path: Path, tools: Sequence[IndexedTool]) -> NDArray[np.int64]:
    offsets = np.zeros(len(tools), dtype=np.int64)
    with path.open("wb") as out:
        for row, tool in enumerate(tools):
            offsets[row] = out.tell()
            value: dict[str, Any] = definition_object(tool.tool)
            out.write(json.dumps(value).encode("ascii") + b"\n")
    return offsets


def _matrix(tools: Sequence[IndexedTool], dimensions: int) -> Vectors:
    """Return one unit row per tool; a row of zeros if a tool has no vector."""
    rows = np.zeros((len(tools), dimensions), dtype=np.float32)
    for row, tool in enumerate(tools):
        if tool.embedding is not None:
            rows[row] = tool.embedding
    return unit(rows)


_log = get_logger("catalogue")

Written = tuple[bytes, IndexFile]
"""The bytes of an index file, and its content."""

_UNUSABLE = (OSError, ValueError, KeyError, TypeError, IndexError, EOFError)
"""What reading a damaged tool set may raise."""


def open_toolset(
    home: Path, paths: Sequence[Path], written: Written | None = None, own: Collection[str] = ()
) -> ToolSet:
    """Open the tools of the index files that exist, earlier files first; `written` need not be parsed.

    What the last file, the user's, says about the servers in `own` counts, not what the others say.
    """
    states = {path: state for path in paths if (state := state_of(path)) is not None}
    if not states:
        raise CatalogueNotFoundError(" or ".join(map(str, paths)))
    parent = home / "catalogues" / _key(paths)
    folder = parent / _stamp(states, own)
    if (folder / "about.json").exists():
        try:
            return ToolSet(folder)
        except _UNUSABLE as error:
            _log.warning("the tool set %s is rebuilt: %s", folder, error)
    files, broken = _parsed([path for path in paths if path in states], written)
    tools, about = merged(files, frozenset(own), str(paths[-1]))
    messages = tuple(error.user_message for error in broken)
    return _make(parent, folder, tools, replace(about, warnings=(*messages, *about.warnings)))


def _key(paths: Sequence[Path]) -> str:
    return hashlib.sha256("\0".join(map(str, paths)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _stamp(states: Mapping[Path, State], own: Collection[str]) -> str:
    spelling = repr((FORMAT, [(str(path), state) for path, state in states.items()], sorted(own)))
    return hashlib.sha256(spelling.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _parsed(
    paths: Sequence[Path], written: Written | None
) -> tuple[list[tuple[str, IndexFile]], list[CatalogueCorruptError]]:
    """Parse the files; return also the errors of damaged ones, and raise only if no file is readable."""
    files, broken = [], []
    for path in paths:
        try:
            data = read_bytes(path) or b""
            same = written is not None and written[0] == data
            files.append((str(path), written[1] if written and same else parse_index(path, data)))
        except CatalogueCorruptError as error:
            broken.append(error)
    if not files:
        raise broken[0]
    return files, broken


def _make(parent: Path, folder: Path, tools: list[IndexedTool], about: About) -> ToolSet:
    temporary = _new_folder(parent)
    write_toolset(temporary, tools, about)
    restrict_tree(temporary)
    with contextlib.suppress(OSError):  # another process made the same one, or the home cannot be written
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
        temporary = folder
    _remove_others(parent, temporary)
    return ToolSet(temporary)


def _new_folder(parent: Path) -> Path:
    """Make a folder beside the others, so that it can be renamed; elsewhere if the home is not writable."""
    try:
        make_private_dir(parent)
        return Path(tempfile.mkdtemp(dir=parent, prefix=f".{os.getpid()}-"))
    except (FindspotError, OSError):
        return Path(tempfile.mkdtemp(prefix="findspot-tools-"))


def _remove_others(parent: Path, current: Path) -> None:
    """Delete the sets of earlier contents; a process that still reads one has its files open."""
    if current.parent == parent:
        for other in parent.iterdir():
            if other != current and not _being_made(other):
                shutil.rmtree(other, ignore_errors=True)


def _being_made(folder: Path) -> bool:
    return folder.name.startswith(".") and not (folder / "about.json").exists()
