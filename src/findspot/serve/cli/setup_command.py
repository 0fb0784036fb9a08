"""`findspot setup`: connect the assistants on this machine to Findspot, and undo it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import click

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, Client, Machine
from findspot.core.config import load_settings
from findspot.core.errors import InvalidArgumentError
from findspot.core.paths import home_folder
from findspot.core.settings import PROJECT_TOOLSET, TOOLSETS
from findspot.serve.cli import output, reminder
from findspot.serve.cli.clients import config_files
from findspot.serve.cli.clients.config_files import (
    Change,
    ConfigUnreadableError,
    Journal,
    Python,
    serve_command,
)
from findspot.serve.cli.interaction import agreed, can_ask, cancel, confirm, prompt
from findspot.serve.cli.options import ALL_TOOLSETS, Reply, common, toolsets_option, yes_option

PLUGINS = {
    "claude-code": "claude plugin marketplace add {source} && claude plugin install findspot@findspot",
    "codex": "codex plugin marketplace add {source} && codex plugin add findspot@findspot",
    "copilot": "copilot plugin marketplace add {source} && copilot plugin install findspot@findspot",
    "cursor": "copy plugins/findspot of {source} to ~/.cursor/plugins/local/findspot",
    "gemini": "gemini extensions install ./plugins/gemini, in a clone of {source}",
}
"""How the plugin of a client is installed."""

_TAB = 4
_MOST_CHARS = 300
_TOOLSETS_OPTION = "--toolsets"
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.option("--client", "names", multiple=True, type=click.Choice(list(BY_NAME)), help="Only this one.")
@toolsets_option("Toolsets to offer, such as `project,documents`, or `all`. Default: project.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--undo", is_flag=True, help="Restore the files that setup changed.")
@yes_option
@common
def setup(
    reply: Reply,
    *,
    names: tuple[str, ...],
    toolsets: tuple[str, ...],
    dry_run: bool,
    undo: bool,
    yes: bool,
) -> None:
    """Connect the assistants on this machine to Findspot.

    Finds Claude Code, Claude Desktop, Cursor, Windsurf, VS Code, Copilot CLI, Codex, Gemini CLI, Zed,
    opencode, Cline, Roo Code, Continue, JetBrains Junie, Amp, Goose, Qwen Code and Kilo Code, shows what
    it would write into the configuration of each, asks, and writes it. Nothing else in those files is
    touched, and each is kept as it was for --undo.
    """
    offered = ALL_TOOLSETS if toolsets == TOOLSETS else ",".join(toolsets)
    run = _Run(reply, dry_run, yes, Journal(home_folder()))
    if undo:
        run.restore(names)
    else:
        run.connect(own_steps(names, offered))


@dataclass(frozen=True, slots=True)
class Step:
    """One file to write."""

    owner: str
    path: Path
    change: Change
    problem: ConfigUnreadableError | None = None
    toolsets: str = ""

    @property
    def title(self) -> str:
        return BY_NAME[self.owner].title

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
        return {"client": self.owner, "path": str(self.path), "action": self.state} | about

    def show(self) -> None:
        """Print the lines that would change."""
        output.line(f"{self.title} would {self.state}: {self.path}", bold=True)
        for text in self.change.diff()[2:]:
            shown = output.cut(text[:1] + text[1:].expandtabs(_TAB), _MOST_CHARS)  # it may be all of a file
            output.line(f"  {shown}", fg=_DIFF_COLOURS.get(text[:1]))


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: the steps are shown, asked about, and carried out; with `yes` the first output comes last."""

    reply: Reply
    dry_run: bool
    yes: bool
    journal: Journal

    def connect(self, steps: list[Step]) -> None:
        """Write the configurations of the clients on this machine."""
        if not steps:
            raise InvalidArgumentError(
                "No assistant was found on this machine.",
                hint="Name one with `findspot setup --client NAME`.",
            )
        needed = [step for step in steps if step.change.needed]
        done = self._agreed(needed, "Write")
        with self.journal.locked() if done else contextlib.nullcontext():
            for step in done:
                self.journal.apply(step.change, step.owner)
        failed = [step.title for step in steps if step.problem]
        told = [step for step in steps if self.dry_run or step in done or not step.change.needed]
        self._answer_program(told, exit_code=int(bool(failed)))
        for step in steps:
            if step in done:
                output.line(f"{step.title}: done. {BY_NAME[step.owner].then}".rstrip(), fg="green")
            elif step.problem:
                output.warn(f"{step.title}: {step.problem.user_message}")
                output.note(f"hint: {step.problem.hint}")
            elif not step.change.needed:
                output.line(f"{step.title} is already set up: {step.path}", bold=True)
        if done:
            kept = f"Backups are in {self.journal.backups}; `findspot setup --undo` restores the files."
            output.note(kept, dim=True)
            _tell_more(done)
        if failed:
            output.warn(f"Not set up: {', '.join(failed)}; the configuration could not be read (see above).")
            raise click.exceptions.Exit(1)

    def restore(self, names: tuple[str, ...]) -> None:
        """Restore the files that were written, or those of some clients."""
        records = {
            path: record
            for path, record in self.journal.records().items()
            if not names or record.owner in names
        }
        undone = {path: config_files.undone(path, record, self.journal) for path, record in records.items()}
        steps = [Step(records[path].owner, path, change) for path, change in undone.items()]
        done = self._agreed(steps, "Restore")
        with self.journal.locked() if done else contextlib.nullcontext():
            for step in done:
                step.change.write()
                self.journal.forget(step.path)
        self._answer_program(steps)
        if not steps:
            output.line("There is nothing to undo.")
        elif done:
            output.line(f"Restored {output.count(len(done), 'file')}.")

    def _agreed(self, steps: list[Step], verb: str) -> list[Step]:
        """Show the steps, and return those that the user agrees to; of several, some can be chosen."""
        if not self.reply.json and (self.dry_run or not self.yes):
            for step in steps:
                step.show()
        if self.dry_run or not steps:
            return []
        question = f"{verb} {output.count(len(steps), 'file')}?"
        if self.yes or len(steps) == 1 or not can_ask():
            confirm(question, self.yes, self.reply)
            return steps
        answer = prompt(f"{question} [y/N, c to choose]").lower()
        if answer in ("c", "choose"):
            steps = [step for step in steps if agreed(f"{step.title}: {verb.lower()} {step.path}?")]
        elif answer not in ("y", "yes"):
            steps = []
        return steps or cancel(self.reply)

    def _answer_program(self, steps: list[Step], exit_code: int = 0) -> None:
        value = {"status": "dry_run" if self.dry_run else "success", "steps": [s.as_object() for s in steps]}
        self.reply.answer_program(value, exit_code)


