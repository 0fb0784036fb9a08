"""The client at the other end of a call: and the questions it can be asked.

A question travels in one of three ways. Within a request of the versions up to 2025-11-25 it is a
request to the client. From 2026-07-28 on, the call is answered with the question and comes again
with the answer. In a task it waits with the task until the client fetches it.
"""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_args
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
import mcp_types as types
from anyio import from_thread
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from findspot.core.errors import LanguageModelError
from findspot.core.log import get_logger
from findspot.core.model import LINKING, Progress
from findspot.core.settings import ServeSettings
from findspot.llm import Completion, Prompt, Sample
from findspot.serve.mcp.access import Grant, grant_of
from findspot.serve.mcp.sdk import Context, connection_memory, is_cancelled, notify, on_disconnect
from findspot.serve.mcp.tasks import RELATED_TASK, Status, Task

_log = get_logger("mcp")

Result = TypeVar("Result", bound=BaseModel)

_ROOTS_TIMEOUT_S = 5.0
"""A client that does not say its roots in this time is served as if it had none."""

FORWARD_BOTH = frozenset({"github-copilot-developer"})
"""Clients that give their model both forms of an answer, by the name that they connect with."""

_ROOTS, _DECLINED, _LOG_LEVEL = "findspot.roots", "findspot.declined", "findspot.log_level"
_IS_FOLLOWED, _OWNER = "findspot.is_followed", "findspot.owner"
_LEVELS = get_args(types.LoggingLevel)
"""The least important first."""
_REPORT_EVERY_S = 0.2
_RESPONSES: TypeAdapter[dict[str, Any]] = TypeAdapter(types.InputResponses)


class Reply(Enum):
    YES = "yes"
    ALWAYS = "always"
    NO = "no"
    UNASKED = "unasked"
    """The client cannot be asked."""


def structured_results(client_name: str | None, serve: ServeSettings) -> str:
    """Return the shape of structured content for a client: `full`, `slim` or `only`.

    With `only` the text of the answer is a single line.
    """
    return "only" if client_name in FORWARD_BOTH else serve.structured_results


