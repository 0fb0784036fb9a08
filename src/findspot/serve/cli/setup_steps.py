"""The steps of `findspot setup`: one per file to write, shown as a diff, agreed to and written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, TEAM, Client
from findspot.core.config import load_settings
from findspot.core.errors import InvalidArgumentError, ProjectNotDetectedError
from findspot.core.setting_keys import PROJECT_FILE, PROJECT_TOOLSET, TOOLSETS
from findspot.serve.cli import output
from findspot.serve.cli.clients import config_files
from findspot.serve.cli.clients.config_files import (
    Change,
    ConfigUnreadableError,
    Journal,
    Python,
    serve_command,
)
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import ALL_TOOLSETS, Reply

TITLES = {
    config_files.INSTRUCTIONS: "Instructions for assistants",
    config_files.SETTINGS: "Settings of the project",
}
_TAB = 4
_MOST_CHARS = 300
_TOOLSETS_OPTION = "--toolsets"
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Step:
    """One file to write: the configuration of a client, or the project's page for assistants."""

    owner: str
    title: str
    path: Path
    change: Change
    problem: ConfigUnreadableError | None = None
    then: str = ""
    toolsets: str = ""

    @property
    def state(self) -> str:
        if self.problem:
            return "unreadable"
        if not self.change.needed:
            return "unchanged"
        if self.change.after is None:
            return "remove"
        return "create" if self.change.before is None else "change"


def client_step(client: Client, path: Path, toolsets: str) -> Step:
    """Return the step that writes a client's own configuration."""
    step = _file_step(client, path, serve_arguments(toolsets))
    return replace(step, then=client.then, toolsets=toolsets)


def _file_step(client: Client, path: Path, command: list[str], below: Path | None = None) -> Step:
    try:
        if below is not None:
            _require_inside(path, below)
        change = config_files.with_server(client, path, command)
    except ConfigUnreadableError as problem:
        return Step(client.name, client.title, path, Change(path, None, None), problem)
    return Step(client.name, client.title, path, change)


def serve_arguments(toolsets: str) -> list[str]:
    return serve_command(Python()) + ([_TOOLSETS_OPTION, toolsets] if toolsets else [])


def spelled(toolsets: tuple[str, ...]) -> str:
    return ALL_TOOLSETS if toolsets == TOOLSETS else ",".join(toolsets)


def toolsets_in(client: Client, path: Path) -> str:
    """Return the toolsets that a client's entry names: setting up again keeps them."""
    try:
        entry = config_files.server_in(client, path) or {}
    except ConfigUnreadableError:
        return ""
    arguments = config_files.command_in(entry)
    named = arguments[arguments.index(_TOOLSETS_OPTION) + 1 :] if _TOOLSETS_OPTION in arguments else []
    is_known = bool(named) and set(named[0].split(",")) <= {*TOOLSETS, ALL_TOOLSETS}
    return named[0] if is_known else ""


def default_toolsets() -> str:
    """Return what to write into a new entry: nothing if the user's own settings name toolsets."""
    return "" if "toolsets" in load_settings().sources else PROJECT_TOOLSET


def instruction_steps(root: Path | None, *, required: bool = False, about_server: str = "") -> list[Step]:
    """Return a step per page for assistants; `about_server` says where the tools come from."""
    if root is None:
        if required:
            raise ProjectNotDetectedError(str(Path.cwd()))
        return []
    return [_page_step(page, root, about_server) for page in config_files.pages(root)]


def _page_step(page: Path, root: Path, about_server: str) -> Step:
    about = (config_files.INSTRUCTIONS, TITLES[config_files.INSTRUCTIONS], page)
    try:
        _require_inside(page, root)
        return Step(*about, config_files.with_instructions(page, about_server))
    except ConfigUnreadableError as problem:
        return Step(*about, Change(page, None, None), problem)


