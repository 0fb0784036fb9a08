"""What several tools do: ask before they act, index, and answer from an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from findspot.core.errors import (
    DocsIndexNotFoundError,
    FileLimitError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
)
from findspot.core.model import IndexReport
from findspot.serve.mcp.call import Call
from findspot.serve.mcp.client import Reply
from findspot.serve.mcp.failures import AnsweredError, PathNotIndexedError
from findspot.serve.mcp.projects import Target, in_project, is_outside
from findspot.serve.mcp.registry import Answer

if TYPE_CHECKING:
    from findspot.project import Project

T = TypeVar("T")

OUTSIDE_QUESTION = "This folder is outside the folders that you work in. Index it?"


async def agree(
    call: Call,
    question: str,
    about: dict[str, Any],
    *,
    confirmed: bool,
    needed: bool,
    code: str | None = None,
) -> None:
    """Go on only if the user agrees.

    Where the client cannot be asked, what is `needed` waits for a second call with `confirm`. `code` names
    the reason for the question to programs.
    """
    reply = await call.client.agrees("\n".join((question, *map(str, about.values()))))
    if reply is Reply.NO:
        message = "Cancelled; nothing was changed."
        raise AnsweredError(Answer({"status": "cancelled", **about, "message": message}))
    if reply is Reply.UNASKED and needed and not confirmed:
        message = "Ask the user this question, and call again with confirm: true if the answer is yes."
        waiting = {"status": "confirmation_required", "question": question, **about, "message": message}
        raise AnsweredError(Answer(waiting | ({"code": code} if code else {})))


async def agree_to_folder(call: Call, project: Project, about: dict[str, Any], *, confirmed: bool) -> bool:
    """Ask before a folder is indexed that is none of the client's; False where nobody has to be asked."""
    if await call.quick(lambda _: project.store.exists) or not await is_outside(call, project.root):
        return False
    await agree(call, OUTSIDE_QUESTION, about, confirmed=confirmed, needed=True)
    return True


async def index(
    call: Call, project: Project, about: dict[str, Any], *, force: bool = False, confirmed: bool = False
) -> IndexReport:
    """Bring an index up to date; a project over `maxFiles` is asked about first."""
    try:
        return await _update(call, project, force=force, allow_large=False)
    except FileLimitError as large:
        await agree(call, large.user_message, about, confirmed=confirmed, needed=True, code=large.code)
    return await _update(call, project, force=force, allow_large=True)


async def _update(call: Call, project: Project, *, force: bool, allow_large: bool) -> IndexReport:
    return await call.long(
        lambda progress, cancel: project.update(
            force=force, allow_large=allow_large, progress=progress, cancel=cancel
        )
    )


async def from_index(
    call: Call, named: str | None, work: Callable[[Target], T], *, by_path: bool = False
) -> T:
    """Answer from an index: one that is missing is built if the user agrees, a damaged one is rebuilt."""
    found: list[Target] = []

    def asked(target: Target) -> T:
        found.append(target)
        return work(target)

    try:
        return await in_project(call, named, asked)
    except (DocsIndexNotFoundError, IndexFormatError):
        raise
    except IndexNotFoundError as missing:
        target = found[-1]
        if call.read_only:
            raise PathNotIndexedError(target.named, missing) if by_path else missing from None
        question = f"{missing.user_message}\n{target.project.root}"
        if await call.client.accepts(question) is not Reply.YES:
            raise PathNotIndexedError(target.named, missing) if by_path else missing from None
    except IndexCorruptError:
        if call.read_only:
            raise
        target = found[-1]
    await index(call, target.project, {"projectPath": str(target.project.root)})
    return await call.quick(lambda _: work(target))


async def indexed_project(call: Call, named: str | None) -> Target:
    """Return a project that has an index by now, for work that takes longer than looking it up."""

    def ready(target: Target) -> Target:
        with target.project.store.snapshot():
            return target

    return await from_index(call, named, ready, by_path=True)
