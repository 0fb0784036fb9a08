"""`findspot setup`: connect the assistants on this machine to Findspot, and undo it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, Client, Machine
from findspot.core.config import check_committed, home_folder, load_settings
from findspot.core.errors import ProjectNotDetectedError
from findspot.core.git import ignored_files
from findspot.core.setting_keys import CATALOGUE_TOOLSET, PROJECT_TOOLSET, TOOLSETS
from findspot.serve.cli import output
from findspot.serve.cli.clients import config_files
from findspot.serve.cli.clients.config_files import (
    Change,
    ConfigUnreadableError,
    Journal,
    Python,
    Record,
    team_command,
)
from findspot.serve.cli.interaction import can_ask, confirm, prompt
from findspot.serve.cli.options import (
    ALL_TOOLSETS,
    Choice,
    Reply,
    common,
    toolsets_option,
    yes_option,
)
from findspot.serve.cli.project_choice import open_engine, open_project
from findspot.serve.cli.setup_steps import (
    TITLES,
    Step,
    as_object,
    carry_out,
    client_step,
    default_toolsets,
    instruction_steps,
    published_step,
    serve_arguments,
    show_diff,
    show_steps,
    spelled,
    team_steps,
    toolsets_in,
)

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue
    from findspot.engine import Engine
    from findspot.serve.cli.clients.moved_servers import Gateway, MovableServer

CATALOGUE_FOLDER = ".please"
"""Where a project can name servers that only Findspot loads."""


def _committed_address(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse an address that a committed file cannot name."""
    if value is None:
        return None
    try:
        check_committed(config_files.PUBLISHED_AT, value, load_settings())
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


@click.command()
@click.argument("path", required=False)
@click.option(
    "--project", "team", is_flag=True, help="Write the files that a team commits, instead of your own."
)
@click.option(
    "--published",
    metavar="ADDRESS",
    callback=_committed_address,
    help="With --project: where the project's index is published; .findspot.json names it.",
)
@click.option("--client", "names", multiple=True, type=Choice(list(BY_NAME)), help="Only this one.")
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
    path: str | None,
    team: bool,
    published: str | None,
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

    With --project, the project gets .mcp.json, .cursor/mcp.json, .vscode/mcp.json and a paragraph in
    AGENTS.md. Commit them to connect the assistants of everybody who clones the project. --published names
    an address, in .findspot.json, from which each of them can fetch a prebuilt index once they agree.
    """
    machine, journal = Machine(), Journal(home_folder())
    failed: list[Step] = []
    _check_combination(team, show=show or gateway, published=published)
    if show:
        _print(names, toolsets, machine, reply)
    elif undo:
        below = _required_root(path) if team else None
        _undo(names, journal, reply, below, dry_run=dry_run, yes=yes)
    elif team:
        folder = _required_root(path)
        steps = _team_steps(folder, names, spelled(toolsets), instruct=instruct is not False)
        steps += [published_step(folder, published)] if published else []
        failed = carry_out(steps, journal, reply, dry_run=dry_run, yes=yes)
        if not dry_run and not reply.json:
            _tell_team(folder, [step.path for step in steps if step.change.needed])
            _offer_index(folder, index_now or False)
    elif gateway:
        with open_engine() as engine:
            targets = _targets(names, machine)
            offered = spelled(toolsets)
            _move_servers(engine, targets, journal, reply, toolsets=offered, dry_run=dry_run, yes=yes)
    else:
        quiet = reply.json or dry_run or (yes and index_now is False)
        root = None if quiet and not instruct else _project_root(path)
        targets = _targets(names, machine)
        default = default_toolsets()
        if default and not (toolsets or yes or dry_run or reply.json):
            default = _offer_toolsets(targets, default)
        steps = [
            client_step(client, path, spelled(toolsets) or toolsets_in(client, path) or default)
            for client, path in targets
        ]
        if instruct:
            steps += instruction_steps(root, required=True)
        failed = carry_out(steps, journal, reply, dry_run=dry_run, yes=yes)
        if not dry_run and not reply.json:
            if instruct is None and not yes:
                _offer_instructions(root, journal)
            _offer_index(root, index_now)
    if failed:
        _end_with_failures(failed, reply)


def _check_combination(team: bool, *, show: bool, published: str | None) -> None:
    if team and show:
        raise click.UsageError("--project goes with neither --print nor --gateway.")
    if published and not team:
        raise click.UsageError("--published goes with --project.")


def _end_with_failures(failed: list[Step], reply: Reply) -> NoReturn:
    """End with an error; its last line names what was not set up."""
    if not reply.json:
        names = ", ".join(step.title for step in failed)
        output.warn(f"Not set up: {names}; the configuration could not be read (see above).")
    raise click.exceptions.Exit(1)


def _team_steps(root: Path, names: tuple[str, ...], toolsets: str, *, instruct: bool) -> list[Step]:
    """Return a step per file that connects everybody who clones the project."""
    python = Python()
    steps = team_steps(root, names, toolsets, team_command(python))
    about = f"This project configures their server. {_needs(python)}"
    return steps + (instruction_steps(root, about_server=about) if instruct else [])


def _tell_team(root: Path, written: list[Path]) -> None:
    if written:
        listed = ", ".join(path.relative_to(root).as_posix() for path in written)
        output.line(f"Commit {listed}: they connect the assistants of everybody who clones the project.")
        output.line(_needs(Python()))
        for name in ignored_files(root, [path.relative_to(root).as_posix() for path in written]):
            output.warn(f"Git ignores {name}, so it is not committed unless you add it with `git add -f`.")


def _needs(python: Python) -> str:
    """Return what the committed command needs on the machines of others."""
    if python.released:
        return "It needs uv, whose `uvx` fetches Findspot: https://docs.astral.sh/uv/"
    install = "`uv tool install .` or `pip install .`"
    return f"It needs the command `findspot`: clone {findspot_repository()}, and run {install} in the clone."


def findspot_repository() -> str:
    """Return the address of Findspot's repository, or words for it if the package does not name one."""
    try:
        listed = metadata.metadata("findspot").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        listed = []
    addresses: dict[str, str] = dict(entry.split(", ", 1) for entry in listed)
    return addresses.get("Source", "Findspot's repository")


