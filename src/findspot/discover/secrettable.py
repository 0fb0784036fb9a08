"""Read the table of rules that find secrets in text."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

from findspot.core.files import content_hash

_TABLE = "secret_rules.toml"
_REVISION_CHARS = 8
_END = r"(?![\w-])"
"""A token ends where its service says; text that goes on is something else."""


@dataclass(frozen=True)
class Rule:
    """One kind of secret; the file's head explains the fields."""

    id: str
    kind: str
    keywords: tuple[str, ...]
    regex: str
    check: str = "token"
    where: str = "near"
    beside: str = ""
    joined: bool = False

    @property
    def anywhere(self) -> bool:
        return self.where == "anywhere"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; compiled on first use, since few files need it."""
        whole_token = self.group == 0 and self.check != "block"
        return re.compile(f"(?:{self.regex}){_END}" if whole_token else self.regex, re.ASCII)

    @property
    def group(self) -> str | int:
        return "secret" if "(?P<secret>" in self.regex else 0


@cache
def _text() -> str:
    return resources.files("findspot.discover").joinpath(_TABLE).read_text(encoding="utf-8")


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_text())


@cache
def table_revision() -> str:
    """Return what tells one table from another: an index made with another one is scanned again."""
    return content_hash(_text().encode())[:_REVISION_CHARS]


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules in the order of the table."""
    return tuple(Rule(**{**row, "keywords": tuple(row["keywords"])}) for row in _table()["rules"])
