"""Results of tool calls, in the form that the protocol gives them, cut to a token budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from findspot.search.token_budget import CHARS_PER_TOKEN
from findspot.text.snippet import listed

MAX_MEDIA_CHARS = 6 * 1024 * 1024
"""Of the pictures and sounds of one answer, in base64."""

_NAMED, _NAME_CHARS = 10, 200
"""Parts that were left out, and how much of each is named."""

Result = Mapping[str, Any]


def written_chars(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def fit_result(result: Result, max_tokens: int) -> dict[str, Any]:
    """Return a result that fits the budget, with a note about what is missing.

    Pictures and sound have a budget of their own: a model does not read them as text.
    """
    room = max_tokens * CHARS_PER_TOKEN
    fitted, notes = dict(result), list[str]()
    content, left_out = _fitting(result["content"], room)
    texts = [part for part in content if _text_of(part) is not None]
    shown = list(filter(None, map(_text_of, texts)))
    structured = result.get("structuredContent")
    if written_chars(structured) > room:
        del fitted["structuredContent"]
        if not any(_is_json_of(structured, text) for text in shown):  # most servers send both, as MCP asks
            shown.append(json.dumps(structured, ensure_ascii=False))
    whole = "\n".join(shown)
    if len(whole) > room or written_chars(texts) - len(whole) > room:
        begun = _beginning(whole, room)
        content = [{"type": "text", "text": begun}, *(part for part in content if _text_of(part) is None)]
        if len(begun) < len(whole):
            notes.append(f"Shortened to {len(begun):,} of {len(whole):,} characters. Ask for less at a time.")
    if left_out:
        notes.append(f"Left out, since an answer cannot hold it: {listed(map(part_name, left_out), _NAMED)}.")
    if written_chars(result.get("_meta")) > room:
        del fitted["_meta"]
        notes.append("Its _meta is too large and was left out.")
    if notes:
        content.append({"type": "text", "text": " ".join(notes), "annotations": {"audience": ["assistant"]}})
    return fitted | {"content": content}


def _fitting(parts: list[Result], room: int) -> tuple[list[Result], list[Result]]:
    """Return the texts, which are cut later, with the other parts that fit; and those that do not."""
    kept, left_out, media_room = list[Result](), list[Result](), MAX_MEDIA_CHARS
    for part in parts:
        if _text_of(part) is None:
            media, rest = len(part.get("data", "")), written_chars({**part, "data": ""})
            if media > media_room or rest > room:
                left_out.append(part)
                continue
            media_room, room = media_room - media, room - rest
        kept.append(part)
    return kept, left_out


def part_name(part: Result) -> str:
    """Return what a part is that is no text: its address or its type, its format and its size."""
    about = part.get("resource", part)
    data = part.get("data") or about.get("blob") or ""
    size = f"{len(data) * 3 // 4 - data[-2:].count('='):,} bytes" if data else ""
    known = (about.get("uri") or part["type"], about.get("mimeType"), size)
    return " ".join(filter(None, known))[:_NAME_CHARS]


def _beginning(text: str, chars: int) -> str:
    """Return the beginning of a text, which ends after a line unless its last line is long."""
    if len(text) <= chars:
        return text
    return text[: text.rfind("\n", chars // 2, chars) + 1 or chars]


def _is_json_of(structured: Any, text: str) -> bool:
    try:
        return bool(json.loads(text) == structured)
    except (ValueError, RecursionError):
        return False


def _text_of(part: Mapping[str, Any]) -> str | None:
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "resource" and isinstance(part["resource"].get("text"), str):
        return f"{part['resource']['uri']}\n{part['resource']['text']}"
    return None
