"""Results of tool calls that fit a token budget; the whole text of a longer one is stored and read in pages.

Results have the form that the protocol gives them: `content`, `structuredContent`, `isError`. Stored results
are in memory, bounded in number and size, and readable only by the session that made the call.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Mapping
from typing import Any

from findspot.search.token_budget import CHARS_PER_TOKEN

ADDRESS = "findspot://results/"

_ADDRESS = re.compile(re.escape(ADDRESS) + r"([A-Za-z0-9_-]{16,64})/([0-9]{1,6})")

MAX_RESULTS = 100
MAX_CHARS = 32 * 1024 * 1024
"""Of all stored results together."""

MAX_MEDIA_CHARS = 6 * 1024 * 1024
"""Of the pictures and sounds of one answer, in base64."""

_NAMED, _NAME_CHARS = 10, 200
"""Parts that were left out, and how much of each is named."""

Result = Mapping[str, Any]


class StoredResults:
    """The pages of results that were too long for an answer, by an address that cannot be guessed."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._stored: dict[str, tuple[str | None, tuple[str, ...]]] = {}

    def store(self, pages: tuple[str, ...], owner: str | None) -> str | None:
        """Store pages for their owner; return the address without the page, or None if they are too large."""
        if sum(map(len, pages)) > MAX_CHARS:
            return None
        key = secrets.token_urlsafe(16)
        with self._guard:
            self._stored[key] = owner, pages
            while len(self._stored) > MAX_RESULTS or self._chars() > MAX_CHARS:
                del self._stored[next(iter(self._stored))]
        return ADDRESS + key

    def read(self, address: str, owner: str | None) -> tuple[str, str] | None:
        """Return a page, and where it stands; None if there is none or it belongs to somebody else."""
        matched = _ADDRESS.fullmatch(address)
        with self._guard:
            stored = self._stored.get(matched[1]) if matched else None
        if matched is None or stored is None or stored[0] != owner:
            return None
        number, pages = int(matched[2]), stored[1]
        if not 1 <= number <= len(pages):
            return None
        following = f" Next: {ADDRESS}{matched[1]}/{number + 1}" if number < len(pages) else ""
        return pages[number - 1], f"Page {number} of {len(pages)}.{following}"

    def forget(self, owner: str | None) -> None:
        """Drop everything that belongs to a session, which has ended."""
        with self._guard:
            self._stored = {key: stored for key, stored in self._stored.items() if stored[0] != owner}

    def _chars(self) -> int:
        return sum(len(page) for _, pages in self._stored.values() for page in pages)


def pages_of(text: str, page_chars: int) -> tuple[str, ...]:
    """Return the pages of a text: each ends after a line, unless a line is longer than half a page."""
    pages, start = list[str](), 0
    while len(text) - start > page_chars:
        end = text.rfind("\n", start + page_chars // 2, start + page_chars) + 1 or start + page_chars
        pages.append(text[start:end])
        start = end
    return (*pages, text[start:])


def written_chars(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def fit_result(result: Result, max_tokens: int, results: StoredResults, owner: str | None) -> dict[str, Any]:
    """Return a result that fits the budget, with a note about where the whole can be read.

    Pictures and sound have a budget of their own: a model does not read them as text.
    """
    room = max_tokens * CHARS_PER_TOKEN
    fitted, notes = dict(result), list[str]()
    content, left_out = _fitting(result["content"], room)
    texts = [part for part in content if _text_of(part) is not None]
    whole = "\n".join(filter(None, map(_text_of, texts)))
    written = json.dumps(result.get("structuredContent"), ensure_ascii=False)
    if len(written) > room:
        structured = fitted.pop("structuredContent")
        if not whole or not _is_same(whole, structured):
            whole = f"{whole}\n{written}".lstrip("\n")
    if len(whole) > room or written_chars(texts) - len(whole) > room:
        pages = pages_of(whole, room)
        content = [{"type": "text", "text": pages[0]}, *(part for part in content if _text_of(part) is None)]
        if len(pages) > 1:
            notes.append(_page_note(len(pages), results.store(pages, owner)))
    if left_out:
        named = ", ".join(map(_name, left_out[:_NAMED]))
        more = f" and {len(left_out) - _NAMED:,} more" if len(left_out) > _NAMED else ""
        notes.append(f"Left out, since an answer cannot hold it: {named}{more}.")
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


def _name(part: Result) -> str:
    about = part.get("resource", part)
    data = part.get("data") or about.get("blob") or ""
    size = f"{decoded_bytes(data):,} bytes" if data else ""
    known = (about.get("uri") or part["type"], about.get("mimeType"), size)
    return " ".join(filter(None, known))[:_NAME_CHARS]


def _page_note(pages: int, address: str | None) -> str:
    if address is None:
        return f"Shortened: this is page 1 of {pages}; the rest is too large to store. Ask for less."
    return (
        f"Shortened: this is page 1 of {pages}. Read the next with call_tool and this address as name: "
        f"{address}/2"
    )


def _text_of(part: Mapping[str, Any]) -> str | None:
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "resource" and isinstance(part["resource"].get("text"), str):
        return f"{part['resource']['uri']}\n{part['resource']['text']}"
    return None


def decoded_bytes(data: str) -> int:
    return len(data) * 3 // 4 - data[-2:].count("=")


def _is_same(text: str, structured: Any) -> bool:
    """Return whether a text is the JSON of the structured content, as most servers send it."""
    try:
        return bool(json.loads(text) == structured)
    except ValueError:
        return False