def _required_root(given: str | None) -> Path:
    root = _project_root(given)
    if root is None:
        raise ProjectNotDetectedError(str(given or Path.cwd()))
    return root


def _targets(names: tuple[str, ...], machine: Machine) -> list[tuple[Client, Path]]:
    """Return the configuration files of the clients that are installed, or that were named."""
    chosen = [BY_NAME[name] for name in names] or list(CLIENTS)
    return [
        (client, path)
        for client in chosen
        for path in client.configs(machine) or (client.locations(machine)[:1] if names else [])
    ]


def _offer_toolsets(targets: list[tuple[Client, Path]], default: str) -> str:
    """Ask which toolsets new entries offer, if there is somebody to ask and a new entry."""
    if not can_ask() or all(toolsets_in(client, path) for client, path in targets):
        return default
    from findspot.serve.mcp.tool_results import tool_tokens
    from findspot.serve.mcp.tools import all_tools

    others = [name for name in TOOLSETS if name != PROJECT_TOOLSET]
    cost = sum(tool_tokens(tool) for tool in all_tools().offered(others))
    listed = f"{', '.join(others[:-1])} and {others[-1]}"
    question = f"Offer the toolsets {listed} too, for {cost:,} tokens per conversation? [y/N]"
    return ALL_TOOLSETS if prompt(question).lower() in ("y", "yes") else default


