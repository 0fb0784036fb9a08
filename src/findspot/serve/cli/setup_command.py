"""`findspot setup`: connect the assistants on this machine to Findspot, and undo it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, TEAM, Client, Machine
from findspot.core.config import load_settings
from findspot.core.errors import InvalidArgumentError, ProjectNotDetectedError
from findspot.core.git import ignored_files
from findspot.core.paths import home_folder
from findspot.core.settings import PROJECT_TOOLSET, TOOLSETS
from findspot.serve.cli import output
from findspot.serve.cli.clients import config_files
from findspot.serve.cli.clients.config_files import (
    Change,
    ConfigUnreadableError,
    Journal,
    Python,
    serve_command,
    team_command,
)
from findspot.serve.cli.interaction import agreed, can_ask, cancel, confirm, prompt
from findspot.serve.cli.options import ALL_TOOLSETS, Choice, Reply, common, toolsets_option, yes_option
from findspot.serve.cli.project_choice import open_project

PLUGINS = {
    "claude-code": "claude plugin marketplace add {source} && claude plugin install findspot@findspot",
    "codex": "codex plugin marketplace add {source} && codex plugin add findspot@findspot",
    "copilot": "copilot plugin marketplace add {source} && copilot plugin install findspot@findspot",
    "cursor": "copy plugins/findspot of {source} to ~/.cursor/plugins/local/findspot",
    "gemini": "gemini extensions install ./plugins/gemini, in a clone of {source}",
}
"""How the plugin of a client is installed."""


@click.command()
@click.argument("path", required=False)
@click.option(
    "--project", "team", is_flag=True, help="Write the files that a team commits, instead of your own."
)
@click.option("--client", "names", multiple=True, type=Choice(list(BY_NAME)), help="Only this one.")
@toolsets_option("Toolsets to offer, such as `project,documents`, or `all`. Default: project.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--undo", is_flag=True, help="Restore the files that setup changed.")
@click.option("--print", "show", is_flag=True, help="Print what to copy into each configuration by hand.")
@click.option(
    "--instructions/--no-instructions",
    "instruct",
    default=None,
    help="Tell assistants in the project's AGENTS.md or CLAUDE.md when to search. Default: ask.",
)
@yes_option
@common
def setup(reply: Reply, *, team: bool, undo: bool, show: bool, **given: Any) -> None:
    """Connect the assistants on this machine to Findspot.

    Finds Claude Code, Claude Desktop, Cursor, Windsurf, VS Code, Copilot CLI, Codex, Gemini CLI, Zed,
    opencode, Cline, Roo Code, Continue, JetBrains Junie, Amp, Goose, Qwen Code and Kilo Code, shows what
    it would write into the configuration of each, asks, and writes it. Nothing else in those files is
    touched, and each is kept as it was for --undo.

    With --project, the project gets .mcp.json, .cursor/mcp.json, .vscode/mcp.json and a paragraph in
    AGENTS.md. Commit them to connect the assistants of everybody who clones the project.
    """
    if team and show:
        raise click.UsageError("--project does not go with --print.")
    run = _Setup(reply, **given)
    if show:
        run.show()
    elif undo:
        run.undo(run.required_root() if team else None)
    elif team:
        run.for_team(run.required_root())
    else:
        run.for_user()


@dataclass(frozen=True)
class _Setup:
    """One run: what the user asked for, and the ways to do it."""

    reply: Reply
    path: str | None
    names: tuple[str, ...]
    toolsets: tuple[str, ...]
    dry_run: bool
    instruct: bool | None
    yes: bool
    journal: Journal = field(default_factory=lambda: Journal(home_folder()))

    def for_user(self) -> None:
        """Write the configurations of the clients on this machine."""
        quiet = self.reply.json or self.dry_run or self.yes
        root = None if quiet and not self.instruct else self._root()
        targets, default = self._targets(), default_toolsets()
        steps = [
            client_step(client, path, spelled(self.toolsets) or toolsets_in(client, path) or default)
            for client, path in targets
        ]
        if self.instruct:
            steps += instruction_steps(root, required=True)
        steps = self._carry_out(steps)
        if self.instruct is None and not quiet:
            self._offer_instructions(root)
        if not self.reply.json and not self.dry_run:
            tell_more([step for step in steps if step.change.needed])
        self._end_with_failures(steps)

    def for_team(self, root: Path) -> None:
        """Write the files that connect everybody who clones the project."""
        python = Python()
        steps = team_steps(root, self.names, spelled(self.toolsets), team_command(python))
        if self.instruct is not False:
            about = f"This project configures their server. {_needs(python)}"
            steps += instruction_steps(root, about_server=about)
        self._carry_out(steps)
        if not self.dry_run and not self.reply.json:
            _tell_team(root, [step.path for step in steps if step.change.needed], python)
        self._end_with_failures(steps)

    def undo(self, below: Path | None) -> None:
        """Restore the files that were written, or those below a folder."""
        records = [
            record
            for record in self.journal.records().values()
            if (not self.names or record.owner in self.names)
            and (below is None or record.path.is_relative_to(below))
        ]
        steps = [
            Step(record.owner, title_of(record.owner), record.path, config_files.undone(record, self.journal))
            for record in records
        ]
        if not self.reply.json:
            for step in steps:
                step.show(f"{step.title}: {step.path}")
        if steps and not self.dry_run:
            confirm(f"Restore {output.count(len(steps), 'file')}?", self.yes, self.reply)
            with self.journal.locked():
                for step, record in zip(steps, records, strict=True):
                    step.change.write()
                    self.journal.forget(record)
        if self.reply.json:
            emit_steps(steps, dry_run=self.dry_run)
        elif not steps:
            output.line("There is nothing to undo.")
        elif not self.dry_run:
            output.line(f"Restored {output.count(len(steps), 'file')}.")

    def show(self) -> None:
        """Print what to copy by hand."""
        command = serve_arguments(spelled(self.toolsets) or default_toolsets())
        machine = Machine()
        installed = [client for client in CLIENTS if client.configs(machine)]
        chosen = [BY_NAME[name] for name in self.names] or installed or CLIENTS
        places = [(client, (client.configs(machine) or client.locations(machine))[0]) for client in chosen]
        rows = [(client, path, config_files.snippet(client, command)) for client, path in places]
        if self.reply.json:
            listed = [{"client": c.name, "path": str(path), "text": text} for c, path, text in rows]
            output.emit({"command": command, "clients": listed})
            return
        for client, path, text in rows:
            output.line(f"{client.title}: {path}", bold=True)
            output.lines(text)

    def required_root(self) -> Path:
        root = self._root()
        if root is None:
            raise ProjectNotDetectedError(str(self.path or Path.cwd()))
        return root

    def _root(self) -> Path | None:
        """Return the root of the project, if there is one: setup works without."""
        try:
            with open_project(self.path, ask=False) as opened:
                return opened.root
        except ProjectNotDetectedError:
            return None

    def _targets(self) -> list[tuple[Client, Path]]:
        """Return the configuration files of the clients that are installed, or that were named."""
        machine = Machine()
        chosen = [BY_NAME[name] for name in self.names] or CLIENTS
        return [
            (client, path)
            for client in chosen
            for path in client.configs(machine) or (client.locations(machine)[:1] if self.names else [])
        ]

    def _carry_out(self, steps: list[Step]) -> list[Step]:
        """Show, ask and write; return the steps without those that the user did not choose."""
        if not steps:
            raise InvalidArgumentError(
                "No assistant was found on this machine.",
                hint="Name one with `findspot setup --client NAME`, or see `findspot setup --print`.",
            )
        needed = [step for step in steps if step.change.needed]
        if not self.reply.json:
            show_steps(steps, sure=self.yes and not self.dry_run)
        if needed and not self.dry_run:
            needed = self._chosen(needed)
            self._write(needed)
            steps = [step for step in steps if step in needed or not step.change.needed]
        if self.reply.json:
            emit_steps(steps, dry_run=self.dry_run)
        elif needed and not self.dry_run:
            tell_next(needed, self.journal)
        return steps

    def _chosen(self, steps: list[Step]) -> list[Step]:
        """Return the steps that the user agrees to; of several, some can be chosen."""
        question = f"Write {output.count(len(steps), 'file')}?"
        if self.yes or len(steps) == 1 or not can_ask():
            confirm(question, self.yes, self.reply)
            return steps
        answer = prompt(f"{question} [y/N, c to choose]").lower()
        if answer in ("c", "choose"):
            steps = [step for step in steps if agreed(f"{step.title}: write {step.path}?")]
        elif answer not in ("y", "yes"):
            steps = []
        return steps or cancel(self.reply)

    def _write(self, steps: list[Step]) -> None:
        with self.journal.locked():
            for step in steps:
                self.journal.apply(step.change, step.owner)

    def _end_with_failures(self, steps: list[Step]) -> None:
        """End with an error if a file could not be read; its last line names what was not set up."""
        failed = [step.title for step in steps if step.problem]
        if failed and not self.reply.json:
            output.warn(f"Not set up: {', '.join(failed)}; the configuration could not be read (see above).")
        if failed:
            raise click.exceptions.Exit(1)

    def _offer_instructions(self, root: Path | None) -> None:
        steps = [step for step in instruction_steps(root) if step.change.needed]
        names = " and ".join(step.path.name for step in steps)
        if steps and can_ask() and agreed(f"Tell assistants in {names} when to search?"):
            self._write(steps)
            output.line(f"{names}: written.", fg="green")


def _tell_team(root: Path, written: list[Path], python: Python) -> None:
    names = [path.relative_to(root).as_posix() for path in written]
    if not names:
        return
    listed = ", ".join(names)
    output.line(f"Commit {listed}: they connect the assistants of everybody who clones the project.")
    output.line(_needs(python))
    for name in ignored_files(root, names):
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


@click.command()
def remind() -> None:
    """Remind an assistant of Findspot after a grep for a concept.

    The plugins for assistants run it as a hook after each command of an assistant. It reads the hook's JSON
    from standard input and prints a note at most once per conversation.
    """
    from findspot.serve.cli import reminder

    reminder.remind()


_TAB = 4
_MOST_CHARS = 300
_TOOLSETS_OPTION = "--toolsets"
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def title_of(owner: str) -> str:
    return "Instructions for assistants" if owner == config_files.INSTRUCTIONS else BY_NAME[owner].title


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

    @classmethod
    def unreadable(cls, owner: str, path: Path, problem: ConfigUnreadableError) -> Step:
        return cls(owner, title_of(owner), path, Change(path, None, None), problem)

    @property
    def state(self) -> str:
        if self.problem:
            return "unreadable"
        if not self.change.needed:
            return "unchanged"
        if self.change.after is None:
            return "remove"
        return "create" if self.change.before is None else "change"

    def show(self, headline: str) -> None:
        """Print the lines that change."""
        output.line(headline, bold=True)
        for text in self.change.diff()[2:]:
            shown = output.cut(text[:1] + text[1:].expandtabs(_TAB), _MOST_CHARS)  # it may be all of a file
            output.line(f"  {shown}", fg=_DIFF_COLOURS.get(text[:1]))


def _step(owner: str, path: Path, change: Callable[[], Change], below: Path | None = None) -> Step:
    """Return the step of a change; a file of a project must not be a link that leads out of it."""
    try:
        if below is not None and not path.resolve().is_relative_to(below.resolve()):
            raise ConfigUnreadableError(path, "it is a link that leads out of the project")
        return Step(owner, title_of(owner), path, change())
    except ConfigUnreadableError as problem:
        return Step.unreadable(owner, path, problem)


def client_step(client: Client, path: Path, toolsets: str) -> Step:
    """Return the step that writes a client's own configuration."""
    command = serve_arguments(toolsets)
    step = _step(client.name, path, lambda: config_files.with_server(client, path, command))
    return replace(step, then=client.then, toolsets=toolsets)


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

    def step(page: Path) -> Step:
        change = partial(config_files.with_instructions, page, about_server)
        return _step(config_files.INSTRUCTIONS, page, change, root)

    return [step(page) for page in config_files.pages(root)]


