"""The role of a file, told from its path: a test, an example, declarations, data, or plain source."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache


class Role(StrEnum):
    SOURCE = "source"
    TEST = "test"
    EXAMPLE = "example"
    DECLARATION = "declaration"
    DATA = "data"


_TEST = re.compile(
    r"(?:^|/)(?:[Tt]ests?|testing|__tests__|spec|specs|testdata|test_data|fixtures|__mocks__|mocks?|e2e)/"
    r"|[a-z.]Tests?/"  # androidTest, Shop.Tests
    r"|(?:^|/)(?:tests?|test_[^/]*|[^/]*_(?:test|unittest|spec)|[^/]*[.-](?:test|spec)|conftest)\.[^/]+$"
    r"|(?:^|/)[^/]*(?:Tests?|Spec|TestCase)\.(?:java|kt|kts|swift|cs|scala|php|groovy)$"
    r"|(?:^|/)[^/]+\.(?:bats)$"
)
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|tutorials?|playground|benchmarks?|bench|legacy|deprecated)/",
    re.IGNORECASE,
)
_DECLARATION = re.compile(r"\.d\.[cm]?ts$|\.pyi$")

_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_IMPLEMENTATIONS = (".c", ".cc", ".cpp", ".cxx", ".m", ".mm")

ASKS_FOR_TESTS = re.compile(
    r"\b(?:tests?|tested|testing|spec|specs|fixtures?|mocks?|mocked)\b", re.IGNORECASE
)
ASKS_FOR_EXAMPLES = re.compile(
    r"\b(?:examples?|samples?|demos?|tutorials?|benchmarks?|usage)\b", re.IGNORECASE
)


def declares_only(path: str, others: Collection[str]) -> bool:
    """Return whether a header has an implementation file next to it."""
    if not path.endswith(_HEADERS):
        return False
    stem = path.rpartition(".")[0]
    return any(stem + end in others for end in _IMPLEMENTATIONS)


@lru_cache(maxsize=100_000)
def role_of(path: str, data: bool = False) -> Role:
    """Return the first role that fits; names of folders are those in common use across languages."""
    if _TEST.search(path):
        return Role.TEST
    if _EXAMPLE.search(path):
        return Role.EXAMPLE
    if _DECLARATION.search(path):
        return Role.DECLARATION
    return Role.DATA if data else Role.SOURCE


_PACKAGE = "__init__.py"
"""In Python every import is public; what a package imports at its top is what it offers."""


@lru_cache(maxsize=256)
def _statements(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    stated = rf"^[ \t]*(?:pub(?:\([\w: ]+\))? use|export)\b[^;]*?{word}"
    offered = rf"^from [.\w]+ import (?:[^#(\n]*|\([^)]*){word}"
    return re.compile(stated, re.MULTILINE), re.compile(offered, re.MULTILINE)


def re_exports(path: str, text: str, name: str) -> bool:
    """Return whether it says `pub use …name`, `export { name } from …`, or is a package that imports it."""
    if name not in text:
        return False
    stated, offered = _statements(name)
    in_package = path == _PACKAGE or path.endswith(f"/{_PACKAGE}")
    return bool(stated.search(text) or (in_package and offered.search(text)))


@lru_cache(maxsize=100_000)
def reading_order(path: str) -> int:
    """Return what to show first: the code itself, then examples, then tests."""
    return {Role.EXAMPLE: 1, Role.TEST: 2}.get(role_of(path), 0)
