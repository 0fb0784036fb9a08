"""Results of tool calls that fit a token budget; the whole of a longer one is stored and read in pages.

Results have the form that the protocol gives them: `content`, `structuredContent`, `isError`. Stored results
are in memory, bounded in number, size and age, and readable only by the session that made the call.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from findspot.search.token_budget import CHARS_PER_TOKEN

ADDRESS = "findspot://results/"

_ADDRESS = re.compile(re.escape(ADDRESS) + r"([A-Za-z0-9_-]{16,64})/([0-9]{1,6})")

MAX_RESULTS = 100
MAX_CHARS = 32 * 1024 * 1024
"""Of all stored results together."""
MAX_AGE_S = 3600.0

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a stored result: a text, or bytes in base64."""

    number: int
    pages: int
    mime_type: str
    text: str | None = None
    blob: str | None = None
    next_address: str | None = None

    @property
    def note(self) -> str:
        """Where the page stands, and where the next one is."""
        return f"Page {self.number} of {self.pages}." + (
            f" Next: {self.next_address}" if self.next_address else ""
        )


@dataclass(frozen=True, slots=True)
class _Stored:
    owner: str | None
    stored_at: float
    content: str
    ends: tuple[int, ...]
    """Where each page ends; one page for bytes."""
    mime_type: str
    is_blob: bool


class StoredResults:
    """The results that were too long for an answer, by an address that cannot be guessed."""

    def __init__(
        self,
        *,
        max_results: int = MAX_RESULTS,
        max_chars: int = MAX_CHARS,
        max_age_s: float = MAX_AGE_S,
        clock: Callable[[], float] = time.monotonic,
        mark: str = "",
    ) -> None:
        """Store results of this process; `mark` begins their keys."""
        self._mark = mark
        self._max_results = max_results
        self._max_chars = max_chars
        self._max_age_s = max_age_s
        self._clock = clock
        self._guard = threading.Lock()
        self._stored: dict[str, _Stored] = {}

    def store(self, content: str, ends: tuple[int, ...], owner: str | None, mime_type: str) -> str | None:
        """Store a text for its owner; return its address without the page, or None if it is too large."""
        return self._add(_Stored(owner, self._clock(), content, ends, mime_type, is_blob=False))

    def store_blob(self, data: str, owner: str | None, mime_type: str) -> str | None:
        """Store bytes in base64, which have one page."""
        return self._add(_Stored(owner, self._clock(), data, (len(data),), mime_type, is_blob=True))

    def read(self, address: str, owner: str | None) -> Page | None:
        """Return a page; None if there is none, it is too old or it belongs to somebody else."""
        matched = _ADDRESS.fullmatch(address)
        with self._guard:
            self._drop_old()
            stored = self._stored.get(matched[1]) if matched else None
        if matched is None or stored is None or stored.owner != owner:
            return None
        number, pages = int(matched[2]), len(stored.ends)
        if not 1 <= number <= pages:
            return None
        start = stored.ends[number - 2] if number > 1 else 0
        content = stored.content[start : stored.ends[number - 1]]
        following = f"{ADDRESS}{matched[1]}/{number + 1}" if number < pages else None
        if stored.is_blob:
            return Page(number, pages, stored.mime_type, blob=content)
        return Page(number, pages, stored.mime_type, text=content, next_address=following)

    def forget(self, owner: str | None) -> None:
        """Drop everything that belongs to a session, which has ended."""
        with self._guard:
            self._stored = {key: stored for key, stored in self._stored.items() if stored.owner != owner}

    def _add(self, stored: _Stored) -> str | None:
        if len(stored.content) > self._max_chars:
            return None
        key = self._mark + secrets.token_urlsafe(16)
        with self._guard:
            self._stored[key] = stored
            self._drop_old()
            while len(self._stored) > self._max_results or self._chars() > self._max_chars:
                del self._stored[next(iter(self._stored))]
        return ADDRESS + key

    def _drop_old(self) -> None:
        oldest = self._clock() - self._max_age_s
        for key in [key for key, stored in self._stored.items() if stored.stored_at < oldest]:
            del self._stored[key]

    def _chars(self) -> int:
        return sum(len(stored.content) for stored in self._stored.values())


