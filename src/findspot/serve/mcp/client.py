"""The client at the other end of a call: what it can be asked, and what it is told."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from findspot.core.log import get_logger

_log = get_logger("mcp")

_ROOTS_TIMEOUT_S = 5.0
"""A client that does not say its roots in this time is served as if it had none."""

_NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}


class Reply(Enum):
    """What came of a question."""

    YES = "yes"
    NO = "no"
    UNASKED = "unasked"
    """The client cannot be asked."""


class Client:
    """One request's view of the client."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._context = context
        self._session = context.session

    @property
    def memory(self) -> dict[str, Any]:
        """What is remembered for as long as the client stays connected."""
        return self._session._connection.state

    @property
    def wants_progress(self) -> bool:
        return self._context.meta is not None and "progress_token" in self._context.meta

    async def report(self, done: float, total: float | None, message: str) -> None:
        await self._session.report_progress(done, total, message)

    async def agrees(self, question: str) -> Reply:
        """A question with yes or no for an answer."""
        result = await self._elicit(question, _NO_FIELDS)
        if result is None:
            return Reply.UNASKED
        return Reply.YES if result.action == "accept" else Reply.NO

    async def fill_in(self, question: str, fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
        """A question with fields to fill in; empty when it was not asked or not answered."""
        form = {"type": "object", "properties": fields, "required": required}
        result = await self._elicit(question, form)
        return dict(result.content or {}) if result and result.action == "accept" else {}

    async def roots(self) -> list[Path]:
        """The folders the client works in, as far as they exist here."""
        capabilities = self._session.client_capabilities
        if capabilities is None or capabilities.roots is None or not self._session.can_send_request:
            return []
        try:
            listed = await self._session.send_request(
                types.ListRootsRequest(),
                types.ListRootsResult,
                request_read_timeout_seconds=_ROOTS_TIMEOUT_S,
                metadata=ServerMessageMetadata(related_request_id=self._context.request_id),
            )
        except (MCPError, ValidationError) as error:
            _log.warning("the client declares roots but did not list them: %s", error)
            return []
        folders = (_folder(str(root.uri)) for root in listed.roots)
        return [folder for folder in folders if folder is not None]

    def _can_be_asked(self) -> bool:
        capabilities = self._session.client_capabilities
        offered = capabilities.elicitation if capabilities else None
        if offered is None or not self._session.can_send_request:
            return False
        return offered.form is not None or offered.url is None

    async def _elicit(self, question: str, form: dict[str, Any]) -> types.ElicitResult | None:
        if not self._can_be_asked():
            return None
        try:
            return await self._session.elicit_form(question, form, self._context.request_id)
        except (MCPError, ValidationError) as error:
            _log.warning("the client declares elicitation but could not be asked: %s", error)
            return None


def _folder(uri: str) -> Path | None:
    """The folder that a `file:` address names, if it is one here."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    try:
        path = Path(url2pathname(parts.path))
        return path if path.is_dir() else None
    except (OSError, ValueError):
        return None
