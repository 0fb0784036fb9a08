"""Search results as text and as structured values, each within its number of tokens.

Shared by the command line and the MCP server; knows nothing of either. An answer for an assistant is lean:
the best results with their code, one line for each of the others, and nothing twice. The formats `json` and
`toon` have every field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from findspot.core.model import NOTHING_FITS, CodeReference, Corpus, Hit, Results
from findspot.rank.calibration import tail_start
from findspot.search.token_budget import (
    CHARS_PER_TOKEN,
    LONGEST_NOTE,
    Fitted,
    Measure,
    fit,
    listed,
    token_count,
    whole,
)
from findspot.serve.shapes import MADE_BY, Shape, known, snake
from findspot.text.snippet import cut

COMPACT = "compact"
FORMATS = ("json", "toon", "human", COMPACT)

_SHARE = 0.35
"""Of an answer's room: a summary that leaves no room for results summarises nothing."""

_EXPANDED_QUERY_CHARS = 120
"""Of a long query before the words that were added; the answer has it at full length already."""

_SHOWN_QUERY_CHARS = 200
"""Of a query as the answer repeats it: a pasted file must not fill the answer."""

_INDENT = "    "
_ASIDE = "  "
"""Before what is said of a result: no line of its code can begin so, and pass for it."""

T = TypeVar("T")

encoded = json.JSONEncoder(ensure_ascii=False).encode


def one_line(text: str) -> str:
    return " ".join(text.splitlines())


def reference_line(place: CodeReference) -> str:
    return f"{one_line(place.text)}  {place.path}:{place.line}"


def hundredths(number: float) -> float:
    return round(number, 2)


_SPAN = {"startLine=span.start endLine=span.end": int}
_WHY = {"why?": dict, "lines?": [int]}
_RELATED = {"constants? callers? callees?": [reference_line], "more?": [str], "lastChange? via?": str}
_LEAN = {
    "path": str,
    **_SPAN,
    "symbol? project? kind": str,
    "score": hundredths,
    "strength text": str,
    **_WHY,
}
_PASSAGE = {
    "path project? text": str,
    "score": float,
    **_SPAN,
    "breadcrumb? strength": str,
    "relevancePercent": int,
    **_WHY,
}
_NAMED = {"kind": str, "symbols": [str], "symbol? signature? docComment? language": str}

LINE, LEAN = Shape(_LEAN), Shape(_LEAN | _RELATED)
"""What an assistant gets of a result: of one that is a line, and of one with code."""
FULL = {Corpus.CODE: Shape(_PASSAGE | _NAMED | _RELATED), Corpus.DOCS: Shape(_PASSAGE)}
"""Every field that the specifications of `search_code` and `search_docs` name."""

_SNAKE = {
    "content=text path": str, "start_line=span.start end_line=span.end relevance_percent": int,
    "breadcrumb?": str, **_WHY,
}  # fmt: skip
_SNAKE_OF_CODE = {"kind": str, "symbols": [str], "signature? doc_comment?": str, "more?": [str]}
FLAT = {Corpus.CODE: Shape(_SNAKE | _SNAKE_OF_CODE), Corpus.DOCS: Shape(_SNAKE)}
"""The fields of the formats `json` and `toon`."""

SYNTHESIS = Shape(
    {
        "summary": str,
        "codeReferences": [{"path text symbol": str, "line": int}],
        "followUps": [str],
        "madeBy": MADE_BY,
    }
)


def lean_values(results: Results, shown: Fitted) -> dict[str, Any]:
    """Return the structured answer for an assistant; where nothing fits, it says so first."""
    first = {"warning": NOTHING_FITS} if results.nothing_fits else {}
    forms = ((LEAN if place < shown.with_code else LINE) for place in range(len(shown.hits)))
    listed = [form(hit) for form, hit in zip(forms, shown.hits, strict=True)]
    answer = {"results": listed, **_about(results), **known(more=_more(results, shown))}
    return first | answer | _warning(results)


def _about(results: Results) -> dict[str, Any]:
    return {
        "totalResults": results.total,
        "searchTimeMs": round(results.elapsed_ms, 1),
        "query": results.query,
        "searchMode": results.mode.value,
        **assistance_object(results),
    }


def full_values(results: Results, hits: Sequence[Hit], corpus: Corpus) -> dict[str, Any]:
    return {"results": list(map(FULL[corpus], hits)), **_about(results)} | _warning(results)


def flat_values(results: Results, hits: Sequence[Hit], corpus: Corpus) -> dict[str, Any]:
    """Return the answer in snake case, for `json` and `toon`."""
    listed = list(map(FLAT[corpus], hits))
    answer: dict[str, Any] = {"query": results.query, "result_count": len(listed), "results": listed}
    return answer | _snake(assistance_object(results)) | _warning(results)


