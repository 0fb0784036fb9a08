"""Search results and context chunks as text and as structured values, each within its number of tokens.

Shared by the command line and the MCP server; knows nothing of either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from findspot.core.model import NOTHING_FITS, CodeReference, Corpus, Hit, Results, Synthesis
from findspot.search.token_budget import Fitted, fit, token_count
from findspot.text.snippet import best_column, best_line, shorten
from findspot.text.tokens import tokens

if TYPE_CHECKING:
    from findspot.chunkfiles import SearchResult

FORMATS = ("json", "toon", "human", "compact")

MIN_TOKENS = 200
"""Enough for an answer that says what it leaves out."""

_SHOWN_QUERY_CHARS = 1_000
_MOST_ESCAPED = 6
"""Characters that JSON may need for one: `\\u0001`."""

_NOTED = Fitted((), 999, 999)
"""So that saying what is left out fits too."""

_INDENT = "    "

Render = Callable[[Results, Sequence[Hit]], str]


_SHARE = 0.35
"""Of an answer's room: a summary that leaves no room for results summarises nothing."""

_CHARS_PER_TOKEN = 4

_SHORT_SUMMARY_CHARS = 300

_EXPANDED_QUERY_CHARS = 120
"""Of a long query before the words that were added; the answer has it at full length already."""


MAX_CONTEXT_TOKENS = 1_200
"""The default: what an assistant reads without losing sight of its task."""

_CHUNK_TEXT_CHARS = (1_200, 600, 300, 150)
"""How long texts are when not all fit; then the last results are left out."""


def structured(
    results: Results, hits: Sequence[Hit], corpus: Corpus, *, slim: bool = False
) -> dict[str, Any]:
    """Return the answer as the specification of `search_code` and `search_docs` shapes it."""
    shape = _code_result if corpus is Corpus.CODE else _docs_result
    listed = [shape(hit) for hit in hits]
    if slim:
        for item in listed:
            del item["text"]
    answer = {
        "results": listed,
        "totalResults": results.total,
        "searchTimeMs": round(results.elapsed_ms, 1),
        "query": results.query,
        "searchMode": results.mode.value,
        **assistance_object(results),
    }
    return answer | ({"warning": results.warning} if results.warning else {})


def _passage(hit: Hit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "text": hit.text,
        "score": hit.score,
        "startLine": hit.span.start,
        "endLine": hit.span.end,
    }


def _docs_result(hit: Hit) -> dict[str, Any]:
    return {
        **_passage(hit),
        "relevancePercent": hit.relevance_percent,
        **_known(breadcrumb=hit.breadcrumb, why=hit.why),
    }


def _code_result(hit: Hit) -> dict[str, Any]:
    return {
        **_passage(hit),
        "kind": hit.kind,
        "symbols": list(hit.symbols),
        **_known(signature=hit.signature, breadcrumb=hit.breadcrumb, docComment=hit.doc_comment),
        "language": hit.language,
        "relevancePercent": hit.relevance_percent,
        **_known(why=hit.why),
    }


def flat(results: Results, hits: Sequence[Hit], corpus: Corpus) -> dict[str, Any]:
    """Return the answer in snake case, for `json` and `toon`."""
    shape = _flat_code_result if corpus is Corpus.CODE else _flat_docs_result
    listed = [shape(hit) for hit in hits]
    answer: dict[str, Any] = {"query": results.query, "result_count": len(listed), "results": listed}
    return answer | assistance_flat(results) | ({"warning": results.warning} if results.warning else {})


def _flat_docs_result(hit: Hit) -> dict[str, Any]:
    return {
        "content": hit.text,
        "path": hit.path,
        "start_line": hit.span.start,
        "end_line": hit.span.end,
        "relevance_percent": hit.relevance_percent,
        **_known(breadcrumb=hit.breadcrumb, why=hit.why),
    }


def _flat_code_result(hit: Hit) -> dict[str, Any]:
    return _flat_docs_result(hit) | {
        "kind": hit.kind,
        "symbols": list(hit.symbols),
        **_known(signature=hit.signature, doc_comment=hit.doc_comment),
    }


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def as_text(results: Results, hits: Sequence[Hit], corpus: Corpus, form: str | None) -> str:
    """Return the answer in one of the formats; without one, the structured answer as JSON."""
    if form == "json":
        return json.dumps(flat(results, hits, corpus), ensure_ascii=False)
    if form == "toon":
        import toon_format

        return str(toon_format.dumps(flat(results, hits, corpus)))
    if form == "human":
        return _listing(results, [f"{compact_line(hit)}\n{_indented(hit.text)}\n" for hit in hits])
    if form == "compact":
        return _listing(results, [compact_line(hit) for hit in hits])
    return json.dumps(structured(results, hits, corpus), ensure_ascii=False)


