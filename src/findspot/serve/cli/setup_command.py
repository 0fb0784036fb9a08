"""`findspot setup`: connect the assistants on this machine to Findspot, and undo it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, Client, Machine
from findspot.core.config import home_folder, load_settings
from findspot.core.errors import InvalidArgumentError, ProjectNotDetectedError
from findspot.core.setting_keys import CATALOGUE_TOOLSET, PROJECT_TOOLSET, TOOLSETS
from findspot.serve.cli import output
from findspot.serve.cli.clients import config_files
from findspot.serve.cli.clients.config_files import (
    Change,
    ConfigUnreadableError,
    Journal,
    Python,
    Record,
    serve_command,
)
from findspot.serve.cli.interaction import can_ask, confirm, prompt
from findspot.serve.cli.options import (
    ALL_TOOLSETS,
    Reply,
    common,
    path_or_project,
    toolsets_option,
    yes_option,
)
from findspot.serve.cli.project_choice import open_engine, open_project

if TYPE_CHECKING:
    from findspot.engine import Engine
    from findspot.serve.cli.clients.moved_servers import Gateway, MovableServer

_INSTRUCTIONS_TITLE = "Instructions for assistants"
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


@click.command()
@path_or_project
@click.option("--client", "names", multiple=True, type=click.Choice(list(BY_NAME)), help="Only this one.")
@toolsets_option("Toolsets to offer, such as `project,documents`, or `all`. Default: project; asks.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--undo", is_flag=True, help="Restore the files that setup changed.")
@click.option(
    "--gateway", is_flag=True, help="Move the clients' other servers behind Findspot; asks for each."
)
@click.option("--print", "show", is_flag=True, help="Print what to copy into each configuration by hand.")
@click.option(
    "--instructions/--no-instructions",
    "instruct",
    default=None,
    help="Tell assistants in the project's AGENTS.md or CLAUDE.md when to search. Default: ask.",
)
@click.option(
    "--index/--no-index", "index_now", default=None, help="Index the project afterwards. Default: ask."
)
@yes_option
@common
def setup(
    reply: Reply,
    *,
    project: str | None,
    names: tuple[str, ...],
    toolsets: tuple[str, ...],
    dry_run: bool,
    undo: bool,
    gateway: bool,
    show: bool,
    instruct: bool | None,
    index_now: bool | None,
    yes: bool,
) -> None:
    """Connect the assistants on this machine to Findspot.

    Finds Claude Code, Claude Desktop, Cursor, Windsurf, VS Code, Copilot CLI, Codex, Gemini CLI, Zed,
    opencode, Cline, Roo Code, Continue, JetBrains Junie, Amp, Goose, Qwen Code and Kilo Code, shows what
    it would write into the configuration of each, asks, and writes it. Nothing else in those files is
    touched, and each is kept as it was for --undo.

    With --gateway, the other MCP servers of those clients move behind Findspot, which then finds and
    calls their tools: the assistant reads three tools instead of all of theirs.
    """
    machine, journal = Machine(), Journal(home_folder())
    if show:
        _print(names, toolsets, machine, reply)
    elif undo:
        _undo(names, journal, reply, dry_run=dry_run, yes=yes)
    elif gateway:
        with open_engine() as engine:
            _move_servers(engine, _targets(names, machine), journal, reply, dry_run=dry_run, yes=yes)
    else:
        quiet = reply.json or dry_run or (yes and index_now is False)
        root = None if quiet and not instruct else _project_root(project)
        targets = _targets(names, machine)
        default = _default_toolsets()
        if default and not (toolsets or yes or dry_run or reply.json):
            default = _offer_toolsets(targets, default)
        steps = [
            _step(client, path, _spelled(toolsets) or _toolsets_in(client, path) or default)
            for client, path in targets
        ]
        if instruct:
            steps += _instructions(root, required=True)
        failed = _carry_out(steps, journal, reply, dry_run=dry_run, yes=yes)
        if not dry_run and not reply.json:
            if instruct is None and not yes:
                _offer_instructions(root, journal)
            _offer_index(root, index_now)
        if failed:
            raise click.exceptions.Exit(1)


def _targets(names: tuple[str, ...], machine: Machine) -> list[tuple[Client, Path]]:
    """Return the configuration files of the clients that are installed, or that were named."""
    chosen = [BY_NAME[name] for name in names] or list(CLIENTS)
    return [
        (client, path)
        for client in chosen
        for path in client.configs(machine) or (client.locations(machine)[:1] if names else [])
    ]


def _step(client: Client, path: Path, toolsets: str) -> Step:
    try:
        change = config_files.with_server(client, path, _command(toolsets))
    except ConfigUnreadableError as problem:
        return Step(client.name, client.title, path, Change(path, None, None), problem)
    return Step(client.name, client.title, path, change, then=client.then, toolsets=toolsets)


def _command(toolsets: str) -> list[str]:
    return serve_command(Python()) + ([_TOOLSETS_OPTION, toolsets] if toolsets else [])


def _spelled(toolsets: tuple[str, ...]) -> str:
    return ALL_TOOLSETS if toolsets == TOOLSETS else ",".join(toolsets)


def _toolsets_in(client: Client, path: Path) -> str:
    """Return the toolsets that a client's entry names: setting up again keeps them."""
    try:
        entry = config_files.server_in(client, path) or {}
    except ConfigUnreadableError:
        return ""
    arguments = config_files.command_in(entry)
    named = arguments[arguments.index(_TOOLSETS_OPTION) + 1 :] if _TOOLSETS_OPTION in arguments else []
    is_known = bool(named) and set(named[0].split(",")) <= {*TOOLSETS, ALL_TOOLSETS}
    return named[0] if is_known else ""


