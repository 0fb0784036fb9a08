"""`findspot setup`: connect the assistants on this machine to Findspot, and undo it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import click

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, Client, Machine
from findspot.core.config import load_settings
from findspot.core.errors import InvalidArgumentError
from findspot.core.paths import home_folder
from findspot.core.settings import PROJECT_TOOLSET, TOOLSETS
from findspot.serve.cli import output
from findspot.serve.cli.clients.config_files import (
    Backups,
    Change,
    ConfigUnreadableError,
    Python,
    command_in,
    serve_command,
    server_in,
    with_server,
)
from findspot.serve.cli.interaction import agreed, can_ask, cancel, confirm, prompt
from findspot.serve.cli.options import ALL_TOOLSETS, Reply, command, toolsets_option

_TAB = 4
_MOST_CHARS = 300
_TOOLSETS_OPTION = "--toolsets"
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@command(yes=True)
@click.option("--client", "names", multiple=True, type=click.Choice(list(BY_NAME)), help="Only this one.")
@toolsets_option("Toolsets to offer, such as `project,documents`, or `all`. Default: project.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--undo", is_flag=True, help="Restore the files that setup changed.")
def setup(
    reply: Reply, *, names: tuple[str, ...], toolsets: tuple[str, ...], dry_run: bool, undo: bool, yes: bool
) -> None:
    """Connect the assistants on this machine to Findspot.

    Finds Claude Code, Claude Desktop, Cursor, Windsurf, VS Code, Copilot CLI, Codex, Gemini CLI, Zed,
    opencode, Cline, Roo Code, Continue, JetBrains Junie, Amp, Goose, Qwen Code and Kilo Code, shows what
    it would write into the configuration of each, asks, and writes it. Nothing else in those files is
    touched, and each is kept as it was for --undo.
    """
    offered = ALL_TOOLSETS if toolsets == TOOLSETS else ",".join(toolsets)
    backups = Backups(home_folder())
    if undo:
        steps = [step for step in _steps(names, backups.without_server) if step.change.needed or step.problem]
    else:
        steps = _steps(names, lambda client, path: _connected(client, path, offered), create=True)
        if not steps:
            hint = "Name one with `findspot setup --client NAME`."
            raise InvalidArgumentError("No assistant was found on this machine.", hint=hint)

    done = _agreed(steps, "Restore" if undo else "Write", reply, dry_run=dry_run, yes=yes)
    for step in done:
        if not undo:
            backups.keep(step.change)
        step.change.write()
        if undo:
            backups.of(step.path).unlink(missing_ok=True)

    failed = [step.client.title for step in steps if step.problem]
    reported = [step for step in steps if dry_run or step in done or not step.change.needed]
    value = {"status": "dry_run" if dry_run else "success", "steps": [step.as_object() for step in reported]}
    reply.answer_program(value, int(bool(failed)))
    for step in steps:
        if not step.change.needed:
            step.report()
        elif step in done and not undo:
            output.line(f"{step.client.title}: done. {step.client.then}", fg="green")
    if undo and not (dry_run and steps):
        restored = f"Restored {output.count(len(done), 'file')}."
        output.line(restored if done else "There is nothing to undo.")
    elif done:
        output.note(f"Backups are in {backups.folder}; `findspot setup --undo` restores the files.", dim=True)
        _tell_more(done, offered)
    if failed:
        output.warn(f"Left alone: {', '.join(failed)}; the configuration could not be read (see above).")
        raise click.exceptions.Exit(1)


@dataclass(frozen=True, slots=True)
class Step:
    client: Client
    path: Path
    change: Change
    problem: ConfigUnreadableError | None = None

    @property
    def state(self) -> str:
        if self.problem:
            return "unreadable"
        if not self.change.needed:
            return "unchanged"
        if self.change.after is None:
            return "remove"
        return "create" if self.change.before is None else "change"

    def as_object(self) -> dict[str, str]:
        diff = {"diff": "\n".join(self.change.diff())}
        about = {"error": self.problem.user_message} if self.problem else diff
        return {"client": self.client.name, "path": str(self.path), "action": self.state} | about

    def report(self) -> None:
        if self.problem is None:
            output.line(f"{self.client.title} is already set up: {self.path}", bold=True)
        else:
            output.warn(f"{self.client.title}: {self.problem.user_message}")
            output.note(f"hint: {self.problem.hint}")

    def show(self) -> None:
        output.line(f"{self.client.title} would {self.state}: {self.path}", bold=True)
        for text in self.change.diff()[2:]:
            shown = output.cut(text[:1] + text[1:].expandtabs(_TAB), _MOST_CHARS)  # it may be all of a file
            output.line(f"  {shown}", fg=_DIFF_COLOURS.get(text[:1]))


def _steps(
    names: tuple[str, ...], change: Callable[[Client, Path], Change], *, create: bool = False
) -> list[Step]:
    """Return a step per configuration file of the clients that are installed, or that were named."""
    machine = Machine()
    steps = []
    for client in [BY_NAME[name] for name in names] or CLIENTS:
        for path in client.configs(machine) or (client.locations(machine)[:1] if names and create else []):
            try:
                steps.append(Step(client, path, change(client, path)))
            except ConfigUnreadableError as problem:
                steps.append(Step(client, path, Change(path, None, None), problem))
    return steps


def _agreed(steps: list[Step], verb: str, reply: Reply, *, dry_run: bool, yes: bool) -> list[Step]:
    """Show what would change, and return the steps that the user agrees to: all, or those that are chosen."""
    steps = [step for step in steps if step.change.needed]
    if not reply.json and (dry_run or not yes):
        for step in steps:
            step.show()
    if dry_run or not steps:
        return []
    question = f"{verb} {output.count(len(steps), 'file')}?"
    if yes or len(steps) == 1 or not can_ask():
        confirm(question, yes, reply)
        return steps
    answer = prompt(f"{question} [y/N, c to choose]").lower()
    if answer in ("c", "choose"):
        steps = [step for step in steps if agreed(f"{step.client.title}: {verb.lower()} {step.path}?")]
    elif answer not in ("y", "yes"):
        steps = []
    return steps or cancel(reply)


def _connected(client: Client, path: Path, toolsets: str) -> Change:
    """Return the change that connects a client; the toolsets that its entry names are kept.

    A new entry names none if the user's own settings do.
    """
    default = "" if "toolsets" in load_settings().sources else PROJECT_TOOLSET
    arguments = command_in(server_in(client, path) or {})
    named = arguments[arguments.index(_TOOLSETS_OPTION) + 1 :] if _TOOLSETS_OPTION in arguments else []
    is_known = bool(named) and set(named[0].split(",")) <= {*TOOLSETS, ALL_TOOLSETS}
    offered = toolsets or (named[0] if is_known else default)
    command = serve_command(Python()) + ([_TOOLSETS_OPTION, offered] if offered else [])
    return with_server(client, path, command)


def _tell_more(steps: list[Step], toolsets: str) -> None:
    """Say what can be added to what was written: plugins, and tools beyond those of a project."""
    source = findspot_repository()
    if plugins := {step.client.title: step.client.plugin for step in steps if step.client.plugin}:
        output.note("A plugin makes an assistant prefer Findspot to its own grep:")
        for title, how in plugins.items():
            output.note(f"  {title}: {how.format(source=source)}")
    if not toolsets:
        output.note(
            "Assistants now search code and documentation. To let them also search collections of documents "
            "and call the tools of other servers, run `findspot setup --toolsets all`.",
            dim=True,
        )


def findspot_repository() -> str:
    """Return the address of Findspot's repository, or words for it if the package does not name one."""
    try:
        listed = metadata.metadata("findspot").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        listed = []
    addresses: dict[str, str] = dict(entry.split(", ", 1) for entry in listed)
    return addresses.get("Source", "Findspot's repository")
