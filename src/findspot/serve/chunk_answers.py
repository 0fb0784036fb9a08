"""Results of `cortex_search` as text and as structured values, each within its number of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from findspot.search.token_budget import CHARS_PER_TOKEN, LONGEST_NOTE, left_out_note
from findspot.serve.assistance_answers import cut
from findspot.serve.search_answers import indented, one_line
from findspot.text.snippet import best_column, best_line, shorten
from findspot.text.tokens import tokens

if TYPE_CHECKING:
    from findspot.chunkfiles import SearchResult

MAX_CONTEXT_TOKENS = 1_200
"""The default where no project's settings are known."""

_TEXT_CHARS = (1_200, 600, 300, 150)
"""How long texts are when not all fit; then the last results are left out."""

_SHORTEST_CHARS = 60
"""Of the text and the title of a result where not even one fits otherwise."""

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

    return _fitted(found, max_tokens, render, lambda item: len(_json(shape(item))) + 2, _json)


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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


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
    shown = _shown(whole, found.query, most - len(sent(render(found, (), LONGEST_NOTE))), measure)
    shortened = sum(short != item for item, short in zip(whole, shown, strict=False))
    note = left_out_note(len(whole), shortened=shortened, left_out=len(whole) - len(shown))
    return render(found, shown, note)


def _with_short_rest(found: FoundContext, max_chars: int) -> FoundContext:
    """Return what was found with a warning and with figures that leave room for results."""
    stats = found.stats
    if stats is not None and len(_json(stats)) > max_chars // _WARNING_SHARE:
        stats = {name: value for name, value in stats.items() if not isinstance(value, list | dict)}
    warning = cut(found.warning, max_chars // _WARNING_SHARE) if found.warning else None
    return replace(found, warning=warning, stats=stats)


def _shown(whole: Sequence[Item], query: str, room: int, measure: Callable[[Item], int]) -> list[Item]:
    """Return the results with texts of the same length, as many as fit; the best get what is left over."""
    weights = dict.fromkeys(tokens(query), 1.0)
    forms = [tuple(_forms(item, weights)) for item in whole]
    shown: list[Item] = []
    sizes: list[int] = []
    for level in range(len(_TEXT_CHARS)):
        shown = [each[level + 1] for each in forms]
        sizes = [measure(item) for item in shown]
        if sum(sizes) <= room:
            break
    while shown and sum(sizes) > room:
        shown.pop()
        sizes.pop()
    if not shown:
        return [item for item in map(_shortest, whole[:1]) if measure(item) <= room]
    left = room - sum(sizes)
    for position, size in enumerate(sizes):
        longest = next(form for form in forms[position] if measure(form) - size <= left)
        shown[position], left = longest, left - (measure(longest) - size)
    return shown


def _forms(item: Item, weights: Mapping[str, float]) -> Iterator[Item]:
    """Yield a result, then with ever shorter passages that hold the most of the query's words."""
    text = item["chunk"]["text"]
    yield item
    focus = column = 0
    if len(text) > _TEXT_CHARS[-1]:
        focus = best_line(text, weights)
        column = best_column(text.split("\n")[focus], weights)
    for most in _TEXT_CHARS:
        yield item | {"chunk": item["chunk"] | {"text": shorten(text, focus, most, column)}}


def _shortest(item: Item) -> Item:
    """Return as little of a result as says what and where it is."""
    chunk = item["chunk"]
    return item | {
        "chunk": {
            "id": chunk["id"],
            "chunk_type": chunk["chunk_type"],
            "title": cut(chunk["title"], _SHORTEST_CHARS),
            "text": cut(chunk["text"].strip(), _SHORTEST_CHARS),
            "metadata": {name: chunk["metadata"][name] for name in _PLACE if name in chunk["metadata"]},
        }
    }