def compact_line(hit: Hit) -> str:
    """Return one hit on one line: where, how sure, and what."""
    what = hit.breadcrumb or hit.signature or ", ".join(hit.symbols[:3]) or hit.kind
    return (
        f"{_one_line(hit.path)}:{hit.span.start}-{hit.span.end}  {hit.relevance_percent}%  {_one_line(what)}"
    )


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _indented(text: str) -> str:
    """Return a passage with its lines indented, so that none can pass for a result."""
    return "\n".join(f"{_INDENT}{line}".rstrip() for line in text.splitlines())


def _listing(results: Results, blocks: Sequence[str]) -> str:
    if not results.hits:
        blocks = ["No results."]
    first = NOTHING_FITS if results.nothing_fits else None
    return "\n".join(filter(None, (first, *assistance_lines(results), *blocks, results.warning))).rstrip("\n")


def fitted_text(results: Results, corpus: Corpus, form: str | None, max_tokens: int) -> str:
    """Return the text of the answer within the limit; the answer says what was left out."""

    def rendered(answer: Results, hits: Sequence[Hit]) -> str:
        return as_text(answer, hits, corpus, form)

    return _fitted(results, max_tokens, rendered, shows_text=form != "compact")


def fitted_values(results: Results, corpus: Corpus, max_tokens: int, *, slim: bool = False) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as the JSON that carries it."""
    return _fitted_json(results, corpus, max_tokens, slim=slim)[1]


def fitted_both(
    results: Results, corpus: Corpus, form: str | None, max_tokens: int, *, slim: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the text and the structured answer, each within the limit on its own."""
    text, values = _fitted_json(results, corpus, max_tokens, slim=slim)
    if form is not None or slim:
        text = fitted_text(results, corpus, form, max_tokens)
    return text, values


def _fitted_json(
    results: Results, corpus: Corpus, max_tokens: int, *, slim: bool
) -> tuple[str, dict[str, Any]]:
    values: dict[str, Any] = {}

    def rendered(answer: Results, hits: Sequence[Hit]) -> str:
        nonlocal values
        values = structured(answer, hits, corpus, slim=slim)
        return json.dumps(values, ensure_ascii=False)

    text = _fitted(results, max_tokens, rendered)
    return text, values


def _fitted(results: Results, max_tokens: int, render: Render, *, shows_text: bool = True) -> str:
    """Return what `render` gives for as much as fits; that is its last call."""
    results = shorten_assistance(replace(results, query=_echo(results.query, max_tokens)), max_tokens)
    whole = render(results, results.hits)
    if token_count(whole) <= max_tokens:
        return whole
    if token_count(render(_with_note(results, _NOTED), ())) > max_tokens:
        results = without_assistance(results)
    room = _with_note(results, _NOTED)
    kept = fit(results.hits, max_tokens, lambda hits: render(room, hits), shows_text=shows_text)
    return render(_with_note(results, kept), kept.hits)


