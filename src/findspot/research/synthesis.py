"""Results in a few sentences: by a language model, or from the results themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from findspot.core.errors import LanguageModelError
from findspot.core.model import CodeReference, Hit, Synthesis
from findspot.llm import LanguageModel, ask, clipped, clipped_list
from findspot.text.snippet import shorten
from findspot.text.tokens import words

READ_HITS = 8
MOST_INSIGHTS = 5
MOST_FOLLOW_UPS = 3

_PASSAGE_CHARS = 1_500
_QUERY_CHARS = 2_000
_LINE_CHARS = 200
_SUMMARY_CHARS = 1_500
_INSIGHT_CHARS = 400
_ANSWER_TOKENS = 900

_TYPES = frozenset({"class", "interface", "protocol", "trait", "struct", "enum", "type"})

_TASK = (
    "You explain what a code search found. From the question and the numbered passages, and from nothing "
    "else, write: summary (two or three sentences that answer the question), keyInsights (at most five "
    "sentences), references (numbers of the passages that the summary stands on), confidence (0 to 1: how "
    'well they answer it), followUps (at most three questions). {"summary": "…", "keyInsights": ["…"], '
    '"references": [1], "confidence": 0.5, "followUps": ["…"]}'
)


def synthesize_by_model(model: LanguageModel, query: str, hits: Sequence[Hit]) -> Synthesis:
    """Return what a language model makes of the results; raises `LanguageModelError`."""
    read = hits[:READ_HITS]
    passages = "\n\n".join(
        f"[{number}] {hit.path}:{hit.span.start}-{hit.span.end}\n{_excerpt(hit)}"
        for number, hit in enumerate(read, 1)
    )
    answer, made_by = ask(model, _TASK, f"Question: {query[:_QUERY_CHARS]}\n\n{passages}", _ANSWER_TOKENS)
    summary = clipped(answer.get("summary"), _SUMMARY_CHARS)
    if not summary:
        raise LanguageModelError(f"{model.name}: its answer has no summary")
    return Synthesis(
        summary,
        clipped_list(answer.get("keyInsights"), MOST_INSIGHTS, _INSIGHT_CHARS),
        tuple(reference_to(hit) for hit in _named(answer.get("references"), read)),
        _share(answer.get("confidence")),
        clipped_list(answer.get("followUps"), MOST_FOLLOW_UPS, _LINE_CHARS),
        made_by,
    )


def synthesize_from_hits(hits: Sequence[Hit]) -> Synthesis:
    """Return the best results, described by their names, documentation and lines."""
    if not hits:
        return Synthesis("Nothing in the index answers this.", (), (), 0.0, ())
    best = hits[:MOST_INSIGHTS]
    files = list(dict.fromkeys(hit.path for hit in hits))
    where = ", ".join(f"{_title(hit)} ({hit.path}:{_line(hit)})" for hit in best[:3])
    counted = f"{len(hits)} passage{'s' * (len(hits) > 1)} in {len(files)} file{'s' * (len(files) > 1)}"
    return Synthesis(
        f"{counted}; the best: {where}.",
        tuple(_insight(hit) for hit in best),
        tuple(map(reference_to, best)),
        round(hits[0].score, 2),
        tuple(dict.fromkeys(_follow_ups(best)))[:MOST_FOLLOW_UPS],
    )


def reference_to(hit: Hit) -> CodeReference:
    """Return the line of a result that matches best."""
    return CodeReference(hit.path, _line(hit), _line_text(hit)[:_LINE_CHARS], _symbol(hit))


def first_sentence(text: str) -> str:
    """Of a documentation comment, as one line."""
    line = " ".join(text.split())
    return line.partition(". ")[0].rstrip(".")[:_LINE_CHARS]


def _line(hit: Hit) -> int:
    last = hit.span.start + hit.text.count("\n")
    return min(max(hit.focus or hit.span.start, hit.span.start), last)


def _line_text(hit: Hit) -> str:
    return hit.text.split("\n")[_line(hit) - hit.span.start].strip()


def _symbol(hit: Hit) -> str | None:
    """Return what the best line is about: a name that it holds, else the passage's own."""
    held = words(_line_text(hit))
    here = (name for name in hit.symbols if name in held)
    return next(here, None) or hit.breadcrumb or (hit.symbols[0] if hit.symbols else None)


def _title(hit: Hit) -> str:
    return _symbol(hit) or hit.kind


def _insight(hit: Hit) -> str:
    said = first_sentence(hit.doc_comment) if hit.doc_comment else hit.signature
    told = f": {said}" if said else ""
    return f"{hit.breadcrumb or _title(hit)}{told} ({hit.path}:{hit.span.start}-{hit.span.end})"


def _follow_ups(hits: Sequence[Hit]) -> Iterator[str]:
    """Questions that `code_research` answers."""
    for hit in hits:
        name = (_symbol(hit) or "").rpartition(".")[2]
        if name.isidentifier() and hit.language and hit.symbols:
            yield f"all implementations of {name}" if hit.kind in _TYPES else f"what calls {name}()"


def _excerpt(hit: Hit) -> str:
    return shorten(hit.text, _line(hit) - hit.span.start, _PASSAGE_CHARS, hit.focus_column)


def _named(numbers: object, read: Sequence[Hit]) -> list[Hit]:
    """Return the passages that an answer names by number; without any, the first ones it was given."""
    given = numbers if isinstance(numbers, list) else []
    valid = [n for n in given if isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= len(read)]
    return [read[number - 1] for number in dict.fromkeys(valid)] or list(read[:MOST_FOLLOW_UPS])


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return 0.5
    return round(float(value), 2)
