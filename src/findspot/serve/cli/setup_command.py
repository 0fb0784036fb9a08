"""`findspot setup`: connect the assistants on this machine to Findspot, and undo it from backups."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import stat
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, SERVER, Client, Machine
from findspot.catalogue.server_sources import named, parse_config, read_entry, value_at
from findspot.core.config import load_settings
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import (
    content_hash,
    make_private_dir,
    read_named,
    reason,
    translated_os_errors,
    write_atomic,
)
from findspot.core.paths import home_folder
from findspot.core.platforms import find_program
from findspot.core.settings import PROJECT_TOOLSET, TOOLSETS
from findspot.discover.secrets import redacted
from findspot.serve.cli import output, table_edit
from findspot.serve.cli.interaction import agreed, can_ask, cancel, confirm, prompt
from findspot.serve.cli.options import ALL_TOOLSETS, Reply, command, toolsets_option
from findspot.text.jsonc import MalformedError
from findspot.text.snippet import cut

_CONTEXT_LINES = 2
_MASK = "****"
_NEW_FILE_MODE = 0o644
_MAX_BYTES = 64 * 1024 * 1024
_MARK = "\ufeff"
"""The byte order mark, which some editors write; only the first character of a file can be one."""


def decode(data: bytes) -> str:
    """Return a file's text without its mark; only UTF-8 is understood, as by the clients themselves."""
    try:
        return data.decode("utf-8").removeprefix(_MARK)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise MalformedError("this is not UTF-8 text", line) from None


class ConfigUnreadableError(InvalidArgumentError):
    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} cannot be read ({reason}). It was not touched.",
            hint="Correct it and run `findspot setup` again.",
        )


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before and after; None if there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> list[str]:
        """Return the lines that differ, as `diff -u` shows them, with the secrets of all lines masked."""
        name = str(self.path)
        old, new = _masked_lines(self.before), _masked_lines(self.after)
        return list(difflib.unified_diff(old, new, name, name, n=_CONTEXT_LINES, lineterm=""))

    def write(self) -> None:
        """Write the file, if nobody else did since; a link stays a link, and a file keeps its permissions."""
        if read_config(self.path) != self.before:
            raise InvalidArgumentError(
                f"{self.path} has changed since it was read. It was not touched.",
                hint="Run the same command again.",
            )
        target = Path(os.path.realpath(self.path))
        with translated_os_errors(target):
            if self.after is None:
                target.unlink(missing_ok=True)
                return
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _NEW_FILE_MODE
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, self.after)
            target.chmod(mode)


def _masked_lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    return redacted(text, _MASK).splitlines()


