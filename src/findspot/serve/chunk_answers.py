"""Results of `cortex_search` as text and as structured values, each within its number of tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from findspot.chunkfiles.chunk_reader import ChunkFilesError, ContextSearcher, SearchOptions, SearchResult
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.log import get_logger
from findspot.core.model import ChunkType, Hit, Mode, Results, Span
from findspot.search.token_budget import CHARS_PER_TOKEN
from findspot.serve.search_answers import encoded, fitted, indented, one_line
from findspot.text.snippet import best_column, best_line, cut
from findspot.text.tokens import tokens

_log = get_logger("mcp")

MAX_CONTEXT_TOKENS = 1_200
"""The default where no project's settings are known."""

_WARNING_SHARE = 3
"""A warning may take one third of a short answer."""

_PLACE = ("file_path", "start_line", "end_line")


Item = dict[str, Any]
"""A result in the shape of the specification."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FoundContext:
    """What a search found, before it is made to fit."""

    results: Sequence[SearchResult]
    query: str
    warning: str | None = None
    stats: Mapping[str, Any] | None = None


def ask_chunks(searcher: ContextSearcher, query: str, options: Mapping[str, Any]) -> FoundContext:
    """Ask a searcher by the options of `cortex_search`; whatever else it raises is a failed search."""
    kinds = tuple(options.get("chunk_types") or ())
    if unknown := [kind for kind in kinds if kind not in set(ChunkType)]:
        known = ", ".join(f"'{kind}'" for kind in ChunkType)
        raise InvalidArgumentError(f"There is no chunk type '{unknown[0]}'. Known types: {known}.")
    tags = tuple(tag for tag in options.get("tags") or () if tag.strip())
    started = time.perf_counter()
    try:
        results = searcher.query(query, SearchOptions(options["limit"], options["min_score"], tags, kinds))
    except FindspotError:
        raise
    except Exception as error:
        _log.exception("the searcher failed unexpectedly")
        raise ChunkFilesError("The search failed. The server's log has the details.") from error
    took_ms = (time.perf_counter() - started) * 1000
    stats: dict[str, Any] | None = None
    if options["include_stats"]:
        describe = getattr(searcher, "stats", dict)
        stats = dict(describe()) | {"search_time_ms": round(took_ms, 2)}
    return FoundContext(results, query, getattr(results, "warning", None), stats)


def chunk_results_object(results: Sequence[SearchResult]) -> list[Item]:
    return [
        {"chunk": result.chunk.as_object(), "combined_score": result.combined_score} for result in results
    ]


def context_values(found: FoundContext, max_tokens: int, *, slim: bool = False) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as its JSON; `slim` leaves the texts out."""
    stats = found.stats
    if stats is not None and len(encoded(stats)) > max_tokens * CHARS_PER_TOKEN // _WARNING_SHARE:
        stats = {name: value for name, value in stats.items() if not isinstance(value, list | dict)}

    def shape(item: Item) -> Item:
        chunk = {name: value for name, value in item["chunk"].items() if name != "text"}
        return item | {"chunk": chunk} if slim else item

    def render(about: Results, items: Sequence[Item]) -> dict[str, Any]:
        values = {"results": list(map(shape, items)), "total": len(found.results)}
        values |= {} if stats is None else {"stats": dict(stats)}
        return values | ({"warning": about.warning} if about.warning else {})

    return _fitted(
        found, max_tokens, render, lambda v: len(encoded(v)), lambda item: len(encoded(shape(item))) + 2
    )


def context_text(found: FoundContext, max_tokens: int) -> str:
    """Return a compact listing within the limit: where each chunk is, its title, then its text."""

    def render(about: Results, items: Sequence[Item]) -> str:
        blocks = [_block(item, rank) for rank, item in enumerate(items, 1)]
        nothing = None if found.results else "No results."
        return "\n".join(filter(None, (*blocks, nothing, about.warning)))

    return _fitted(found, max_tokens, render, len, lambda item: len(_block(item, 999)) + 1)


def _block(item: Item, rank: int) -> str:
    chunk = item["chunk"]
    return "\n".join(filter(None, (f"{rank}. {_head(chunk)}", indented(chunk["text"].strip("\n")))))


def _head(chunk: Mapping[str, Any]) -> str:
    """Return the path and lines of a chunk, as far as its metadata has them, and its title."""
    title = one_line(chunk["title"])
    path, start, end = (chunk["metadata"].get(name) for name in _PLACE)
    if not isinstance(path, str) or not path:
        return title
    lines = f":{start}-{end}" if isinstance(start, int) and isinstance(end, int) else ""
    rest = "" if title == path else title.removeprefix(f"{path} ")
    return f"{one_line(path)}{lines}  {rest}".rstrip()


def _fitted(
    found: FoundContext,
    max_tokens: int,
    render: Callable[[Results, Sequence[Item]], T],
    size: Callable[[T], int],
    measure: Callable[[Item], int],
) -> T:
    """Return what `render` gives for as much of the chunks as fits, as a search does for its hits."""
    items = chunk_results_object(found.results)
    weights = dict.fromkeys(tokens(found.query), 1.0)
    hits = tuple(_hit(place, result, weights) for place, result in enumerate(found.results))
    most = max_tokens * CHARS_PER_TOKEN // _WARNING_SHARE
    warning = cut(found.warning, most) if found.warning else None
    results = Results(found.query, Mode.SEMANTIC, hits, len(hits), 0.0, warning)

    def item(hit: Hit) -> Item:
        whole = items[int(hit.path)]
        return whole | {"chunk": whole["chunk"] | {"text": hit.text}}

    return fitted(
        results,
        max_tokens,
        lambda about, shown: render(about, list(map(item, shown.hits))),
        size,
        lambda hit, _: measure(item(hit)),
        noted=True,
    )


def _hit(place: int, result: SearchResult, weights: Mapping[str, float]) -> Hit:
    """Return a result as a hit of a search, whose path is its place, with the line that fits best."""
    text = result.chunk.text
    lines, focus = text.split("\n"), best_line(text, weights)
    span, column = Span(1, len(lines)), best_column(lines[focus], weights)
    kind = str(result.chunk.chunk_type)
    return Hit(str(place), span, text, result.combined_score, kind, "", focus=focus + 1, focus_column=column)
