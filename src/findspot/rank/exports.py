"""Whether a passage hands on a name that is defined elsewhere: where others get it from."""

from __future__ import annotations

import re
from functools import lru_cache

_PACKAGE = "__init__.py"
"""In Python every import is public; what a package imports at its top is what it offers."""


@lru_cache(maxsize=256)
def _statements(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    stated = rf"^[ \t]*(?:pub(?:\([\w: ]+\))? use|export)\b[^;]*?{word}"
    offered = rf"^from [.\w]+ import (?:[^#(\n]*|\([^)]*){word}"
    return re.compile(stated, re.MULTILINE), re.compile(offered, re.MULTILINE)


def hands_on(path: str, text: str, name: str) -> bool:
    """Return whether it says `pub use …name`, `export { name } from …`, or is a package that imports it."""
    if name not in text:
        return False
    stated, offered = _statements(name)
    in_package = path == _PACKAGE or path.endswith(f"/{_PACKAGE}")
    return bool(stated.search(text) or (in_package and offered.search(text)))