class InputNeededError(Exception):
    """The call cannot go on before the client has answered; it comes again with the answer."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


class Client:
    """The client of one request: who it is, and the questions it can be asked."""

    def __init__(
        self,
        context: Context,
        answers: Mapping[str, types.InputResponse] | None = None,
        state: str | None = None,
    ) -> None:
        """Take the answers that came with the request, and in `state` those of its earlier rounds."""
        self._context, self._session = context, context.session
        earlier = _RESPONSES.validate_json(state) if state else {}
        self._answers: dict[str, types.InputResponse] = {**earlier, **(answers or {})}
        self.memory = connection_memory(context)
        """What is remembered for as long as the client stays connected."""
        self.version = context.protocol_version
        self.addresses: list[str] = []
        """The client's folders as it named them, once it was asked for them."""
        self._folders: list[Path] | None = None
        self.task: Task | None = None

    @property
    def grant(self) -> Grant | None:
        """What the request's token allows; None on a server without tokens."""
        return grant_of(self._context)

    @property
    def connection(self) -> str:
        """Whose tasks, stored results and started servers a request uses: its connection's; without one, its
        pipe's or its token's.
        """
        if not self.modern:
            return str(self.memory.setdefault(_OWNER, uuid.uuid4().hex))
        if self._context.request is None:
            return str(self._context.lifespan_context)
        return "" if self.grant is None else f"token {self.grant.name}"

    def when_gone(self, action: Callable[[], object]) -> None:
        """Call one action when the client disconnects; none in a version without sessions."""
        if not self.modern and not self.memory.get(_IS_FOLLOWED):
            self.memory[_IS_FOLLOWED] = True
            on_disconnect(self._context, action)

    @property
    def name(self) -> str | None:
        params = self._session.client_params
        return params.client_info.name if params else None

    @property
    def modern(self) -> bool:
        """Whether the client speaks a version without requests from the server."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> types.ClientCapabilities:
        return self._session.client_capabilities or types.ClientCapabilities()

    @property
    def in_task(self) -> bool:
        """Whether the call goes on as a task that the client knows of."""
        return self.task is not None and self.task.kept

    @property
    def cancelled(self) -> bool:
        if self.task is not None and self.task.status is Status.CANCELLED:
            return True
        return is_cancelled(self._session)

    @property
    def wants_progress(self) -> bool:
        """Whether anybody would see how far the call is."""
        return _progress_token(self._context) is not None or self.in_task

    @property
    def can_be_asked(self) -> bool:
        """Whether a question can reach the client, in whichever way."""
        return self.modern or self.in_task or self._session.can_send_request

    async def report(self, done: float, total: float | None, message: str | None) -> None:
        """Say how far the call is; in a task the same token is used, on the connection's own channel."""
        if self.task is None or not self.task.kept:
            await self._session.report_progress(done, total, message)
        elif not self.task.finished:
            self.task.note(message or self.task.message)
            if (token := _progress_token(self._context)) is not None:
                about = {"progress": done, "total": total, "message": message}
                params: dict[str, Any] = {name: value for name, value in about.items() if value is not None}
                params |= {"progressToken": token, "_meta": {RELATED_TASK: {"taskId": self.task.id}}}
                await notify(self._session, "notifications/progress", params)

    async def log(self, level: types.LoggingLevel, data: Any, logger: str) -> None:
        """Send a log message, unless the client wants none of its level."""
        wanted = self.memory.get(_LOG_LEVEL)
        if wanted is None or _LEVELS.index(level) >= _LEVELS.index(wanted):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)  # clients of earlier versions want it
                sent = self._session.send_log_message(level, data, logger, self._context.request_id)
            await sent

    async def request(self, key: str, question: types.InputRequest, result: type[Result]) -> Result | None:
        """Return the answer to a question, in whichever way it travels; None for one of another kind."""
        if self.task is not None and self.task.kept:
            return result.model_validate(await self.task.ask(key, question))
        if self.modern:
            answer = self.answer_to(key, question)
            return answer if isinstance(answer, result) else None
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        return await self._session.send_request(question, result, metadata=related)

    def answer_to(self, key: str, question: types.InputRequest) -> types.InputResponse:
        """Return an answer that came with the call, or end the call with the question.

        Answers of earlier rounds come back sealed in the request's state.
        """
        if key in self._answers:
            return self._answers[key]
        state = _RESPONSES.dump_json(self._answers, by_alias=True, exclude_none=True)
        raise InputNeededError(
            types.InputRequiredResult(input_requests={key: question}, request_state=state.decode())
        )

    async def agrees(self, question: str, always: str = "") -> Reply:
        """Ask a question that is answered by yes or no; `always` is the title of a box beside the yes."""
        box = {"always": {"type": "boolean", "title": always, "default": False}} if always else {}
        form = {"type": "object", "properties": box}
        params = types.ElicitRequestFormParams(message=question, requested_schema=form)
        result = await self.elicit(params, key_of(question))
        if result is None:
            return Reply.UNASKED
        if result.action != "accept":
            return Reply.NO
        return Reply.ALWAYS if always and (result.content or {}).get("always") is True else Reply.YES

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
        """Ask for the values of fields; empty if the question was not asked or not answered."""
        form = {"type": "object", "properties": fields, "required": required}
        params = types.ElicitRequestFormParams(message=question, requested_schema=form)
        result = await self.elicit(params, key or key_of(question))
        return dict(result.content or {}) if result and result.action == "accept" else {}

    async def elicit(self, params: types.ElicitRequestParams, key: str) -> types.ElicitResult | None:
        """Ask a question of any kind; None if the client cannot ask it."""
        offered = self.capabilities.elicitation
        takes_forms = offered is not None and (offered.form is not None or offered.url is None)
        takes_addresses = offered is not None and offered.url is not None
        asks = takes_addresses if isinstance(params, types.ElicitRequestURLParams) else takes_forms
        if not asks or not self.can_be_asked:
            return None
        request = types.ElicitRequest(params=params)
        try:
            return await self.request(key, request, types.ElicitResult)
        except (MCPError, ValidationError) as error:
            _log.warning("the client declares elicitation but could not be asked: %s", error)
            return None

    async def folders(self) -> list[Path]:
        """Return the client's folders, as far as they exist on this machine."""
        if self._folders is None:
            listed = self.memory.get(_ROOTS) or await self._list_roots()
            self.addresses = [str(root.uri) for root in listed.roots] if listed else []
            folders = map(_folder, self.addresses)
            self._folders = [folder for folder in folders if folder is not None]
        return self._folders

    async def _list_roots(self) -> types.ListRootsResult | None:
        declared = self.capabilities.roots
        if declared is None or self.in_task or not self.can_be_asked:
            return None
        is_final = bool(declared.list_changed)
        try:
            with anyio.fail_after(_ROOTS_TIMEOUT_S):
                listed = await self.request("client_roots", types.ListRootsRequest(), types.ListRootsResult)
        except (MCPError, ValidationError, TimeoutError) as error:
            _log.warning("the client declares roots but did not list them: %r", error)
            listed, is_final = types.ListRootsResult(roots=[]), True
        if is_final and not self.modern:
            self.memory[_ROOTS] = listed
        return listed

    def sampler(self) -> Sample | None:
        """Return the client's language model, to be asked from a working thread; None if it has none."""
        if self.capabilities.sampling is None or not self.can_be_asked:
            return None
        return lambda prompt: from_thread.run(sample, self, prompt)


class Reporter:
    """Takes progress from the working thread as often as it comes; tells the client now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._latest = Progress(0, 0, "scanning")
        self._reported = -1
        self._before = 0
        """What the phases before this one counted, since no value may be smaller than the last one."""

    def __call__(self, progress: Progress) -> None:
        if progress.phase == LINKING != self._latest.phase:
            self._before += self._latest.total
        self._latest = progress

    async def keep_reporting(self) -> None:
        while True:
            await self.report()
            await anyio.sleep(_REPORT_EVERY_S)

    async def report(self) -> None:
        """Send the latest progress; a value is sent once, and never a smaller one after it."""
        now = self._latest
        done, total = self._before + now.done, self._before + now.total
        if done <= self._reported:
            return
        self._reported = done
        await self._client.report(done, total or None, _progress_message(now))


def _progress_message(progress: Progress) -> str:
    if not progress.total:
        return "Looking for files"
    what = "chunks" if progress.phase == "embedding" else "files"
    return f"{progress.phase.capitalize()}: {progress.done} of {progress.total} {what}"


def _progress_token(context: Context) -> str | int | None:
    return (context.meta or {}).get("progress_token")


async def sample(client: Client, prompt: Prompt) -> Completion:
    """Return what the client's language model answers, if its user lets it and within the prompt's time."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt.text))
    asked = types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[message], system_prompt=prompt.rules, max_tokens=prompt.max_tokens, temperature=0
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


def key_of(question: str) -> str:
    """Return the key of a question: the same each time, so that its answer is known when the call comes
    again.
    """
    return hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:16]


async def set_log_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    connection_memory(context)[_LOG_LEVEL] = params.level
    return types.EmptyResult()


async def forget_roots(context: Context, _: types.NotificationParams) -> None:
    """Forget a client's folders, which have changed; they are asked for when next needed."""
    connection_memory(context).pop(_ROOTS, None)


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
