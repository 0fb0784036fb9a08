"""The project that a call is about: found, indexed if the user agrees, and asked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from findspot.core import caller
from findspot.core.errors import (
    DocsIndexNotFoundError,
    FileLimitError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    PathNotFoundError,
    ProjectNotDetectedError,
    SeveralProjectsError,
)
from findspot.core.model import IndexReport
from findspot.discover.checkouts import find_root, named_folder, repository_address
from findspot.engine import Engine
from findspot.project import Project
from findspot.serve.mcp.access import INDEX_ID
from findspot.serve.mcp.client import Reply
from findspot.serve.mcp.tool import Answer, AnsweredError, PathNotIndexedError
from findspot.serve.mcp.tool_call import Call
from findspot.serve.project_files import covers, folder_in, limit_note, package_around, refuse_empty
from findspot.workspace import Asked, Workspace

T = TypeVar("T")

_CHOSEN = "findspot.chosen_folder"

_SHOWN_ROOTS = 3

_HERE, _ELSEWHERE = "Use current directory", "Enter a custom path"


_BY_ADDRESS = (
    "This server may have the project under another path: name it by the address of its repository, such as "
    "github.com/org/name (see `git remote get-url origin`). list_projects shows those that you can ask about."
)
OUTSIDE_QUESTION = "This folder is outside the folders that you work in. Index it?"


@dataclass(frozen=True, slots=True)
class Target:
    """What was asked for, the folder of it that is meant, and how the caller named it."""

    asked: Asked
    named: str
    under: str | None = None

    @property
    def project(self) -> Project:
        """The one project; an error for a workspace, of which some tools cannot be asked."""
        return self.asked.only()


def working_folder() -> Path:
    try:
        return caller.working_folder()
    except OSError:
        raise ProjectNotDetectedError("a folder that is gone") from None


async def find_project(call: Call, given: str | None, *, exact: bool = False) -> Target:
    """Return the project of a call; where it is only a part of one, the answer will say so.

    Tools that look are served from an index around the named folder, filtered to it; those that
    delete an index (`exact`) take a named folder literally.
    """
    target = await _locate(call, given, exact=exact)
    if target.under:
        call.warnings.append(limit_note(target.asked, target.under, f"Name {target.asked.root}"))
    return target


async def find_to_index(call: Call, given: str | None) -> Target:
    """Return the project that a call asks to index.

    A folder that an index around it covers is a part of that one: two indexes of one file would differ.
    """
    target = await _locate(call, given)
    if target.under and not await call.quick(lambda _: covers(target.project, str(target.under))):
        return await find_project(call, given, exact=True)
    return target


async def _locate(call: Call, given: str | None, *, exact: bool = False) -> Target:
    given = None if given == "." else given
    is_whole = given is not None and (given.startswith("~") or Path(given).is_absolute())
    roots = [] if is_whole else await _client_folders(call)  # asked for only where they matter

    def find(engine: Engine) -> Target:
        if given is not None:
            return _named(engine, given, (*roots, Path())[0] / given, exact, roots)
        return _of_roots(engine, roots, read_only=call.read_only) if roots else _detected(engine, exact)

    try:
        target = await call.quick(find)
    except PathNotFoundError as error:
        if call.client.grant is not None:
            error.hint = _BY_ADDRESS
        raise
    except SeveralProjectsError:
        raise
    except ProjectNotDetectedError:
        if given is not None:
            raise
        folder = await _ask_for_folder(call)
        target = await call.quick(lambda engine: _named(engine, folder, Path(folder), exact, []))
    call.project = target.asked
    return target


async def _client_folders(call: Call) -> list[Path]:
    grant, roots = call.client.grant, await call.client.folders()
    if grant is not None:
        roots = [folder for folder in roots if grant.covers(folder)]
    if not roots and (named := call.client.addresses):
        shown = ", ".join(named[:_SHOWN_ROOTS])
        call.warnings.append(
            f"None of the client's folders exists on this machine ({shown}). The server's own was used."
        )
    return roots


def _named(engine: Engine, given: str, path: Path, exact: bool, roots: list[Path]) -> Target:
    if INDEX_ID.fullmatch(given) and (project := engine.with_id(given)):
        return Target(project, given)
    is_name = given == Path(given).name and given not in (".", "..")
    around = _worked_in(engine, roots)
    if is_name and around and (chosen := around.chosen(given)):
        return Target(chosen, given)
    if around and around.roots.has_named(given):
        path = around.roots / given
    try:
        by_address = named_folder(given, engine.repositories()) if repository_address(given) else None
        folder = engine.folder(by_address or path)
    except PathNotFoundError:
        if chosen := engine.named(given):
            return Target(chosen, given)
        raise PathNotFoundError(given) from None
    return Target(engine.project(folder), given) if exact else _around(engine, folder, given, around)


def _worked_in(engine: Engine, roots: list[Path]) -> Workspace | None:
    """Return the workspace that a client works in, by its folders or else by the server's."""
    with contextlib.suppress(PathNotFoundError):  # the server's own folder may be gone
        return _several(engine, list(map(engine.folder, roots))) or engine.workspace((*roots, Path())[0])
    return None


