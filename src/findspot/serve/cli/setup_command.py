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

_TAB = 4
_MOST_CHARS = 300
_REPOSITORY = "https://github.com/findspot/findspot"
_TOOLSETS_OPTION = "--toolsets"
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


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
    """A client's configuration before and after; None if there is no file."""

    client: Client
    path: Path
    before: bytes | None = None
    after: bytes | None = None
    problem: ConfigUnreadableError | None = None

    @property
    def needed(self) -> bool:
        return self.before != self.after

    @property
    def action(self) -> str:
        if self.problem:
            return "unreadable"
        if not self.needed:
            return "unchanged"
        if self.after is None:
            return "remove"
        return "create" if self.before is None else "change"

    def diff(self) -> list[str]:
        """Return the lines that differ, as `diff -u` shows them, with the secrets of all lines masked."""
        name = str(self.path)
        old, new = _masked_lines(self.before), _masked_lines(self.after)
        return list(difflib.unified_diff(old, new, name, name, n=_CONTEXT_LINES, lineterm=""))

    def as_object(self) -> dict[str, str]:
        about = {"error": self.problem.user_message} if self.problem else {"diff": "\n".join(self.diff())}
        return {"client": self.client.name, "path": str(self.path), "action": self.action} | about

    def show(self) -> None:
        output.line(f"{self.client.title} would {self.action}: {self.path}", bold=True)
        for text in self.diff()[2:]:
            shown = cut(text[:1] + text[1:].expandtabs(_TAB), _MOST_CHARS)  # it may be all of a file
            output.line(f"  {shown}", fg=_DIFF_COLOURS.get(text[:1]))

    def report(self) -> None:
        """Say why nothing is written."""
        if self.problem is None:
            output.line(f"{self.client.title} is already set up: {self.path}", bold=True)
        else:
            output.warn(f"{self.client.title}: {self.problem.user_message}")
            output.note(f"hint: {self.problem.hint}")

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
    """Return the change that puts Findspot into a client's configuration."""
    before = read_config(path)
    return Change(client, path, before, _with_server(client, path, before, command))


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


def backup_of(path: Path) -> Path:
    """Return where a client's file is kept as it was before setup first wrote it."""
    return home_folder() / "setup" / "backups" / f"{content_hash(str(path).encode())[:8]}-{path.name}"


def keep(change: Change) -> None:
    """Keep what a change replaces; the first backup stays, as a later one would hold Findspot's entry."""
    backup = backup_of(change.path)
    if change.before is not None and not backup.exists():
        make_private_dir(backup.parent)
        write_atomic(backup, change.before)


def without_server(client: Client, path: Path) -> Change:
    """Return the change that restores a file; one that was changed since loses only Findspot's entry."""
    now, backup = read_config(path), backup_of(path)
    original = backup.read_bytes() if backup.exists() else None
    command = command_in(server_in(client, path) or {})
    if not command:
        return Change(client, path, now, now)
    if _with_server(client, path, original, command) == now:
        return Change(client, path, now, original)
    return Change(client, path, now, _edited(path, now, lambda text: _taken_out(client, text, original)))


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


def server_in(client: Client, path: Path) -> dict[str, Any] | None:
    """Return Findspot's entry in a client's configuration."""
    data = read_config(path)
    try:
        entries = value_at(parse_config(decode(data or b""), client.format), client.keys)
    except MalformedError as error:
        raise ConfigUnreadableError(path, error) from None
    entry = named(entries).get(SERVER)
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
    executable: str = sys.executable
    scripts: Path = field(default_factory=lambda: Path(sysconfig.get_path("scripts")))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    origin: str = field(default_factory=_origin)
    """The URL that the package was installed from; empty if it came from an index."""


