"""Search results as text and as structured values, each within its number of tokens.

Shared by the command line and the MCP server; knows nothing of either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from findspot.core.model import Corpus, Hit, Results
from findspot.search.fit import Fitted, fit, token_count
from findspot.serve.telling import shortened, told, told_flat, told_lines, untold

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
        **told(results),
    }
    return answer | ({"warning": results.warning} if results.warning else {})


def _docs_result(hit: Hit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "text": hit.text,
        "score": hit.score,
        "startLine": hit.span.start,
        "endLine": hit.span.end,
        "relevancePercent": hit.relevance_percent,
        **_known(breadcrumb=hit.breadcrumb, why=hit.why),
    }


def _code_result(hit: Hit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "text": hit.text,
        "score": hit.score,
        "startLine": hit.span.start,
        "endLine": hit.span.end,
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
    return answer | told_flat(results) | ({"warning": results.warning} if results.warning else {})


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
        import toons

        return str(toons.dumps(flat(results, hits, corpus)))
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
    """Return a passage whose lines all stand apart from the listing's own, so that none can pass for a
    result.
    """
    return "\n".join(f"{_INDENT}{line}".rstrip() for line in text.splitlines())


def _listing(results: Results, blocks: Sequence[str]) -> str:
    if not results.hits:
        blocks = ["No results."]
    return "\n".join(filter(None, (*told_lines(results), *blocks, results.warning))).rstrip("\n")


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
    results = shortened(replace(results, query=_echo(results.query, max_tokens)), max_tokens)
    whole = render(results, results.hits)
    if token_count(whole) <= max_tokens:
        return whole
    if token_count(render(_with_note(results, _NOTED), ())) > max_tokens:
        results = untold(results)
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
