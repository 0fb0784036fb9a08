"""Results of `cortex_search` as text and as structured values, each within its number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from findspot.core.model import Hit, Span
from findspot.search.token_budget import CHARS_PER_TOKEN, LONGEST_NOTE, fit
from findspot.serve.search_answers import cut, encoded, indented, one_line
from findspot.text.snippet import best_column, best_line
from findspot.text.tokens import tokens

if TYPE_CHECKING:
    from findspot.chunkfiles import SearchResult

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


def chunk_results_object(results: Sequence[SearchResult]) -> list[Item]:
    """Return results in the shape of the specification."""
    return [
        {"chunk": result.chunk.as_object(), "combined_score": result.combined_score} for result in results
    ]


def context_values(found: FoundContext, max_tokens: int, *, slim: bool = False) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as its JSON; `slim` leaves the texts out."""

    def shape(item: Item) -> Item:
        chunk = {name: value for name, value in item["chunk"].items() if name != "text"}
        return item | {"chunk": chunk} if slim else item

    def render(about: FoundContext, items: Sequence[Item], note: str | None) -> dict[str, Any]:
        values = {"results": [shape(item) for item in items], "total": len(about.results)}
        stats = {} if about.stats is None else {"stats": dict(about.stats)}
        warning = " ".join(filter(None, (about.warning, note)))
        return values | stats | ({"warning": warning} if warning else {})

    return _fitted(found, max_tokens, render, lambda item: len(encoded(shape(item))) + 2, encoded)


def context_text(found: FoundContext, max_tokens: int) -> str:
    """Return a compact listing within the limit: where each chunk is, its title, then its text."""

    def render(about: FoundContext, items: Sequence[Item], note: str | None) -> str:
        blocks = [_block(item, rank) for rank, item in enumerate(items, 1)]
        nothing = None if about.results else "No results."
        return "\n".join(filter(None, (*blocks, nothing, about.warning, note)))

    return _fitted(found, max_tokens, render, lambda item: len(_block(item, 999)) + 1, str)


def context_line(values: Mapping[str, Any]) -> str:
    """Return the text of an answer whose structured content is read as well."""
    count = len(values["results"])
    return f"{count} result{'s' * (count != 1)}, in the structured content."


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
    render: Callable[[FoundContext, Sequence[Item], str | None], T],
    measure: Callable[[Item], int],
    sent: Callable[[T], str],
) -> T:
    """Return what `render` gives for as much of the results as fits when it is sent."""
    whole = chunk_results_object(found.results)
    answer = render(found, whole, None)
    most = max_tokens * CHARS_PER_TOKEN
    if len(sent(answer)) <= most:
        return answer
    found = _with_short_rest(found, most)
    room = most - len(sent(render(found, (), LONGEST_NOTE)))
    weights = dict.fromkeys(tokens(found.query), 1.0)
    hits = [_hit(place, result, weights) for place, result in enumerate(found.results)]
    shown = fit(hits, room, lambda hit, _: measure(_shown(whole, hit)))
    return render(found, [_shown(whole, hit) for hit in shown.hits], shown.note)


def _hit(place: int, result: SearchResult, weights: Mapping[str, float]) -> Hit:
    """Return a result as a hit of a search, whose path is its place, with the line that fits best."""
    text = result.chunk.text
    lines, focus = text.split("\n"), best_line(text, weights)
    span, column = Span(1, len(lines)), best_column(lines[focus], weights)
    kind = str(result.chunk.chunk_type)
    return Hit(str(place), span, text, result.combined_score, kind, "", focus=focus + 1, focus_column=column)


def _shown(whole: Sequence[Item], hit: Hit) -> Item:
    item = whole[int(hit.path)]
    return item | {"chunk": item["chunk"] | {"text": hit.text}}


def _with_short_rest(found: FoundContext, max_chars: int) -> FoundContext:
    """Return what was found with a warning and with figures that leave room for results."""
    stats = found.stats
    if stats is not None and len(encoded(stats)) > max_chars // _WARNING_SHARE:
        stats = {name: value for name, value in stats.items() if not isinstance(value, list | dict)}
    warning = cut(found.warning, max_chars // _WARNING_SHARE) if found.warning else None
    return replace(found, warning=warning, stats=stats)
