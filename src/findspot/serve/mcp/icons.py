"""Small pictures for the tools, drawn with one stroke each and carried in the address itself."""

from __future__ import annotations

from urllib.parse import quote

_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' "
    "stroke='#2563eb' stroke-width='2'><path d='{}'/></svg>"
)


def _drawn(path: str) -> str:
    return "data:image/svg+xml," + quote(_SVG.format(path), safe="/:='(),")


SEARCH = _drawn("M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM15 15l6 6")
INDEX = _drawn("M4 5h16M4 12h16M4 19h10")
STATUS = _drawn("M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 8v5M12 16v1")
REMOVE = _drawn("M4 6h16M9 6V4h6v2M6 6l1 14h10l1-14")