def _warning(results: Results) -> dict[str, str]:
    said = [NOTHING_FITS if results.nothing_fits else None, results.warning]
    return {"warning": " ".join(filter(None, said))} if any(said) else {}


def _rendered(results: Results, shown: Fitted, corpus: Corpus, form: str) -> str:
    if form == "json":
        return encoded(flat_values(results, shown.hits, corpus))
    if form == "toon":
        import toon_format

        return str(toon_format.dumps(flat_values(results, shown.hits, corpus)))
    blocks = [
        _block(hit, rank, code=place < shown.with_code)
        for place, (rank, hit) in enumerate(enumerate(shown.hits, results.offset + 1))
    ]
    return _listing(results, blocks, _more(results, shown) if form == COMPACT else None)


def _block(hit: Hit, rank: int, *, code: bool) -> str:
    """Return a result of a listing: with its code below it, or on one line."""
    symbol = f"  {one_line(hit.symbol)}" if hit.symbol else ""
    lines = f"  matches in {', '.join(map(str, hit.lines))}" if hit.lines else ""
    head = f"{rank}. {one_line(hit.path)}:{hit.span.start}-{hit.span.end}{symbol}  {hit.strength}{lines}"
    if not code:
        return f"{head}  {one_line(hit.text)}"
    return "\n".join((head, indented(hit.text), *(f"{_ASIDE}{line}" for line in related_lines(hit))))


def related_lines(hit: Hit) -> Iterator[str]:
    """Yield what is said of a result below its code, a line each."""
    yield from (f"uses {reference_line(place)}" for place in hit.constants)
    yield from (f"called by {reference_line(place)}" for place in hit.callers)
    if hit.callees:
        yield f"calls {', '.join(map(reference_line, hit.callees))}"
    yield from (f"also {one_line(place)}" for place in hit.more)
    if hit.last_change:
        yield f"last changed {one_line(hit.last_change)}"
    if hit.via:
        yield f"via {one_line(hit.via)}"


def indented(text: str) -> str:
    """Return a passage with its lines indented, so that none can pass for a result."""
    return "\n".join(f"{_INDENT}{line}".rstrip() for line in text.splitlines())


def _listing(results: Results, blocks: Sequence[str], more: str | None) -> str:
    first = NOTHING_FITS if results.nothing_fits else None
    if not results.hits:
        blocks = ["No more results." if results.offset and results.total else "No results."]
    parts = (first, *assistance_lines(results), *blocks, more, results.warning)
    return "\n".join(filter(None, parts))


def _more(results: Results, shown: Fitted) -> str | None:
    after = results.offset + len(shown.hits)
    if results.total <= after:
        return None
    return f"{results.total - after} more, less likely: offset={after}"


def single_line(count: int, *, nothing_fits: bool = False) -> str:
    """Return the text of an answer whose structured content is read as well."""
    if nothing_fits:
        return "Nothing in the index fits this well; the nearest results are in the structured content."
    return f"{count} result{'s' * (count != 1)}, in the structured content."


def fitted_text(results: Results, corpus: Corpus, form: str, max_tokens: int) -> str:
    """Return the text of the answer within the limit; the answer says what was left out."""

    def measure(hit: Hit, code: bool) -> int:
        if form in ("json", "toon"):
            return len(encoded(FLAT[corpus](hit))) + 2
        return len(_block(hit, 99, code=code)) + 1

    def render(answer: Results, shown: Fitted) -> str:
        return _rendered(answer, shown, corpus, form)

    prose = corpus is Corpus.DOCS
    return fitted(results, max_tokens, render, len, measure, noted=form != COMPACT, prose=prose)


def fitted_values(
    results: Results, corpus: Corpus, max_tokens: int, *, full: bool = True, slim: bool = False
) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as the JSON that carries it."""
    return _fitted_values(results, corpus, max_tokens, full=full, slim=slim)[0]


def lean_answer(
    results: Results, corpus: Corpus, max_tokens: int, *, slim: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the compact text and the lean values, with the same code in both wherever that fits."""
    values, answer, shown = _fitted_values(results, corpus, max_tokens, full=False, slim=slim)
    text = _rendered(answer, shown, corpus, COMPACT)
    if token_count(text) > max_tokens:
        text = fitted_text(results, corpus, COMPACT, max_tokens)
    return text, values


