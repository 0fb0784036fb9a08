"""What is offered beside tools, as plain values: resources, prompts, and completions of their arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from findspot.serve.mcp.registry import Media

if TYPE_CHECKING:
    from findspot.serve.mcp.call import Call


@dataclass(frozen=True, slots=True)
class Place:
    """A resource, or with `{…}` in its address a family of them."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str

    @property
    def is_template(self) -> bool:
        return "{" in self.uri


@dataclass(frozen=True, slots=True)
class Contents:
    """What a resource holds: a text, or bytes in base64."""

    mime_type: str
    text: str | None = None
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """Contents that travel with a message."""

    uri: str
    contents: Contents


Message = str | Media | Embedded
"""What the user is made to say."""


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question worth asking, ready to be filled in."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[dict[str, str]], list[Message]]
    tools: frozenset[str] = frozenset()
    """What it tells the assistant to use; offered only with all of them."""


async def nothing(_call: Call, _uri: str) -> Contents | None:
    """No resource has that address."""
    return None


async def no_completions(_call: Call, _about: str, _argument: str, _value: str) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Offers:
    """Everything a server offers but its tools."""

    places: tuple[Place, ...] = ()
    read: Callable[[Call, str], Awaitable[Contents | None]] = nothing
    prompts: tuple[Prompt, ...] = ()
    complete: Callable[[Call, str, str, str], Awaitable[list[str]]] = no_completions
    """Every value that fits, for a known template or prompt; the wire takes the first of them."""
