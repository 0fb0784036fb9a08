"""Tools as they are offered: each defined once, in an order that stays."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from findspot.core.errors import FindspotError
from findspot.serve.mcp.arguments import Arguments, read_arguments

if TYPE_CHECKING:
    from findspot.serve.mcp.call import Call

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """A place that an answer points to: a file, or lines of one."""

    uri: str
    name: str
    description: str
    mime_type: str | None = None
    priority: float | None = None


@dataclass(frozen=True, slots=True)
class Media:
    """Sound or a picture, passed on as it is."""

    kind: Literal["audio", "image"]
    data: str
    """Base64."""
    mime_type: str


@dataclass(frozen=True, slots=True)
class Carried:
    """A resource that travels with the answer."""

    uri: str
    text: str
    mime_type: str


class TaskSupport(StrEnum):
    """Whether a call may, must or cannot go on after its request is answered."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back; without a text of its own, the text is the JSON of the values."""

    values: dict[str, Any]
    text: str | None = None
    hint: str | None = None
    """What to do next, for the reader of an error."""
    is_error: bool = False
    more: tuple[Link | Media | Carried, ...] = ()
    """What follows the text."""

    @property
    def shown(self) -> str:
        return json.dumps(self.values, ensure_ascii=False) if self.text is None else self.text


Handler = Callable[["Call", Arguments], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Tool:
    """Everything a user or a client can see of a tool, and the function behind it."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    annotations: dict[str, bool]
    icon: str
    handler: Handler
    enhancement: str = ""
    """Follows the description where `enhancedToolDescriptions` is set."""
    toolset: str = "project"
    clamped: frozenset[str] = frozenset({"limit", "top_k"})
    """Arguments whose values above the maximum are lowered to it, with a warning."""
    instead: dict[str, str] = field(default_factory=dict)
    """An argument that is required unless another one stands in for it → that one."""
    failure: Callable[[FindspotError], Answer] | None = None
    """How this tool tells its errors, where its specification has a way of its own."""
    task_support: TaskSupport = TaskSupport.FORBIDDEN

    def described(self, *, enhanced: bool) -> str:
        return self.description + self.enhancement if enhanced else self.description

    def read(self, given: dict[str, Any]) -> Arguments:
        """Return the arguments of a call, checked against the schema."""
        return read_arguments(self.input_schema, given, clamped=self.clamped, instead=self.instead)


class Registry:
    """Tools by name; registering a name again replaces the definition and keeps its place."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        self._tools[tool.name] = tool

    def find(self, name: str, toolsets: Sequence[str]) -> Tool | None:
        """Return the tool of that name, unless its toolset is not offered."""
        tool = self._tools.get(name)
        return tool if tool and tool.toolset in toolsets else None

    def offered(self, toolsets: Sequence[str]) -> list[Tool]:
        return [tool for tool in self if tool.toolset in toolsets]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())