def team_steps(root: Path, names: tuple[str, ...], toolsets: str, command: list[str]) -> list[Step]:
    """Return a step per file that a team commits, so that a clone is connected."""
    chosen = [BY_NAME[name] for name in names] or [
        client
        for client in CLIENTS
        if client.name in TEAM or (client.project_file and (root / client.project_file).is_file())
    ]
    if without := [client.title for client in chosen if not client.project_file]:
        raise InvalidArgumentError(
            f"{without[0]} has no configuration in a project.", hint="Run `findspot setup` without --project."
        )

    def step(client: Client, path: Path) -> Step:
        offered = toolsets or toolsets_in(client, path) or PROJECT_TOOLSET
        started = [*command, _TOOLSETS_OPTION, offered]
        return _step(client.name, path, lambda: config_files.with_server(client, path, started), root)

    return [step(client, root / client.project_file) for client in chosen]


def show_steps(steps: list[Step], *, sure: bool) -> None:
    """Print what each step writes; `sure` if nobody is asked first."""
    for step in steps:
        if step.problem:
            output.warn(f"{step.title}: {step.problem.user_message}")
            output.note(f"hint: {step.problem.hint}")
            continue
        verb = f"{'will' if sure else 'would'} {step.state}"
        state = "is already set up" if step.state == "unchanged" else verb
        step.show(f"{step.title} {state}: {step.path}")


def tell_next(steps: list[Step], journal: Journal) -> None:
    for step in steps:
        output.line(f"{step.title}: done. {step.then}".rstrip(), fg="green")
    if journal.backups.is_dir():
        output.note(
            f"Backups are in {journal.backups}; `findspot setup --undo` restores the files.", dim=True
        )


def tell_more(steps: list[Step]) -> None:
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


def emit_steps(steps: list[Step], *, dry_run: bool) -> None:
    """Print the JSON answer of a run."""
    listed = []
    for step in steps:
        about = (
            {"error": step.problem.user_message} if step.problem else {"diff": "\n".join(step.change.diff())}
        )
        listed.append({"client": step.owner, "path": str(step.path), "action": step.state} | about)
    output.emit({"status": "dry_run" if dry_run else "success", "steps": listed})
