"""Results of tool calls that fit a token budget; the whole text of a longer one is stored and read in pages.

Results have the form that the protocol gives them: `content`, `structuredContent`, `isError`. Stored results
are in memory, bounded in number, size and age, and readable only by the session that made the call.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from findspot.search.token_budget import CHARS_PER_TOKEN

ADDRESS = "findspot://results/"

_ADDRESS = re.compile(re.escape(ADDRESS) + r"([A-Za-z0-9_-]{16,64})/([0-9]{1,6})")

MAX_RESULTS = 100
MAX_CHARS = 32 * 1024 * 1024
"""Of all stored results together."""
MAX_AGE_S = 3600.0

MAX_MEDIA_CHARS = 6 * 1024 * 1024
"""Of the pictures and sounds of one answer, in base64."""

_NAMED, _NAME_CHARS = 10, 200
"""Parts that were left out, and how much of each is named."""

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a stored result."""

    number: int
    pages: int
    text: str
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
    pages: tuple[str, ...]


class StoredResults:
    """The results that were too long for an answer, by an address that cannot be guessed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._stored: dict[str, _Stored] = {}

    def store(self, pages: tuple[str, ...], owner: str | None) -> str | None:
        """Store pages for their owner; return the address without the page, or None if they are too large."""
        if sum(map(len, pages)) > MAX_CHARS:
            return None
        key = secrets.token_urlsafe(16)
        with self._guard:
            self._stored[key] = _Stored(owner, self._clock(), pages)
            self._drop_old()
            while len(self._stored) > MAX_RESULTS or self._chars() > MAX_CHARS:
                del self._stored[next(iter(self._stored))]
        return ADDRESS + key

    def read(self, address: str, owner: str | None) -> Page | None:
        """Return a page; None if there is none, it is too old or it belongs to somebody else."""
        matched = _ADDRESS.fullmatch(address)
        with self._guard:
            self._drop_old()
            stored = self._stored.get(matched[1]) if matched else None
        if matched is None or stored is None or stored.owner != owner:
            return None
        number, pages = int(matched[2]), len(stored.pages)
        if not 1 <= number <= pages:
            return None
        following = f"{ADDRESS}{matched[1]}/{number + 1}" if number < pages else None
        return Page(number, pages, stored.pages[number - 1], following)

    def forget(self, owner: str | None) -> None:
        """Drop everything that belongs to a session, which has ended."""
        with self._guard:
            self._stored = {key: stored for key, stored in self._stored.items() if stored.owner != owner}

    def _drop_old(self) -> None:
        oldest = self._clock() - MAX_AGE_S
        for key in [key for key, stored in self._stored.items() if stored.stored_at < oldest]:
            del self._stored[key]

    def _chars(self) -> int:
        return sum(len(page) for stored in self._stored.values() for page in stored.pages)


def pages_of(text: str, page_chars: int) -> tuple[str, ...]:
    """Return the pages of a text: each ends after a line, unless a line is longer than half a page."""
    pages, start = list[str](), 0
    while len(text) - start > page_chars:
        end = text.rfind("\n", start + page_chars // 2, start + page_chars) + 1 or start + page_chars
        pages.append(text[start:end])
        start = end
    return (*pages, text[start:])


def written_chars(value: Any) -> int:
    """Return how many characters a value has in an answer."""
    return len(json.dumps(value, ensure_ascii=False))


def fit_result(result: Result, max_tokens: int, results: StoredResults, owner: str | None) -> dict[str, Any]:
    """Return a result that fits the budget, with a note about where the whole can be read.

    Pictures and sound have a budget of their own: a model does not read them as text.
    """
    room = max_tokens * CHARS_PER_TOKEN
    fitted, notes = dict(result), list[str]()
    fitted["content"] = _fitting(result["content"], room, notes)
    texts = [part for part in fitted["content"] if _text_of(part) is not None]
    whole = "\n".join(filter(None, map(_text_of, texts)))
    structured = result.get("structuredContent")
    if structured is not None:
        written = json.dumps(structured, ensure_ascii=False)
        if len(written) > room:
            del fitted["structuredContent"]
            if not whole:
                whole = written
            elif not _is_same(whole, structured):
                pages = pages_of(written, room)
                notes.append(_structured_note(len(pages), results.store(pages, owner)))
    if len(whole) > room or written_chars(texts) - len(whole) > room:
        pages = pages_of(whole, room)
        others = [part for part in fitted["content"] if _text_of(part) is None]
        fitted["content"] = [{"type": "text", "text": pages[0]}, *others]
        if len(pages) > 1:
            notes.insert(0, _page_note(len(pages), results.store(pages, owner)))
    if written_chars(result.get("_meta")) > room:
        del fitted["_meta"]
        notes.append("Its _meta is too large and was left out.")
    if notes:
        note = {"type": "text", "text": " ".join(notes), "annotations": {"audience": ["assistant"]}}
        fitted["content"] = [*fitted["content"], note]
    return fitted


def _fitting(parts: Sequence[Result], room: int, notes: list[str]) -> list[Result]:
    """Return the texts, which are cut later, and the other parts that fit; a note names those that do not."""
    kept, left_out, media_room = list[Result](), list[Result](), MAX_MEDIA_CHARS
    for part in parts:
        if _text_of(part) is None:
            media, rest = len(part.get("data", "")), written_chars({**part, "data": ""})
            if media > media_room or rest > room:
                left_out.append(part)
                continue
            media_room, room = media_room - media, room - rest
        kept.append(part)
    if left_out:
        named = ", ".join(map(_name, left_out[:_NAMED]))
        more = f" and {len(left_out) - _NAMED:,} more" if len(left_out) > _NAMED else ""
        notes.append(f"Left out, since an answer cannot hold it: {named}{more}.")
    return kept


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


def _structured_note(pages: int, address: str | None) -> str:
    stored = f"has {pages} pages: {address}/1" if address else "is too large to store."
    return f"The structured content {stored}"


def _text_of(part: Mapping[str, Any]) -> str | None:
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "resource" and isinstance(part["resource"].get("text"), str):
        return f"{part['resource']['uri']}\n{part['resource']['text']}"
    return None


def decoded_bytes(data: str) -> int:
    """Return the size of base64 data once it is decoded."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _is_same(text: str, structured: Any) -> bool:
    """Return whether a text is the JSON of the structured content, as most servers send it."""
    try:
        return bool(json.loads(text) == structured)
    except ValueError:
        return False