def page_ends(text: str, page_chars: int) -> tuple[int, ...]:
    """Return where the pages of a text end: after a line, unless a line is longer than half a page."""
    ends: list[int] = []
    start = 0
    while len(text) - start > page_chars:
        line_end = text.rfind("\n", start + page_chars // 2, start + page_chars)
        start = line_end + 1 if line_end >= 0 else start + page_chars
        ends.append(start)
    return (*ends, len(text))


def text_chars(result: Result) -> int:
    """Return about how many characters of a result are read as text."""
    structured = result.get("structuredContent")
    written = 0 if structured is None else len(json.dumps(structured, ensure_ascii=False))
    return written + sum(
        len(part.get("text", "")) + len(str(part.get("resource", ""))) for part in result["content"]
    )


def fit_result(result: Result, max_tokens: int, results: StoredResults, owner: str | None) -> dict[str, Any]:
    """Return a result whose texts fit the budget, with a note about where the whole can be read.

    Pictures and sound stay: a model does not read them as text.
    """
    room = max_tokens * CHARS_PER_TOKEN
    fitted = dict(result)
    fitted["content"] = content = [_without_blob(part, room, results, owner) for part in result["content"]]
    whole = "\n".join(text for part in content if (text := _text_of(part)) is not None)
    notes: list[str] = []
    structured = result.get("structuredContent")
    if structured is not None:
        written = json.dumps(structured, ensure_ascii=False)
        if len(written) > room:
            del fitted["structuredContent"]
            if not whole:
                whole = written
            elif not _is_same(whole, structured):
                notes.append(_stored_note("structured content", written, room, results, owner))
    if len(whole) > room:
        ends = page_ends(whole, room)
        address = results.store(whole, ends, owner, "text/plain")
        others = [part for part in content if _text_of(part) is None]
        fitted["content"] = [{"type": "text", "text": whole[: ends[0]]}, *others]
        notes.insert(0, _page_note(len(ends), address))
    if notes:
        note = {"type": "text", "text": " ".join(notes), "annotations": {"audience": ["assistant"]}}
        fitted["content"] = [*fitted["content"], note]
    return fitted


def _page_note(pages: int, address: str | None) -> str:
    if address is None:
        return f"Shortened: this is page 1 of {pages}; the rest is too large to store. Ask for less."
    return (
        f"Shortened: this is page 1 of {pages}. Read the next with resources/read, "
        f"or with call_tool and this address as name: {address}/2"
    )


def _stored_note(what: str, text: str, room: int, results: StoredResults, owner: str | None) -> str:
    ends = page_ends(text, room)
    address = results.store(text, ends, owner, "application/json")
    if address is None:
        return f"The {what} is too large to store."
    return f"The {what} has {len(ends)} pages: {address}/1"


def _text_of(part: Mapping[str, Any]) -> str | None:
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "resource" and isinstance(part["resource"].get("text"), str):
        return f"{part['resource']['uri']}\n{part['resource']['text']}"
    return None


def _without_blob(
    part: Mapping[str, Any], room: int, results: StoredResults, owner: str | None
) -> Mapping[str, Any]:
    """Return an embedded resource of many bytes as a text that says where to read it."""
    resource = part.get("resource") if part["type"] == "resource" else None
    blob = resource.get("blob") if resource else None
    if resource is None or not isinstance(blob, str) or len(blob) <= room:
        return part
    mime_type = resource.get("mimeType") or "application/octet-stream"
    address = results.store_blob(blob, owner, mime_type)
    where = f"read it at {address}/1" if address else "it is too large to store"
    size = decoded_bytes(blob)
    return {"type": "text", "text": f"[{resource['uri']}, {mime_type}, {size:,} bytes: {where}]"}


def decoded_bytes(data: str) -> int:
    """Return the size of base64 data once it is decoded."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _is_same(text: str, structured: Any) -> bool:
    """Return whether a text is the JSON of the structured content, as most servers send it."""
    try:
        return bool(json.loads(text) == structured)
    except ValueError:
        return False
