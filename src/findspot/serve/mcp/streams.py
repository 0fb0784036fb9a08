"""Messages on standard input and output, as the SDK takes and gives them.

Its own transport passes each through a task and a queue more on either side.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from findspot.serve.mcp.pipes import Lines, Writer


class _Stream:
    """What the SDK asks of either direction beside its messages."""

    def __init__(self) -> None:
        self._closed = False

    async def aclose(self) -> None:
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Incoming(_Stream):
    """What the client sends; a line that is no message is given as the error it is."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        line = await self._lines.next()
        if line is None or self._closed:
            raise StopAsyncIteration
        try:
            text = line.decode("utf-8", "replace")
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
        except (ValueError, RecursionError) as error:  # whatever the line holds, the next one may be right
            return error

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class Outgoing(_Stream):
    """What the client is told; once it is gone, its input is over as well."""

    def __init__(self, writer: Writer, lines: Lines) -> None:
        super().__init__()
        self._writer = writer
        self._lines = lines

    async def send(self, item: SessionMessage, /) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._writer.write(text.encode() + b"\n")
        except OSError:
            self._lines.end()
            raise anyio.BrokenResourceError from None