def _around(engine: Engine, folder: Path, named: str, worked_in: Workspace | None = None) -> Target:
    """Return the index that covers a folder, filtered to it; else the workspace or project that it is."""
    inside = worked_in and worked_in.around(folder)
    if inside and engine.indexed_root(folder) in (None, inside.root):
        return Target(inside, named, folder_in(inside.only(), folder))
    workspace = engine.workspace(folder)
    if workspace is not None and workspace.here is None:
        return Target(workspace, named)
    project = engine.project(engine.indexed_root(folder) or folder)
    return Target(_with_members(workspace, project), named, folder_in(project, folder))


def _with_members(workspace: Workspace | None, project: Project) -> Asked:
    return workspace if workspace is not None and workspace.root == project.root else project


def _of_roots(engine: Engine, roots: list[Path], *, read_only: bool) -> Target:
    """Return the client's folders as one workspace, the repositories in each of them included.

    A server that may not index them answers from the index of its own folder instead, if there is one.
    """
    folders = [engine.folder(root) for root in roots]
    unindexed = not any(engine.indexed_root(folder) for folder in folders)
    if unindexed and read_only and engine.indexed_root(working_folder()):
        return _detected(engine, exact=False)
    several = _several(engine, folders)
    return Target(several, str(several.folder)) if several else _around(engine, folders[0], str(folders[0]))


def _several(engine: Engine, folders: list[Path]) -> Workspace | None:
    """Return a client's folders as one workspace; None where they are one project, or none."""
    found: list[Path] = []
    for folder in folders:
        inner = engine.workspace(folder)
        alone = engine.indexed_root(folder) or folder
        found += inner.members.values() if inner and inner.here is None else [alone]
    return engine.gathered(Path(os.path.commonpath(folders)), found) if len(set(found)) > 1 else None


def _detected(engine: Engine, exact: bool) -> Target:
    """Return what is around the working directory; a project nested in an index is a folder of it."""
    here = working_folder()
    workspace = engine.workspace(here)
    if workspace is not None and workspace.here is None:
        return Target(workspace, str(workspace.folder))
    project = engine.detect(here)
    under = None if exact or here == project.root else package_around(project, here)
    shown = project.roots / under if under else project.root
    return Target(_with_members(workspace, project), str(shown), under)


async def _ask_for_folder(call: Call) -> str:
    """Ask the user for the project's folder where none was detected; once per connection."""
    here, memory = str(working_folder()), call.client.memory
    if _CHOSEN not in memory:
        answer = await call.client.fill_in(
            f"Could not detect project root.\n[1] Use current directory: {here}\n[2] Enter a custom path",
            {
                "choice": {"type": "string", "title": "Choice", "enum": [_HERE, _ELSEWHERE]},
                "path": {"type": "string", "title": "Path", "description": "For a custom path"},
            },
            ["choice"],
        )
        chosen = here if answer.get("choice") == _HERE else answer.get("path")
        memory[_CHOSEN] = str(chosen or "").strip()
    if not memory[_CHOSEN]:
        raise ProjectNotDetectedError(here)
    return str(memory[_CHOSEN])