def _default_toolsets() -> str:
    """Return what to write into a new entry: nothing if the user's own settings name toolsets."""
    return "" if "toolsets" in load_settings().sources else PROJECT_TOOLSET


def _offer_toolsets(targets: list[tuple[Client, Path]], default: str) -> str:
    """Ask which toolsets new entries offer, if there is somebody to ask and a new entry."""
    if not can_ask() or all(_toolsets_in(client, path) for client, path in targets):
        return default
    from findspot.serve.mcp.tool_results import tool_tokens
    from findspot.serve.mcp.tools import all_tools

    others = [name for name in TOOLSETS if name != PROJECT_TOOLSET]
    cost = sum(tool_tokens(tool) for tool in all_tools().offered(others))
    listed = f"{', '.join(others[:-1])} and {others[-1]}"
    question = f"Offer the toolsets {listed} too, for {cost:,} tokens per conversation? [y/N]"
    return ALL_TOOLSETS if prompt(question).lower() in ("y", "yes") else default


def _instructions(root: Path | None, *, required: bool = False) -> list[Step]:
    if root is None:
        if required:
            raise ProjectNotDetectedError(str(Path.cwd()))
        return []
    return [
        Step(config_files.INSTRUCTIONS, _INSTRUCTIONS_TITLE, page, config_files.with_instructions(page))
        for page in config_files.pages(root)
    ]


def _carry_out(steps: list[Step], journal: Journal, reply: Reply, *, dry_run: bool, yes: bool) -> bool:
    """Show, ask and write; returns whether a configuration could not be read."""
    if not steps:
        raise InvalidArgumentError(
            "No assistant was found on this machine.",
            hint="Name one with `findspot setup --client NAME`, or see `findspot setup --print`.",
        )
    needed = [step for step in steps if step.change.needed]
    if not reply.json:
        _show(steps)
    if needed and not dry_run:
        confirm(f"Write {output.count(len(needed), 'file')}?", yes, reply)
        with journal.locked():
            for step in needed:
                journal.apply(step.change, step.owner)
    if reply.json:
        output.emit({"status": "dry_run" if dry_run else "success", "steps": [_object(s) for s in steps]})
    elif needed and not dry_run:
        _tell_next(needed, journal)
    return any(step.problem for step in steps)


def _show(steps: list[Step]) -> None:
    for step in steps:
        if step.problem:
            output.warn(f"{step.title}: {step.problem.user_message}")
            output.note(f"hint: {step.problem.hint}")
            continue
        state = "is already set up" if step.state == "unchanged" else f"would {step.state}"
        output.line(f"{step.title} {state}: {step.path}", bold=True)
        _show_diff(step.change)


def _show_diff(change: Change) -> None:
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


def _object(step: Step) -> dict[str, Any]:
    value = {"client": step.owner, "path": str(step.path), "action": step.state}
    if step.problem:
        return value | {"error": step.problem.user_message}
    return value | {"diff": "\n".join(step.change.diff())}