def _echo(query: str, max_tokens: int) -> str:
    """Return the query as the answer repeats it: a pasted file must not fill the answer."""
    most = min(_SHOWN_QUERY_CHARS, max_tokens)
    if len(json.dumps(query, ensure_ascii=False)) <= most + 2:
        return query
    shown = query[: most - 1]
    if len(json.dumps(shown, ensure_ascii=False)) > most + 2:
        shown = query[: most // _MOST_ESCAPED]
    return shown + "…"


def _with_note(results: Results, kept: Fitted) -> Results:
    warning = " ".join(filter(None, (results.warning, kept.note)))
    return replace(results, warning=warning or None)


def assistance_object(results: Results) -> dict[str, Any]:
    """Return an expansion and a synthesis as fields in camel case."""
    values: dict[str, Any] = {}
    if results.expansion is not None:
        values["expandedQuery"] = expanded_query(results)
        values["expandedBy"] = results.expansion.made_by
    if results.synthesis is not None:
        values["synthesis"] = _synthesis_object(results.synthesis)
        values["followUps"] = list(results.synthesis.follow_ups)
    return values


def assistance_flat(results: Results) -> dict[str, Any]:
    """Return an expansion and a synthesis as fields in snake case."""
    values = {_snake(name): value for name, value in assistance_object(results).items()}
    if "synthesis" in values:
        values["synthesis"] = {_snake(name): value for name, value in values["synthesis"].items()}
    return values


def assistance_lines(results: Results) -> Iterator[str]:
    """Yield an expansion and a synthesis as lines for people."""
    if results.expansion is not None and results.expansion.terms:
        yield f"Also searched for: {', '.join(results.expansion.terms)} (by {results.expansion.made_by})"
    synthesis = results.synthesis
    if synthesis is None:
        return
    yield f"{synthesis.summary} (by {synthesis.made_by}, confidence {synthesis.confidence:g})"
    yield from (f"- {insight}" for insight in synthesis.key_insights)
    yield from (f"  {place.path}:{place.line}  {place.text}" for place in synthesis.code_references)
    if synthesis.follow_ups:
        yield f"Ask next: {'; '.join(synthesis.follow_ups)}"


def expanded_query(results: Results) -> str:
    """Return the query with the words that were added to it."""
    terms = results.expansion.terms if results.expansion else ()
    return " ".join((cut(results.query, _EXPANDED_QUERY_CHARS), *terms))


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark where something is missing."""
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def shorten_assistance(results: Results, max_tokens: int) -> Results:
    """Return the results with an expansion and a synthesis that leave room for hits."""
    room = int(max_tokens * _CHARS_PER_TOKEN * _SHARE)
    expansion, synthesis = results.expansion, results.synthesis
    if expansion is not None:
        while expansion.terms and len(" ".join(expansion.terms)) > max_tokens // 2:
            expansion = replace(expansion, terms=expansion.terms[:-1])
    if synthesis is not None:
        synthesis = next((form for form in _forms(synthesis, room) if _size(form) <= room), None)
    return replace(results, expansion=expansion, synthesis=synthesis)


def without_assistance(results: Results) -> Results:
    """Return the results without expansion and synthesis, for answers with room for hits alone."""
    return replace(results, expansion=None, synthesis=None)


def _forms(synthesis: Synthesis, room: int) -> Iterator[Synthesis]:
    """Yield a synthesis in shorter and shorter forms."""
    yield synthesis
    less = replace(
        synthesis,
        key_insights=synthesis.key_insights[:2],
        code_references=synthesis.code_references[:2],
        follow_ups=synthesis.follow_ups[:1],
    )
    yield less
    for most in (_SHORT_SUMMARY_CHARS, room // 3):
        short = cut(synthesis.summary, most)
        yield replace(less, summary=short, key_insights=(), code_references=(), follow_ups=())


def _size(synthesis: Synthesis) -> int:
    return len(json.dumps([_synthesis_object(synthesis), list(synthesis.follow_ups)], ensure_ascii=False))


def _synthesis_object(synthesis: Synthesis) -> dict[str, Any]:
    return {
        "summary": synthesis.summary,
        "keyInsights": list(synthesis.key_insights),
        "codeReferences": [_reference(place) for place in synthesis.code_references],
        "confidence": synthesis.confidence,
        "followUps": list(synthesis.follow_ups),
        "madeBy": synthesis.made_by,
    }


def _reference(place: CodeReference) -> dict[str, Any]:
    named = {"symbol": place.symbol} if place.symbol else {}
    return {"path": place.path, "line": place.line, "text": place.text, **named}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def chunk_results_object(results: Sequence[SearchResult]) -> list[dict[str, Any]]:
    """Return results in the shape of the specification."""
    return [
        {"chunk": result.chunk.as_object(), "combined_score": result.combined_score} for result in results
    ]


def fitted_chunks(
    results: Sequence[SearchResult],
    query: str,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> tuple[list[dict[str, Any]], str | None]:
    """Return as much of the results as fits, and what was left out; `around` builds the whole answer."""
    whole_results = list(results)
    if _chunks_fit(whole_results, None, max_tokens, around):
        return chunk_results_object(whole_results), None
    shown = _shortened_chunks(whole_results, query, max_tokens, around)
    for position, (whole, short) in enumerate(zip(whole_results, shown, strict=False)):
        shown[position] = whole
        if not _chunks_fit(shown, _NOTED.note, max_tokens, around):
            shown[position] = short
            break
    shortened = sum(short != whole for whole, short in zip(whole_results, shown, strict=False))
    counted = Fitted((), shortened, len(whole_results) - len(shown))
    note = counted.note
    return chunk_results_object(shown), note and note.replace(
        f"of {counted.dropped} ", f"of {len(whole_results)} "
    )


def _shortened_chunks(
    whole_results: list[SearchResult],
    query: str,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> list[SearchResult]:
    weights = dict.fromkeys(tokens(query), 1.0)
    shown = whole_results
    for most in _CHUNK_TEXT_CHARS:
        shown = [_cut_chunk(result, weights, most) for result in whole_results]
        if _chunks_fit(shown, _NOTED.note, max_tokens, around):
            return shown
    while shown and not _chunks_fit(shown, _NOTED.note, max_tokens, around):
        shown.pop()
    return shown


def _cut_chunk(result: SearchResult, weights: dict[str, float], max_chars: int) -> SearchResult:
    """Return a result with the passage of its text that holds the most of the query's words."""
    text = result.chunk.text
    if len(text) <= max_chars:
        return result
    focus = best_line(text, weights)
    column = best_column(text.split("\n")[focus], weights)
    return replace(result, chunk=replace(result.chunk, text=shorten(text, focus, max_chars, column)))


def _chunks_fit(
    results: Sequence[SearchResult],
    note: str | None,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> bool:
    return (
        token_count(json.dumps(around(chunk_results_object(results), note), ensure_ascii=False)) <= max_tokens
    )
