"""One thing that was looked at: how it stands, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a thing stands."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """A finding; `remedy` says what to do, and is empty only where nothing has to be done."""

    name: str
    state: State
    text: str
    remedy: str = ""


def ok(name: str, text: str) -> Check:
    return Check(name, State.OK, text)


def warning(name: str, text: str, remedy: str) -> Check:
    return Check(name, State.WARNING, text, remedy)


def error(name: str, text: str, remedy: str) -> Check:
    return Check(name, State.ERROR, text, remedy)
