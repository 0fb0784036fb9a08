"""The summary of what was found, written by a language model where there is one."""

from __future__ import annotations

from dataclasses import replace

from findspot.core.errors import LanguageModelError
from findspot.llm import LanguageModel
from findspot.research.model import Findings
from findspot.research.prompts import ask, clipped

_TASK = (
    "You explain what research over the reference graph of a program found. From the question, the facts "
    "and the cited lines, and from nothing else, answer the question in at most six sentences, naming "
    'places as path:line. {"summary": "…"}'
)
_SUMMARY_CHARS = 2_000
_DATA_CHARS = 12_000
_ANSWER_TOKENS = 700


def summarised(found: Findings, model: LanguageModel | None) -> Findings:
    """The findings with a model's summary; its trouble is a warning, and the facts stay as they are."""
    if model is None or not found.nodes:
        return found
    try:
        summary = clipped(ask(model, _TASK, _data(found), _ANSWER_TOKENS).get("summary"), _SUMMARY_CHARS)
        if not summary:
            raise LanguageModelError(f"{model.name}: its answer has no summary")
        return replace(found, summary=summary, made_by=model.name)
    except LanguageModelError as error:
        said = f"{error.user_message}. The summary is told from the graph instead."
        return replace(found, warning=" ".join(filter(None, (found.warning, said))))


def _data(found: Findings) -> str:
    """All that the model may draw on."""
    chains = (" → ".join(chain) for chain in found.chains)
    lines = (f"{place.path}:{place.line}  {place.text}" for place in found.citations)
    return "\n".join((f"Question: {found.query}", f"Facts: {found.summary}", *chains, *lines))[:_DATA_CHARS]
