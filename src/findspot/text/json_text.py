"""JSON whose writer cut a text inside a character, made readable."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
"""An escape; the group is half of a surrogate pair."""


def with_whole_characters(text: bytes) -> bytes:
    r"""Replace each half of a surrogate pair by U+FFFD; the length stays the same.

    JavaScript writes such a half (`\ud83d`) for a string that was cut inside an emoji. It is no text, so
    parsers refuse the whole message, though the call around it is right.
    """
    if b"\\u" not in text:
        return text
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], text)


def readable(message: bytes) -> bytes:
    """Return a message that can be parsed, with U+FFFD for every part that is no text."""
    return with_whole_characters(message.decode("utf-8", "replace").encode())
