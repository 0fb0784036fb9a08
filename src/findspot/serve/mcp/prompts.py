"""Findspot's prompts: two ways into a codebase."""

from __future__ import annotations

from findspot.serve.mcp.offers import Message, Prompt, PromptArgument

_EXPLORE = (
    "Explore this codebase{where} and explain it to me. Begin with search_docs for what it is for, then "
    "search_by_path for its layout and search_code for its entry points and main types. Tell me: what it "
    "does, its parts and how data flows between them, where I would start reading. Name files and lines "
    "for each claim, and say what you did not look at."
)
_CHANGE = (
    "Find where to change this codebase so that: {change}\n\n"
    "Use search_code for the code that does this now and for its tests, code_research (such as: what calls "
    "NAME) for its callers, and search_docs for what documents it. Then list each place to change with file "
    "and lines, what to change there and why, in the order you would do it; and name what could break. "
    "Change nothing yet."
)


def _explore(given: dict[str, str]) -> list[Message]:
    where = f" below `{given['path']}`" if given.get("path") else ""
    return [_EXPLORE.replace("{where}", where)]


def _change(given: dict[str, str]) -> list[Message]:
    return [_CHANGE.replace("{change}", given["change"])]


PROMPTS = (
    Prompt(
        "explore_codebase",
        "Explore this codebase",
        "An overview of what the code does and where to start reading",
        (PromptArgument("path", "Only this folder or file"),),
        _explore,
        frozenset({"search_docs", "search_by_path", "search_code"}),
    ),
    Prompt(
        "find_where_to_change",
        "Find where to change something",
        "Every place that a change touches, before it is made",
        (PromptArgument("change", "What should be different", required=True),),
        _change,
        frozenset({"search_code", "code_research", "search_docs"}),
    ),
)
