"""The client at the other end of a call: what it can be asked, and what it is told.

A question travels in one of three ways. Within a request of the versions up to 2025-11-25 it is a
request to the client. From 2026-07-28 on, the call is answered with the question and comes again
with the answer. In a task it waits with the task until the client fetches it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
import mcp_types as types
from anyio import from_thread
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from findspot.core.errors import LanguageModelError
from findspot.core.log import get_logger
from findspot.llm.language_model import Completion, Prompt, Sample
from findspot.serve.mcp.access import IN_SCOPE, Grant
from findspot.serve.mcp.tasks import RELATED_TASK, Status, Task

_log = get_logger("mcp")

Result = TypeVar("Result", bound=BaseModel)

_ROOTS_TIMEOUT_S = 5.0
"""A client that does not say its roots in this time is served as if it had none."""

_ROOTS, _ROOTS_AGE = "findspot.roots", "findspot.roots_age"
_DECLINED = "findspot.declined"
_NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}
_RESPONSES: TypeAdapter[dict[str, Any]] = TypeAdapter(types.InputResponses)


class Reply(Enum):
    """What came of a question."""

    YES = "yes"
    NO = "no"
    UNASKED = "unasked"
    """The client cannot be asked."""


class InputNeededError(Exception):
    """The call cannot go on before the client has answered; it comes again with the answer."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