def _undo(
    names: tuple[str, ...], journal: Journal, reply: Reply, below: Path | None, *, dry_run: bool, yes: bool
) -> None:
    records = [
        record
        for record in journal.records().values()
        if (not names or record.owner in names) and (below is None or record.path.is_relative_to(below))
    ]
    steps = []
    for record in records:
        title = TITLES.get(record.owner) or BY_NAME[record.owner].title
        steps.append(Step(record.owner, title, record.path, config_files.undone(record, journal)))
    if not reply.json:
        for step in steps:
            output.line(f"{step.title}: {step.path}", bold=True)
            show_diff(step.change)
    if steps and not dry_run:
        confirm(f"Restore {output.count(len(steps), 'file')}?", yes, reply)
        with journal.locked():
            for step, record in zip(steps, records, strict=True):
                step.change.write()
                journal.forget(record)
            _drop_moved(records, journal)
    if reply.json:
        output.emit({"status": "dry_run" if dry_run else "success", "steps": [as_object(s) for s in steps]})
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
    toolsets: str,
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
    steps = unreadable + _moving_steps(chosen, toolsets)
    if not reply.json:
        show_steps(steps, sure=yes and not dry_run)
    errors: dict[str, str] = {}
    left: list[str] = []
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
            shown, steps = steps, unreadable + _moving_steps(chosen, toolsets)
            left = [step.title for step in shown if step.path not in {done.path for done in steps}]
            for step in steps[len(unreadable) :]:
                moved = {server.name: server.entry for server in chosen if server.path == step.path}
                journal.apply(step.change, step.owner, moved)
    _report_moved(chosen, errors, steps, reply, dry_run=dry_run)
    if not reply.json:
        for title in left:
            output.warn(f"The file of {title} was not changed, since none of its servers answered.")
        _tell_of_project_servers(catalogue)
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


def _moving_steps(chosen: list[MovableServer], wanted: str) -> list[Step]:
    """Return one step per file: with Findspot, which offers the catalogue, and without the moved servers.

    `wanted` are the toolsets that the user named, if any.
    """
    steps = []
    for path, client in {server.path: server.client for server in chosen}.items():
        new = "" if _has_entry(client, path) else default_toolsets()
        toolsets = wanted or toolsets_in(client, path) or new
        if toolsets and not {CATALOGUE_TOOLSET, ALL_TOOLSETS} & set(toolsets.split(",")):
            toolsets += f",{CATALOGUE_TOOLSET}"
        names = [server.name for server in chosen if server.path == path]
        change = config_files.with_server(client, path, serve_arguments(toolsets), names)
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
        output.emit({"status": status, "servers": servers, "steps": [as_object(s) for s in steps]})
        return
    for name, error in errors.items():
        output.warn(f"{name} stays where it is, since it did not answer: {error}")
    if not moved:
        output.line("No server was moved." if errors else "There are no servers to move.")
    elif not dry_run:
        output.line(f"Moved {', '.join(dict.fromkeys(s.name for s in moved))} behind Findspot.", fg="green")
        output.note("`findspot tools list` shows them; `findspot setup --undo` puts them back.", dim=True)


def _tell_of_project_servers(catalogue: Catalogue) -> None:
    """Name servers that clients have for this project alone: they are not moved."""
    from findspot.catalogue.server_sources import find_configurations, read_sources

    if catalogue.root == Path.home():
        return
    for path in find_configurations(catalogue.root, Machine())[0]:
        names = [spec.name for spec in read_sources([path], project=catalogue.root).servers]
        if names and path.parent.name != CATALOGUE_FOLDER:
            output.note(
                f"note: {', '.join(names)} of {path} stay there: they belong to this project alone. To have "
                f"Findspot call them, move the entries to {CATALOGUE_FOLDER}/mcp.json in the project, which "
                "no client reads, and run `findspot tools index`."
            )


def _moved(journal: Journal) -> set[str]:
    """Return the servers that are behind Findspot already."""
    return {name for record in journal.records().values() for name in record.moved}


def _drop_moved(undone: list[Record], journal: Journal) -> None:
    """Forget servers that are back in their clients' files, unless another client's were moved too."""
    others = _moved(journal)
    moved = [
        (name, entry, record.path)
        for record in undone
        for name, entry in record.moved.items()
        if name not in others
    ]
    if moved:
        from findspot.serve.cli.clients.moved_servers import Gateway

        with open_engine() as engine:
            gateway = Gateway(engine.catalogue("."))
            gateway.drop({name for name, entry, path in moved if gateway.is_moved(name, entry, path)})


def _print(names: tuple[str, ...], toolsets: tuple[str, ...], machine: Machine, reply: Reply) -> None:
    command = serve_arguments(spelled(toolsets) or default_toolsets())
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
    steps = [step for step in instruction_steps(root) if step.change.needed]
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