def published_step(root: Path, address: str) -> Step:
    """Return the step that names, in the project's settings, where its index is published."""
    path = root / PROJECT_FILE
    about = (config_files.SETTINGS, TITLES[config_files.SETTINGS], path)
    try:
        _require_inside(path, root)
        return Step(*about, config_files.with_setting(path, config_files.PUBLISHED_AT, address))
    except ConfigUnreadableError as problem:
        return Step(*about, Change(path, None, None), problem)


def team_steps(root: Path, names: tuple[str, ...], toolsets: str, command: list[str]) -> list[Step]:
    """Return a step per file that a team commits, so that a clone is connected."""
    chosen = [BY_NAME[name] for name in names] or [client for client in CLIENTS if _is_used_in(root, client)]
    if without := [client.title for client in chosen if not client.project_file]:
        raise InvalidArgumentError(
            f"{without[0]} has no configuration in a project.", hint="Run `findspot setup` without --project."
        )
    steps = []
    for client in chosen:
        path = root / client.project_file
        offered = toolsets or toolsets_in(client, path) or PROJECT_TOOLSET
        steps.append(_file_step(client, path, [*command, _TOOLSETS_OPTION, offered], root))
    return steps


def _require_inside(path: Path, root: Path) -> None:
    """Refuse a link of a project that would have another file written."""
    if not path.resolve().is_relative_to(root.resolve()):
        raise ConfigUnreadableError(path, "it is a link that leads out of the project")


def _is_used_in(root: Path, client: Client) -> bool:
    return client.name in TEAM or bool(client.project_file and (root / client.project_file).is_file())


def carry_out(steps: list[Step], journal: Journal, reply: Reply, *, dry_run: bool, yes: bool) -> list[Step]:
    """Show, ask and write; returns the steps whose configuration could not be read."""
    if not steps:
        raise InvalidArgumentError(
            "No assistant was found on this machine.",
            hint="Name one with `findspot setup --client NAME`, or see `findspot setup --print`.",
        )
    needed = [step for step in steps if step.change.needed]
    if not reply.json:
        show_steps(steps, sure=yes and not dry_run)
    if needed and not dry_run:
        confirm(f"Write {output.count(len(needed), 'file')}?", yes, reply)
        with journal.locked():
            for step in needed:
                journal.apply(step.change, step.owner)
    if reply.json:
        output.emit({"status": "dry_run" if dry_run else "success", "steps": [as_object(s) for s in steps]})
    elif needed and not dry_run:
        _tell_next(needed, journal)
    return [step for step in steps if step.problem]


def show_steps(steps: list[Step], *, sure: bool) -> None:
    """Print what each step writes; `sure` if nobody is asked first."""
    for step in steps:
        if step.problem:
            output.warn(f"{step.title}: {step.problem.user_message}")
            output.note(f"hint: {step.problem.hint}")
            continue
        state = (
            "is already set up"
            if step.state == "unchanged"
            else f"{'will' if sure else 'would'} {step.state}"
        )
        output.line(f"{step.title} {state}: {step.path}", bold=True)
        show_diff(step.change)


def show_diff(change: Change) -> None:
    for text in change.diff()[2:]:
        shown = text[:1] + text[1:].expandtabs(_TAB)
        if len(shown) > _MOST_CHARS:  # a file may be one long line
            shown = shown[:_MOST_CHARS] + "…"
        output.line(f"  {shown}", fg=_DIFF_COLOURS.get(text[:1]))


def _tell_next(steps: list[Step], journal: Journal) -> None:
    for step in steps:
        output.line(f"{step.title}: done. {step.then}".rstrip(), fg="green")
    if any(step.toolsets == PROJECT_TOOLSET for step in steps):
        output.note(
            "Only the project's tools are offered; `findspot setup --toolsets all` adds the others.", dim=True
        )
    if journal.backups.is_dir():
        output.note(
            f"Backups are in {journal.backups}; `findspot setup --undo` restores the files.", dim=True
        )


def as_object(step: Step) -> dict[str, Any]:
    value = {"client": step.owner, "path": str(step.path), "action": step.state}
    if step.problem:
        return value | {"error": step.problem.user_message}
    return value | {"diff": "\n".join(step.change.diff())}