def own_steps(names: tuple[str, ...], toolsets: str) -> list[Step]:
    """Return a step per configuration file of the clients that are installed, or that were named."""
    machine = Machine()
    steps = []
    for client in [BY_NAME[name] for name in names] or CLIENTS:
        for path in client.configs(machine) or (client.locations(machine)[:1] if names else []):
            try:
                steps.append(_step(client, path, toolsets))
            except ConfigUnreadableError as problem:
                steps.append(Step(client.name, path, Change(path, None, None), problem))
    return steps


def _step(client: Client, path: Path, toolsets: str) -> Step:
    """Return the step that connects a client; the toolsets that its entry names are kept.

    A new entry names none if the user's own settings do.
    """
    default = "" if "toolsets" in load_settings().sources else PROJECT_TOOLSET
    arguments = config_files.command_in(config_files.server_in(client, path) or {})
    named = arguments[arguments.index(_TOOLSETS_OPTION) + 1 :] if _TOOLSETS_OPTION in arguments else []
    is_known = bool(named) and set(named[0].split(",")) <= {*TOOLSETS, ALL_TOOLSETS}
    offered = toolsets or (named[0] if is_known else default)
    command = serve_command(Python()) + ([_TOOLSETS_OPTION, offered] if offered else [])
    change = config_files.with_server(client, path, command)
    return Step(client.name, path, change, toolsets=offered)


def _tell_more(steps: list[Step]) -> None:
    """Say what can be added to what was written: plugins, and tools beyond those of a project."""
    source = findspot_repository()
    if plugins := {step.title: PLUGINS[step.owner] for step in steps if step.owner in PLUGINS}:
        output.note("A plugin makes an assistant prefer Findspot to its own grep:")
        for title, how in plugins.items():
            output.note(f"  {title}: {how.format(source=source)}")
    if any(step.toolsets == PROJECT_TOOLSET for step in steps):
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


@click.command()
def remind() -> None:
    """Remind an assistant of Findspot after a grep for a concept.

    The plugins for assistants run it as a hook after each command of an assistant. It reads the hook's JSON
    from standard input and prints a note at most once per conversation.
    """
    reminder.remind()