async def agree(
    call: Call,
    question: str,
    about: dict[str, Any],
    *,
    needed: bool,
    code: str | None = None,
    always: str = "",
) -> Reply:
    """Go on only if the user agrees.

    Where the client cannot be asked, what is `needed` waits for a second call with `confirm`. `code` names
    the reason for the question to programs; `always` is the title of a box beside the yes.
    """
    reply = await call.client.agrees("\n".join((question, *map(str, about.values()))), always)
    if reply is Reply.NO:
        message = "Cancelled; nothing was changed."
        raise AnsweredError(Answer({"status": "cancelled", **about, "message": message}))
    if reply is Reply.UNASKED and needed and not call.confirmed:
        message = "Ask the user this question, and call again with confirm: true if the answer is yes."
        waiting = {"status": "confirmation_required", "question": question, **about, "message": message}
        raise AnsweredError(Answer(waiting | ({"code": code} if code else {})))
    return reply


async def agree_to_folder(call: Call, asked: Asked, about: dict[str, Any]) -> bool:
    """Ask before indexing a folder outside the client's; return whether the user had to be asked.

    A token that names projects has settled what its client may index.
    """
    grant = call.client.grant
    is_settled = grant is not None and not grant.everything
    if is_settled or await call.quick(lambda _: asked.indexed or _is_here(asked.root)):
        return False
    if any(asked.root.is_relative_to(root.resolve()) for root in await call.client.folders()):
        return False
    await agree(call, OUTSIDE_QUESTION, about, needed=True)
    return True


def _is_here(folder: Path) -> bool:
    """Return whether a folder is in that of the server, or its project, unless it holds the user's home."""
    try:
        here, home = working_folder(), Path.home()
    except (ProjectNotDetectedError, RuntimeError):
        return False
    known = [around for around in (here, find_root(here)) if around and not home.is_relative_to(around)]
    return any(map(folder.is_relative_to, known))


async def index(call: Call, asked: Asked, about: dict[str, Any], *, force: bool = False) -> IndexReport:
    """Bring an index up to date; a project over `maxFiles` is asked about first."""

    async def update(*, allow_large: bool) -> IndexReport:
        return await call.long(
            lambda progress, cancel: asked.update(
                force=force, allow_large=allow_large, progress=progress, cancel=cancel
            )
        )

    try:
        report = await update(allow_large=False)
    except FileLimitError as large:
        await agree(call, large.user_message, about, needed=True, code=large.code)
        report = await update(allow_large=True)
    await call.quick(lambda _: refuse_empty(asked, report))
    return report


async def from_index(
    call: Call, named: str | None, work: Callable[[Target], T], *, by_path: bool = False
) -> T:
    """Answer from an index: one that is missing is built if the user agrees, a damaged one is rebuilt."""
    target = await find_project(call, named)
    try:
        return await call.quick(lambda _: work(target))
    except (DocsIndexNotFoundError, IndexFormatError):
        raise
    except IndexNotFoundError as missing:
        question = f"{missing.user_message}\n{target.asked.root}"
        if call.read_only or await call.client.accepts(question) is not Reply.YES:
            raise PathNotIndexedError(target.named, missing) if by_path else missing from None
    except IndexCorruptError:
        if call.read_only:
            raise
    await index(call, target.asked, {"projectPath": str(target.asked.root)})
    return await call.quick(lambda _: work(target))


async def indexed_project(call: Call, named: str | None) -> Target:
    """Return what has an index by now, for work that takes longer than looking it up."""

    def ready(target: Target) -> Target:
        target.asked.check()
        return target

    return await from_index(call, named, ready, by_path=True)