def _undo(names: tuple[str, ...], journal: Journal, reply: Reply, *, dry_run: bool, yes: bool) -> None:
    records = [r for r in journal.records().values() if not names or r.owner in names]
    steps = []
    for record in records:
        title = BY_NAME[record.owner].title if record.owner in BY_NAME else _INSTRUCTIONS_TITLE
        steps.append(Step(record.owner, title, record.path, config_files.undone(record, journal)))
    if not reply.json:
        for step in steps:
            output.line(f"{step.title}: {step.path}", bold=True)
            _show_diff(step.change)
    if steps and not dry_run:
        confirm(f"Restore {output.count(len(steps), 'file')}?", yes, reply)
        with journal.locked():
            for step, record in zip(steps, records, strict=True):
                step.change.write()
                journal.forget(record)
            _drop_moved(records, journal)
    if reply.json:
        output.emit({"status": "dry_run" if dry_run else "success", "steps": [_object(s) for s in steps]})
    elif not steps:
        output.line("There is nothing to undo.")
    elif not dry_run:
        output.line(f"Restored {output.count(len(steps), 'file')}.")


def _move_servers(
    engine: Engine,
    targets: list[tuple[Client, Path]],
    journal: Journal,
    reply: Reply,
    *,
    dry_run: bool,
    yes: bool,
) -> None:
    """Ask which servers to move behind Findspot, index them, and take them out of the clients' files.

    A server that does not answer stays where it is.
    """
    from findspot.serve.cli.clients.moved_servers import Gateway
    from findspot.serve.cli.tool_server_commands import index_again

    catalogue = engine.catalogue(".")
    gateway = Gateway(catalogue)
    chosen, unreadable = _choose_servers(gateway, targets, reply, sure=yes or dry_run)
    steps = unreadable + _moving_steps(chosen)
    if not reply.json:
        _show(steps)
    errors: dict[str, str] = {}
    if chosen and not dry_run:
        files = output.count(len(steps) - len(unreadable), "file")
        confirm(f"Move {output.count(len(chosen), 'server')} and write {files}?", yes, reply)
        with journal.locked():
            gateway.take(chosen)
            built = index_again(engine, catalogue, user_wide=True)
            names = {server.name for server in chosen}
            errors = {s.name: s.error for s in built.servers if s.error and s.name in names}
            gateway.drop(errors.keys() & (names - _moved(journal)))
            chosen = [server for server in chosen if server.name not in errors]
            steps = unreadable + _moving_steps(chosen)
            for step in steps[len(unreadable) :]:
                moved = {server.name: server.entry for server in chosen if server.path == step.path}
                journal.apply(step.change, step.owner, moved)
    _report_moved(chosen, errors, steps, reply, dry_run=dry_run)
    if errors or unreadable:
        raise click.exceptions.Exit(1)


def _choose_servers(
    gateway: Gateway, targets: list[tuple[Client, Path]], reply: Reply, *, sure: bool
) -> tuple[list[MovableServer], list[Step]]:
    """Return the servers to move, each agreed to, and a step for each file that cannot be read."""
    from findspot.serve.cli.clients.moved_servers import movable_servers
    from findspot.serve.cli.tool_server_commands import show_description

    chosen: list[MovableServer] = []
    unreadable = []
    for client, path in targets:
        try:
            servers = movable_servers(client, path)
        except ConfigUnreadableError as problem:
            unreadable.append(Step(client.name, client.title, path, Change(path, None, None), problem))
            continue
        for server in servers:
            if gateway.conflicts(server, chosen):
                output.warn(f"{server.name} of {client.title} stays: another server already has this name.")
            elif sure:
                chosen.append(server)
            elif not can_ask():
                confirm(f"Move {server.name} of {client.title} behind Findspot?", yes=False, reply=reply)
            else:
                show_description(server.spec)
                question = f"Let Findspot start it, and move it from {client.title} behind Findspot? [y/N]"
                if prompt(question).lower() in ("y", "yes"):
                    chosen.append(server)
    return chosen, unreadable