def read_config(path: Path) -> bytes | None:
    try:
        return read_named(path, _MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigUnreadableError(path, reason(error)) from None


def with_server(client: Client, path: Path, command: list[str]) -> Change:
    """Return the client's configuration with Findspot in it."""
    before = read_config(path)
    return Change(path, before, _with_server(client, path, before, command))


def _with_server(client: Client, path: Path, before: bytes | None, command: list[str]) -> bytes:
    def edit(text: str) -> str:
        text, keys = text or client.template, (*client.keys, SERVER)
        current = value_at(parse_config(text, client.format), keys)
        known = current if isinstance(current, dict) else {}
        missing = {key: value for key, value in client.defaults.items() if key not in known}
        return table_edit.put(text, client.format, keys, client.entry(command) | missing)

    return _edited(path, before, edit)


def _edited(path: Path, before: bytes | None, edit: Callable[[str], str]) -> bytes:
    before = before or b""
    try:
        after = edit(decode(before)).encode()
    except MalformedError as error:
        raise ConfigUnreadableError(path, error) from None
    return _MARK.encode() + after if before.startswith(_MARK.encode()) else after


class Backups:
    """The files of clients as they were before setup wrote them, kept in Findspot's own folder."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "setup" / "backups"

    def of(self, path: Path) -> Path:
        return self.folder / f"{content_hash(str(path).encode())[:8]}-{path.name}"

    def keep(self, change: Change) -> None:
        """Keep what a change replaces; the first backup stays, as a later one would hold Findspot's entry."""
        if change.before is not None and not self.of(change.path).exists():
            make_private_dir(self.folder)
            write_atomic(self.of(change.path), change.before)

    def without_server(self, client: Client, path: Path) -> Change:
        """Return the change that restores a file; one that was changed since loses only Findspot's entry."""
        now, kept = read_config(path), self.of(path)
        original = kept.read_bytes() if kept.exists() else None
        command = command_in(server_in(client, path) or {})
        if not command:
            return Change(path, now, now)
        if _with_server(client, path, original, command) == now:
            return Change(path, now, original)
        return Change(path, now, _edited(path, now, lambda text: _taken_out(client, text, original)))


def _taken_out(client: Client, text: str, original: bytes | None) -> str:
    """Remove Findspot's entry, and the table of servers if setup made it; what it replaced comes back."""
    keys = (*client.keys, SERVER)
    text = table_edit.take_out(text, client.format, keys)
    before = parse_config(decode(original or b""), client.format)
    if isinstance(own := value_at(before, keys), dict):
        text = table_edit.put(text, client.format, keys, own)
    is_empty = not value_at(parse_config(text, client.format), client.keys)
    made_here = value_at(before, client.keys) is None
    return table_edit.take_out(text, client.format, client.keys) if is_empty and made_here else text


def servers_in(client: Client, path: Path) -> dict[str, Any]:
    """Return the entries of a client's configuration by name."""
    data = read_config(path)
    try:
        entries = value_at(parse_config(decode(data or b""), client.format), client.keys)
    except MalformedError as error:
        raise ConfigUnreadableError(path, error) from None
    return named(entries)


def server_in(client: Client, path: Path) -> dict[str, Any] | None:
    entry = servers_in(client, path).get(SERVER)
    return entry if isinstance(entry, dict) else None


def command_in(entry: Mapping[str, Any]) -> list[str]:
    """Return the command of an entry with its arguments; nothing for what is no command."""
    read = read_entry(dict(entry))
    return [] if isinstance(read, str) or not read.command else [read.command, *read.args]


_UV_CACHE = {"archive-v0", "environments-v2", "builds-v0"}
"""Folders of uv's cache in which `uvx` makes an environment for one run."""


def _origin() -> str:
    """Return the URL that an installer recorded for the package, or an empty string."""
    with contextlib.suppress(metadata.PackageNotFoundError, ValueError, KeyError):
        noted = metadata.distribution("findspot").read_text("direct_url.json")
        return str(json.loads(noted)["url"]) if noted else ""
    return ""


@dataclass(frozen=True, slots=True)
class Python:
    """The interpreter that runs Findspot, and how Findspot was installed."""

    prefix: Path = field(default_factory=lambda: Path(sys.prefix))
    base_prefix: Path = field(default_factory=lambda: Path(sys.base_prefix))
    executable: str = sys.executable
    scripts: Path = field(default_factory=lambda: Path(sysconfig.get_path("scripts")))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    origin: str = field(default_factory=_origin)
    """The URL that the package was installed from; empty if it came from an index."""

    def find(self, program: str) -> str | None:
        return find_program(program, self.environ.get("PATH", ""))


def installation(python: Python) -> str:
    """Return how Findspot is run: by `uvx` or `pipx run`, which make an environment each time, else where."""
    parts = set(python.prefix.parts)
    if parts & _UV_CACHE:
        return "uvx"
    if "pipx" in parts and parts & {".cache", "Cache", "Caches", ".pipx-cache"}:
        return "pipx run"
    return "venv" if python.prefix != python.base_prefix else "python"


def serve_command(python: Python) -> list[str]:
    """Return the command, with its arguments, that starts the server."""
    how = installation(python)
    if how in ("uvx", "pipx run"):
        program, *verb = how.split()
        source = ["--spec" if verb else "--from", python.origin] if python.origin else []
        return [python.find(program) or program, *verb, *source, "findspot", "serve"]
    scripts = (python.scripts / name for name in ("findspot", "findspot.exe"))
    launcher = next((str(path) for path in scripts if path.is_file()), None)
    # -P: clients start it inside the project, whose own findspot.py must not be what runs.
    return [launcher, "serve"] if launcher else [python.executable, "-P", "-m", "findspot", "serve"]


_TAB = 4
_MOST_CHARS = 300
_REPOSITORY = "https://github.com/findspot/findspot"
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
            shown = cut(text[:1] + text[1:].expandtabs(_TAB), _MOST_CHARS)  # it may be all of a file
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
    if plugins := {step.client.title: step.client.plugin for step in steps if step.client.plugin}:
        output.note("A plugin makes an assistant prefer Findspot to its own grep:")
        for title, how in plugins.items():
            output.note(f"  {title}: {how.format(source=_REPOSITORY)}")
    if not toolsets:
        output.note(
            "Assistants now search code and documentation. To let them also search collections of documents "
            "and call the tools of other servers, run `findspot setup --toolsets all`.",
            dim=True,
        )