class Client:
    """One request's view of the client."""

    def __init__(
        self,
        context: ServerRequestContext[Any, Any],
        heard: Mapping[str, types.InputResponse] | None = None,
        state: str | None = None,
    ) -> None:
        self._context = context
        self._session = context.session
        self._connection = context.session._connection
        earlier = _RESPONSES.validate_json(state) if state else {}
        self._heard: dict[str, types.InputResponse] = {**earlier, **(heard or {})}
        self._roots: list[Path] | None = None
        self.named_roots: list[str] = []
        """The addresses that the client gave, once `roots` was asked."""
        self.task: Task | None = None

    @property
    def grant(self) -> Grant | None:
        """What the request's token allows; None on a server without tokens."""
        return grant_of(self._context)

    @property
    def memory(self) -> dict[str, Any]:
        """What is remembered for as long as the client stays connected."""
        return self._connection.state

    @property
    def cancelled(self) -> bool:
        """Whether the client cancelled the call, or the task that it became."""
        if self.task is not None and self.task.status is Status.CANCELLED:
            return True
        requested = getattr(self._session._request_outbound, "cancel_requested", None)
        return requested is not None and requested.is_set()

    @property
    def modern(self) -> bool:
        """Whether the client speaks a version without requests from the server."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def version(self) -> str:
        """The version of the protocol that the request is made in."""
        return self._context.protocol_version

    @property
    def wants_progress(self) -> bool:
        return self._token is not None or self._in_task

    @property
    def _token(self) -> str | int | None:
        return (self._context.meta or {}).get("progress_token")

    @property
    def _in_task(self) -> bool:
        return self.task is not None and self.task.kept

    async def report(self, done: float, total: float | None, message: str) -> None:
        """How far the call is; in a task the same token is used, on the connection's own channel."""
        if self.task is None or not self.task.kept:
            await self._session.report_progress(done, total, message)
        elif not self.task.finished:
            self.task.note(message)
            if self._token is not None:
                told: dict[str, Any] = {"progressToken": self._token, "progress": done}
                told |= {"total": total, "message": message}
                known = {name: value for name, value in told.items() if value is not None}
                known |= {"_meta": {RELATED_TASK: {"taskId": self.task.id}}}
                await self._connection.notify("notifications/progress", known)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the client something that belongs to no request."""
        await self._connection.notify(method, params)

    async def agrees(self, question: str) -> Reply:
        """Return a question with yes or no for an answer."""
        result = await self._elicit(question, _NO_FIELDS)
        if result is None:
            return Reply.UNASKED
        return Reply.YES if result.action == "accept" else Reply.NO

    async def accepts(self, question: str) -> Reply:
        """Offer what the user did not ask for; a no holds for as long as the client stays connected."""
        declined: set[str] = self.memory.setdefault(_DECLINED, set())
        if question in declined:
            return Reply.NO
        reply = await self.agrees(question)
        if reply is Reply.NO:
            declined.add(question)
        return reply

    async def fill_in(
        self, question: str, fields: dict[str, Any], required: list[str], key: str | None = None
    ) -> dict[str, Any]:
        """Return a question with fields to fill in; empty when it was not asked or not answered."""
        form = {"type": "object", "properties": fields, "required": required}
        result = await self._elicit(question, form, key)
        return dict(result.content or {}) if result and result.action == "accept" else {}

    async def roots(self) -> list[Path]:
        """Return the folders the client works in, as far as they exist here."""
        if self._roots is None:
            listed = self.memory.get(_ROOTS) or await self._listed_roots()
            self.named_roots = [str(root.uri) for root in listed.roots] if listed else []
            folders = map(_folder, self.named_roots)
            self._roots = [folder for folder in folders if folder is not None]
        return self._roots

    async def _listed_roots(self) -> types.ListRootsResult | None:
        capabilities = self._session.client_capabilities
        if capabilities is None or capabilities.roots is None or self._in_task:
            return None
        if self.modern:
            listed = self._answer_to("client_roots", types.ListRootsRequest())
            return listed if isinstance(listed, types.ListRootsResult) else None
        if not self._session.can_send_request:
            return None
        age = self.memory.get(_ROOTS_AGE, 0)
        try:
            listed = await self._session.send_request(
                types.ListRootsRequest(),
                types.ListRootsResult,
                request_read_timeout_seconds=_ROOTS_TIMEOUT_S,
                metadata=ServerMessageMetadata(related_request_id=self._context.request_id),
            )
        except (MCPError, ValidationError) as error:
            _log.warning("the client declares roots but did not list them: %s", error)
            if self.memory.get(_ROOTS_AGE, 0) == age:  # else they are others by now, and may be listed
                self.memory[_ROOTS] = types.ListRootsResult(roots=[])
            return None
        if capabilities.roots.list_changed and self.memory.get(_ROOTS_AGE, 0) == age:
            self.memory[_ROOTS] = listed
        return listed

    def sampler(self) -> Sample | None:
        """Return the client's own language model, to be asked from a working thread; None where it offers
        none.
        """
        capabilities = self._session.client_capabilities
        if capabilities is None or capabilities.sampling is None or not self._can_hear():
            return None
        return lambda prompt: from_thread.run(sample, self, prompt)

    def _can_hear(self) -> bool:
        return self.modern or self._in_task or self._session.can_send_request

    def _can_be_asked(self) -> bool:
        capabilities = self._session.client_capabilities
        offered = capabilities.elicitation if capabilities else None
        if offered is None or not self._can_hear():
            return False
        return offered.form is not None or offered.url is None

    async def _elicit(
        self, question: str, form: dict[str, Any], key: str | None = None
    ) -> types.ElicitResult | None:
        if not self._can_be_asked():
            return None
        asked = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=question, requested_schema=form)
        )
        key = key or key_of(question)
        try:
            return await self.request(key, asked, types.ElicitResult)
        except (MCPError, ValidationError) as error:
            _log.warning("the client declares elicitation but could not be asked: %s", error)
            return None

    async def request(self, key: str, asked: types.InputRequest, result: type[Result]) -> Result | None:
        """Return the answer to a question, in whichever way it travels; None for an answer of another
        kind.
        """
        if self.task is not None and self.task.kept:
            assert asked.params is not None
            params = asked.params.model_dump(by_alias=True, mode="json", exclude_none=True)
            return result.model_validate(await self.task.ask(key, asked.method, params))
        if self.modern:
            answer = self._answer_to(key, asked)
            return answer if isinstance(answer, result) else None
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        return await self._session.send_request(asked, result, metadata=related)

    def _answer_to(self, key: str, request: types.InputRequest) -> types.InputResponse:
        """Return what the client answered; answers of earlier rounds come back sealed in the request's
        state.
        """
        if key in self._heard:
            return self._heard[key]
        state = _RESPONSES.dump_json(self._heard, by_alias=True, exclude_none=True)
        asked = types.InputRequiredResult(input_requests={key: request}, request_state=state.decode())
        raise InputNeededError(asked)


async def sample(client: Client, prompt: Prompt) -> Completion:
    """Return what the client's language model answers, if its user lets it and within the prompt's time."""
    said = types.SamplingMessage(role="user", content=types.TextContent(text=prompt.text))
    asked = types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[said], system_prompt=prompt.rules, max_tokens=prompt.max_tokens, temperature=0
        )
    )
    try:
        with anyio.fail_after(prompt.timeout_s):
            answer = await client.request(key_of(prompt.text), asked, types.CreateMessageResult)
    except (MCPError, ValidationError) as error:
        raise LanguageModelError(f"client: {error}") from error
    except TimeoutError as error:
        raise LanguageModelError(f"client: no answer within {prompt.timeout_s:.0f} seconds") from error
    if answer is None or not isinstance(answer.content, types.TextContent):
        raise LanguageModelError("client: its answer holds no text")
    return Completion(answer.content.text, f"client:{answer.model}" if answer.model else "client")


def grant_of(context: ServerRequestContext[Any, Any]) -> Grant | None:
    """Return the grant that a request came in with."""
    found: Grant | None = getattr(context.request, "scope", {}).get(IN_SCOPE)
    return found


def key_of(question: str) -> str:
    """Return the same question has the same key, so that its answer is known when the call comes again."""
    return hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:16]


def forget_roots(context: ServerRequestContext[Any, Any]) -> None:
    """The client's folders are others now; they are asked for when next needed."""
    memory = context.session._connection.state
    memory.pop(_ROOTS, None)
    memory[_ROOTS_AGE] = memory.get(_ROOTS_AGE, 0) + 1


def _folder(uri: str) -> Path | None:
    """Return the folder that a `file:` address names, if it is one here."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    try:
        path = Path(url2pathname(parts.path))
        return path if path.is_dir() else None
    except (OSError, ValueError):
        return None