def _moving_steps(chosen: list[MovableServer]) -> list[Step]:
    """Return one step per file: with Findspot, which offers the catalogue, and without the moved servers."""
    steps = []
    for path, client in {server.path: server.client for server in chosen}.items():
        toolsets = _toolsets_in(client, path) or ("" if _has_entry(client, path) else _default_toolsets())
        if toolsets and not {CATALOGUE_TOOLSET, ALL_TOOLSETS} & set(toolsets.split(",")):
            toolsets += f",{CATALOGUE_TOOLSET}"
        names = [server.name for server in chosen if server.path == path]
        change = config_files.with_server(client, path, _command(toolsets), names)
        steps.append(Step(client.name, client.title, path, change, then=client.then))
    return steps


def _has_entry(client: Client, path: Path) -> bool:
    return config_files.server_in(client, path) is not None


def _report_moved(
    moved: list[MovableServer], errors: dict[str, str], steps: list[Step], reply: Reply, *, dry_run: bool
) -> None:
    if reply.json:
        servers: list[dict[str, str]] = [{"name": s.name, "client": s.client.name} for s in moved]
        servers += [{"name": name, "error": error} for name, error in errors.items()]
        status = "dry_run" if dry_run else "success"
        output.emit({"status": status, "servers": servers, "steps": [_object(s) for s in steps]})
        return
    for name, error in errors.items():
        output.warn(f"{name} stays where it is, since it did not answer: {error}")
    if not moved:
        output.line("No server was moved." if errors else "There are no servers to move.")
    elif not dry_run:
        output.line(f"Moved {', '.join(dict.fromkeys(s.name for s in moved))} behind Findspot.", fg="green")
        output.note("`findspot tools list` shows them; `findspot setup --undo` puts them back.", dim=True)


def _moved(journal: Journal) -> set[str]:
    """Return the servers that are behind Findspot already."""
    return {name for record in journal.records().values() for name in record.moved}


def _drop_moved(undone: list[Record], journal: Journal) -> None:
    """Forget servers that are back in their clients' files, unless another client's were moved too."""
    names = {name for record in undone for name in record.moved} - _moved(journal)
    if names:
        from findspot.serve.cli.clients.moved_servers import Gateway

        with open_engine() as engine:
            Gateway(engine.catalogue(".")).drop(names)


def _print(names: tuple[str, ...], toolsets: tuple[str, ...], machine: Machine, reply: Reply) -> None:
    command = _command(_spelled(toolsets) or _default_toolsets())
    chosen = [BY_NAME[name] for name in names] or [c for c in CLIENTS if c.configs(machine)] or list(CLIENTS)
    rows = []
    for client in chosen:
        path = (client.configs(machine) or client.locations(machine))[0]
        rows.append((client, path, config_files.snippet(client, command)))
    if reply.json:
        listed = [{"client": c.name, "path": str(path), "text": text} for c, path, text in rows]
        output.emit({"command": command, "clients": listed})
        return
    for client, path, text in rows:
        output.line(f"{client.title}: {path}", bold=True)
        for line in text.splitlines():
            output.line(line)
        output.line()


def _project_root(given: str | None) -> Path | None:
    """Return the root of the project, if there is one: setup works without."""
    try:
        with open_project(given, ask=False) as opened:
            return opened.root
    except ProjectNotDetectedError:
        return None


def _offer_instructions(root: Path | None, journal: Journal) -> None:
    steps = [step for step in _instructions(root) if step.change.needed]
    if not steps or not can_ask():
        return
    names = " and ".join(step.path.name for step in steps)
    if prompt(f"Tell assistants in {names} when to search? [y/N]").lower() in ("y", "yes"):
        with journal.locked():
            for step in steps:
                journal.apply(step.change, step.owner)
        output.line(f"{names}: written.", fg="green")


def _offer_index(root: Path | None, wanted: bool | None) -> None:
    if root is None or wanted is False:
        return
    with open_project(str(root), exact=True) as opened:
        if opened.store.exists and not wanted:
            return
    if wanted or (can_ask() and prompt(f"Index {root} now? [y/N]").lower() in ("y", "yes")):
        from findspot.serve.cli.index_commands import index

        index.main([str(root)], prog_name="findspot index", standalone_mode=False, obj=Reply())
    elif wanted is None:
        output.line(f"Next: `findspot index {root}`, or ask your assistant to.")


@click.command()
def remind() -> None:
    """Remind an assistant of Findspot after a grep for a concept.

    The plugins for assistants run it as a hook after each command of an assistant. It reads the hook's JSON
    from standard input and prints a note at most once per conversation.
    """
    from findspot.serve.cli import reminder

    reminder.remind()