def serve_command(python: Python) -> list[str]:
    """Return the command, with its arguments, that starts the server.

    `uvx` and `pipx run` make an environment for each run: there is nothing to point at.
    """
    parts = set(python.prefix.parts)
    if parts & _UV_CACHE:
        runner = ["uvx", *(["--from", python.origin] if python.origin else [])]
    elif "pipx" in parts and parts & {".cache", "Cache", "Caches", ".pipx-cache"}:
        runner = ["pipx", "run", *(["--spec", python.origin] if python.origin else [])]
    else:
        scripts = (python.scripts / name for name in ("findspot", "findspot.exe"))
        launcher = next((str(path) for path in scripts if path.is_file()), None)
        # -P: clients start it inside the project, whose own findspot.py must not be what runs.
        return [launcher, "serve"] if launcher else [python.executable, "-P", "-m", "findspot", "serve"]
    program = find_program(runner[0], python.environ.get("PATH", "")) or runner[0]
    return [program, *runner[1:], "findspot", "serve"]


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
    if undo:
        changes = [each for each in _changes(names, without_server) if each.action != "unchanged"]
    else:
        changes = _changes(names, lambda client, path: _connected(client, path, offered), create=True)
        if not changes:
            hint = "Name one with `findspot setup --client NAME`."
            raise InvalidArgumentError("No assistant was found on this machine.", hint=hint)

    done = _agreed(changes, "Restore" if undo else "Write", reply, dry_run=dry_run, yes=yes)
    for change in done:
        if not undo:
            keep(change)
        change.write()
        if undo:
            backup_of(change.path).unlink(missing_ok=True)

    failed = [change.client.title for change in changes if change.problem]
    reported = [each for each in changes if dry_run or each in done or not each.needed]
    value = {"status": "dry_run" if dry_run else "success", "steps": [each.as_object() for each in reported]}
    reply.answer_program(value, int(bool(failed)))
    for change in changes:
        if not change.needed:
            change.report()
        elif change in done and not undo:
            output.line(f"{change.client.title}: done. {change.client.then}", fg="green")
    if undo and not (dry_run and changes):
        restored = f"Restored {output.count(len(done), 'file')}."
        output.line(restored if done else "There is nothing to undo.")
    elif done:
        _tell_more([change.client for change in done], offered)
    if failed:
        output.warn(f"Left alone: {', '.join(failed)}; the configuration could not be read (see above).")
        raise click.exceptions.Exit(1)


def _changes(
    names: tuple[str, ...], change: Callable[[Client, Path], Change], *, create: bool = False
) -> list[Change]:
    """Return a change per configuration file of the clients that are installed, or that were named."""
    machine = Machine()
    changes = []
    for client in [BY_NAME[name] for name in names] or CLIENTS:
        for path in client.configs(machine) or (client.locations(machine)[:1] if names and create else []):
            try:
                changes.append(change(client, path))
            except ConfigUnreadableError as problem:
                changes.append(Change(client, path, problem=problem))
    return changes


def _agreed(changes: list[Change], verb: str, reply: Reply, *, dry_run: bool, yes: bool) -> list[Change]:
    """Show the changes, and return those that the user agrees to: all, or those that are chosen."""
    changes = [change for change in changes if change.needed]
    if not reply.json and (dry_run or not yes):
        for change in changes:
            change.show()
    if dry_run or not changes:
        return []
    question = f"{verb} {output.count(len(changes), 'file')}?"
    if yes or len(changes) == 1 or not can_ask():
        confirm(question, yes, reply)
        return changes
    answer = prompt(f"{question} [y/N, c to choose]").lower()
    if answer in ("c", "choose"):
        changes = [each for each in changes if agreed(f"{each.client.title}: {verb.lower()} {each.path}?")]
    elif answer not in ("y", "yes"):
        changes = []
    return changes or cancel(reply)


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


def _tell_more(clients: list[Client], toolsets: str) -> None:
    """Say how to undo it, and what can be added: plugins, and tools beyond those of a project."""
    output.note("`findspot setup --undo` restores the files.", dim=True)
    if plugins := {client.title: client.plugin for client in clients if client.plugin}:
        output.note("A plugin makes an assistant prefer Findspot to its own grep:")
        for title, how in plugins.items():
            output.note(f"  {title}: {how.format(source=_REPOSITORY)}")
    if not toolsets:
        output.note(
            "Assistants now search code and documentation. To let them also search collections of documents "
            "and call the tools of other servers, run `findspot setup --toolsets all`.",
            dim=True,
        )