def _fitted_values(
    results: Results, corpus: Corpus, max_tokens: int, *, full: bool, slim: bool
) -> tuple[dict[str, Any], Results, Fitted]:
    """Return the structured answer, with the results and the forms that it was made of."""

    def render(answer: Results, shown: Fitted) -> tuple[dict[str, Any], Results, Fitted]:
        values = full_values(answer, shown.hits, corpus) if full else lean_values(answer, shown)
        if slim:
            for result in values["results"]:
                result.pop("text")
        return values, answer, shown

    def measure(hit: Hit, code: bool) -> int:
        form = FULL[corpus] if full else LEAN if code else LINE
        return len(encoded(form(hit))) + len(", ")

    return fitted(
        results, max_tokens, render, lambda made: len(encoded(made[0])), measure,
        noted=full, prose=corpus is Corpus.DOCS,
    )  # fmt: skip


def without_tail(results: Results) -> Results:
    """Return the results without those that are far less likely than the best."""
    count = tail_start(results.hits, results.mode)
    return results if count == len(results.hits) else replace(results, hits=results.hits[:count])


def fitted(
    results: Results,
    max_tokens: int,
    render: Callable[[Results, Fitted], T],
    size: Callable[[T], int],
    measure: Measure,
    *,
    noted: bool,
    prose: bool = False,
) -> T:
    """Return what `render` makes of as much as fits; `size` says how long that is in characters.

    With `noted`, a warning counts what was shortened. A lean answer says by its form what it has, and has
    lines alone where nothing fits.
    """
    most = max_tokens * CHARS_PER_TOKEN
    query = cut(results.query, min(_SHOWN_QUERY_CHARS, max_tokens // 2))
    results = shorten_assistance(replace(results, query=query), max_tokens)
    everything = listed(results.hits) if results.nothing_fits and not noted else whole(results.hits)
    answer = render(results, everything)
    if size(answer) <= most:
        return answer
    longest = LONGEST_NOTE if noted else None
    around = size(render(_with_note(results, longest), Fitted((), 0)))
    if around > most:
        results = replace(results, expansion=None, synthesis=None)
        around = size(render(_with_note(results, longest), Fitted((), 0)))
    room = most - around
    while True:
        shown = fit(results.hits, room, measure, prose=prose)
        answer = render(_with_note(results, shown.note if noted else None), shown)
        excess = size(answer) - most
        if excess <= 0 or not shown.hits:
            return answer
        room -= excess


def _with_note(results: Results, note: str | None) -> Results:
    warning = " ".join(filter(None, (results.warning, note)))
    return replace(results, warning=warning or None)


def assistance_object(results: Results) -> dict[str, Any]:
    """Return an expansion and a synthesis as fields in camel case."""
    values: dict[str, Any] = {}
    if results.expansion is not None:
        query = cut(results.query, _EXPANDED_QUERY_CHARS)
        values["expandedQuery"] = " ".join((query, *results.expansion.terms))
        values["expandedBy"] = results.expansion.made_by
    if results.synthesis is not None:
        values["synthesis"] = SYNTHESIS(results.synthesis)
        values["followUps"] = list(results.synthesis.follow_ups)
    return values


def assistance_lines(results: Results) -> Iterator[str]:
    if results.expansion is not None and results.expansion.terms:
        yield f"Also searched for: {', '.join(results.expansion.terms)} (by {results.expansion.made_by})"
    synthesis = results.synthesis
    if synthesis is None:
        return
    yield f"{synthesis.summary} (by {synthesis.made_by})"
    yield from (f"  {place.path}:{place.line}  {place.text}" for place in synthesis.code_references)
    if synthesis.follow_ups:
        yield f"Ask next: {'; '.join(synthesis.follow_ups)}"


def shorten_assistance(results: Results, max_tokens: int) -> Results:
    """Return the results with an expansion and a synthesis that leave room for hits."""
    room = int(max_tokens * CHARS_PER_TOKEN * _SHARE)
    expansion, synthesis = results.expansion, results.synthesis
    if expansion is not None:
        while expansion.terms and len(" ".join(expansion.terms)) > max_tokens // 2:
            expansion = replace(expansion, terms=expansion.terms[:-1])
    if synthesis is not None:
        short = replace(
            synthesis, summary=cut(synthesis.summary, room // 3), code_references=(), follow_ups=()
        )
        fits = (each for each in (synthesis, short) if len(encoded(SYNTHESIS(each))) <= room)
        synthesis = next(fits, None)
    return replace(results, expansion=expansion, synthesis=synthesis)


def _snake(values: dict[str, Any]) -> dict[str, Any]:
    plain = {name: _snake(each) if isinstance(each, dict) else each for name, each in values.items()}
    return {snake(name): each for name, each in plain.items()}
