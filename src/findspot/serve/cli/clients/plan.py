"""From a client or a project to the change that sets it up, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from findspot.serve.cli.clients import instructions, jsontext, tomltext
from findspot.serve.cli.clients.change import Change, ConfigUnreadableError, Journal, Record, read
from findspot.serve.cli.clients.known import BY_NAME, SERVER, Client
from findspot.serve.cli.clients.text import MalformedError, decode

INSTRUCTIONS = "instructions"
"""The owner of what is written to a project's page for assistants."""

_PUT: dict[str, Callable[[str, tuple[str, ...], dict[str, Any], str], str]] = {
    "json": jsontext.put,
    "toml": tomltext.put,
}
_TAKE_OUT: dict[str, Callable[[str, tuple[str, ...]], str]] = {
    "json": jsontext.take_out,
    "toml": tomltext.take_out,
}


def with_server(client: Client, path: Path, command: list[str]) -> Change:
    """Return the client's configuration with Findspot in it."""
    before = read(path)
    try:
        written = decode(before or b"")
        keys = (*client.keys, SERVER)
        text = _PUT[client.format](written.text, keys, client.entry(command), written.newline)
    except MalformedError as error:
        raise ConfigUnreadableError(path, error) from None
    return Change(path, before, written.with_text(text).data)


def with_instructions(path: Path) -> Change:
    """Return a project's page for assistants with a paragraph on when to search."""
    before = read(path)
    try:
        written = decode(before or b"")
        text = instructions.put(written.text, written.newline)
    except MalformedError as error:
        raise ConfigUnreadableError(path, error) from None
    return Change(path, before, written.with_text(text).data)


def undone(record: Record, journal: Journal) -> Change:
    """Return a file as it was; where others have changed it since, only what is ours is taken out."""
    now = read(record.path)
    if record.is_ours(now):
        return Change(record.path, now, journal.original(record))
    if now is None:
        return Change(record.path, None, None)
    try:
        written = decode(now)
        text = _taken_out(record.owner, written.text, journal.original(record))
    except MalformedError as error:
        raise ConfigUnreadableError(record.path, error) from None
    return Change(record.path, now, written.with_text(text).data)


def _taken_out(owner: str, text: str, original: bytes | None) -> str:
    """Take out what set-up put in: Findspot's entry, and the table of servers if it made that too."""
    if owner == INSTRUCTIONS:
        return instructions.take_out(text)
    client = BY_NAME[owner]
    take_out = _TAKE_OUT[client.format]
    text = take_out(text, (*client.keys, SERVER))
    try:
        before, now = _values(client, decode(original or b"").text), _values(client, text)
    except MalformedError:
        return text
    ours = _at(before, client.keys) is None and _at(now, client.keys) == {}
    return take_out(text, client.keys) if ours else text


def server_in(client: Client, path: Path) -> dict[str, Any] | None:
    """Return what a client's configuration says about Findspot; None where it says nothing."""
    data = read(path)
    try:
        values = _values(client, decode(data or b"").text)
    except MalformedError as error:
        raise ConfigUnreadableError(path, error) from None
    there = _at(values, (*client.keys, SERVER))
    return there if isinstance(there, dict) else None


def _values(client: Client, text: str) -> Any:
    if client.format == "toml":
        return tomltext.parse(text)
    node = jsontext.parse(text)
    return node.value if node else None


def _at(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def snippet(client: Client, command: list[str]) -> str:
    """Return what to copy into a configuration that holds nothing else."""
    return _PUT[client.format]("", (*client.keys, SERVER), client.entry(command), "\n")
