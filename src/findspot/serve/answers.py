"""Search results as text and as structured values, each within its number of tokens.

Shared by the command line and the MCP server; knows nothing of either.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from findspot.core.model import Corpus, Hit, Results
from findspot.search.fit import Fitted, fit

FORMATS = ("json", "toon", "human", "compact")


def structured(
    results: Results, hits: Sequence[Hit], corpus: Corpus, *, slim: bool = False
) -> dict[str, Any]:
    """The answer as the specification of `search_code` and `search_docs` shapes it."""
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


def flat(results: Results, hits: Sequence[Hit]) -> dict[str, Any]:
    """The answer in snake case, for `json` and `toon`."""
    listed = [
        {
            "content": hit.text,
            "path": hit.path,
            "start_line": hit.span.start,
            "end_line": hit.span.end,
            "relevance_percent": hit.relevance_percent,
            "kind": hit.kind,
            "symbols": list(hit.symbols),
            **_known(signature=hit.signature, breadcrumb=hit.breadcrumb, doc_comment=hit.doc_comment),
        }
        for hit in hits
    ]
    answer: dict[str, Any] = {"query": results.query, "result_count": len(listed), "results": listed}
    return answer | ({"warning": results.warning} if results.warning else {})


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def as_text(results: Results, hits: Sequence[Hit], corpus: Corpus, form: str | None) -> str:
    """The answer in one of the formats; without one, the structured answer as JSON."""
    if form == "json":
        return json.dumps(flat(results, hits), ensure_ascii=False)
    if form == "toon":
        import toons

        return str(toons.dumps(flat(results, hits)))
    if form == "human":
        return _human(results, hits)
    if form == "compact":
        return "\n".join(compact_line(hit) for hit in hits) or "No results."
    return json.dumps(structured(results, hits, corpus), ensure_ascii=False)


def compact_line(hit: Hit) -> str:
    """One hit on one line: where, how sure, and what."""
    what = hit.breadcrumb or hit.signature or ", ".join(hit.symbols[:3]) or hit.kind
    return f"{hit.path}:{hit.span.start}-{hit.span.end}  {hit.relevance_percent}%  {what}"


def _human(results: Results, hits: Sequence[Hit]) -> str:
    if not hits:
        return "\n".join(filter(None, ("No results.", results.warning)))
    blocks = [f"{compact_line(hit)}\n{hit.text}" for hit in hits]
    return "\n\n".join(filter(None, (*blocks, results.warning)))


def fitted_text(results: Results, corpus: Corpus, form: str | None, max_tokens: int) -> str:
    """The text of the answer within the limit; the answer says what was left out."""
    kept = _fit(results, max_tokens, lambda r, hits: as_text(r, hits, corpus, form))
    return as_text(_with_note(results, kept), kept.hits, corpus, form)


def fitted_values(results: Results, corpus: Corpus, max_tokens: int, *, slim: bool = False) -> dict[str, Any]:
    """The structured answer within the limit, measured as the JSON that carries it."""

    def rendered(answer: Results, hits: Sequence[Hit]) -> str:
        return json.dumps(structured(answer, hits, corpus, slim=slim), ensure_ascii=False)

    kept = _fit(results, max_tokens, rendered)
    return structured(_with_note(results, kept), kept.hits, corpus, slim=slim)


def _fit(results: Results, max_tokens: int, render: Any) -> Fitted:
    worst = Fitted((), 999, 999)  # measured with a note, so that saying what is left out fits too
    whole = fit(results.hits, max_tokens, lambda hits: render(results, hits))
    if whole.note is None:
        return whole
    return fit(results.hits, max_tokens, lambda hits: render(_with_note(results, worst), hits))


def _with_note(results: Results, kept: Fitted) -> Results:
    warning = " ".join(filter(None, (results.warning, kept.note)))
    return replace(results, warning=warning or None)
