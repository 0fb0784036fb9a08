"""The compiled part: see `findspot.core.platforms.native`. Arrays are anything with a buffer."""

from collections.abc import Callable, Sequence
from typing import Any

def count_words(texts: list[str]) -> tuple[bytearray, bytearray, bytearray, bytearray]: ...
def row_scores(rows: Any, scales: Any, query: Any, keep: Any, out: Any) -> None: ...

class TokenTexts:
    def __new__(
        cls, missing: Callable[[str], str], endings: Sequence[tuple[str, str, bool]], most: int, /
    ) -> TokenTexts: ...
    def join(self, texts: tuple[str, ...], /) -> str: ...

class WordVectors:
    def __new__(
        cls,
        vocabulary: bytes,
        table: Any,
        layout: tuple[int, int, int, int],
        parts: Callable[[str], list[str]],
        most: int,
        /,
    ) -> WordVectors: ...
    def __len__(self) -> int: ...
    def knows(self, word: str, /) -> bool: ...
    def sum(self, texts: list[tuple[str, ...]], rows: Any, /) -> None: ...
