"""`findspot doctor`: check everything Findspot needs, and say what to do."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

import click

from findspot import __version__
from findspot.catalogue.known_clients import CLIENTS, Client, Machine
from findspot.core.errors import FindspotError, ProjectNotDetectedError
from findspot.core.files import folder_bytes
from findspot.core.model import IndexState, SkipReason
from findspot.core.paths import home_folder
from findspot.core.platforms import native, python_command, python_environment, remote_kind
from findspot.door.address import reason_for_none
from findspot.door.connection import ask
from findspot.engine import Engine
from findspot.index_folders import find_orphans
from findspot.project import Project
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.clients import config_files
from findspot.serve.cli.clients.config_files import Python, installation, serve_command
from findspot.serve.cli.options import Reply, common, path_or_project
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.server_commands import sentence

LEAST_DISK_BYTES = 200 * 1024 * 1024
"""Enough for the index of a medium project and its next version, which exist together for a moment."""
ENOUGH_DISK_BYTES = 1024 * 1024 * 1024
ENOUGH_WATCHES = 65_536
"""Enough for the folders of a large project and the watches of an editor."""
_LEAST_WATCHES = 8_192
"""The old default of Linux, which one editor alone uses up."""
_NATIVE = ("numpy", "simsimd", "tantivy", "tree_sitter", "watchfiles", "pydantic_core")
_LOAD = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        print(name, "loads", flush=True)
    except ImportError as problem:
        print(name, str(problem).replace(chr(10), " "), flush=True)
"""
_LONG_PATHS = r"SYSTEM\CurrentControlSet\Control\FileSystem"
INOTIFY = Path("/proc/sys/fs/inotify")
_SELF_TEST_S = 60
_SERVER_S = 10.0
_SAMPLE = 'def greeting(name):\n    """Say hello to someone."""\n    return f"hello {name}"\n'


class State(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """One checked thing; `remedy` says what to do, and is empty only if there is nothing to do."""

    name: str
    state: State
    text: str
    remedy: str = ""


def ok(name: str, text: str) -> Check:
    return Check(name, State.OK, text)


def warning(name: str, text: str, remedy: str) -> Check:
    return Check(name, State.WARNING, text, remedy)


def error(name: str, text: str, remedy: str) -> Check:
    return Check(name, State.ERROR, text, remedy)


def machine_checks(root: Path | None) -> Iterator[Check]:
    """Yield the checks that need no index."""
    home = home_folder()
    yield _python()
    yield _system()
    yield _installation()
    yield _packages()
    yield _console(sys.stdout.encoding or "")
    yield _home(home)
    yield _disk(home)
    yield watching(root)
    yield _service()


def _service() -> Check:
    """Show the process that answers all clients."""
    if why := reason_for_none():
        return ok("service", f"not used, as {why}")
    about = ask("status")
    return ok("service", sentence(about) if about else "does not run; the next question starts it")


def _python() -> Check:
    bits = struct.calcsize("P") * 8
    text = f"{platform.python_implementation()} {platform.python_version()}, {bits} bits, {sys.executable}"
    if bits < 64:
        return warning("python", text, "Use a 64-bit Python: large indexes do not fit into this one.")
    return ok("python", text)


def _system() -> Check:
    text = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores"
    if sys.platform == "win32" and not _long_paths():
        remedy = "Enable long paths (LongPathsEnabled in the registry): files with longer paths are left out."
        return warning("system", f"{text}; paths are limited to 260 characters", remedy)
    return ok("system", text)


def _long_paths() -> bool:
    """Return whether Windows lets programs use paths of more than 260 characters."""
    try:
        winreg = importlib.import_module("winreg")
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _LONG_PATHS) as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except (ImportError, OSError):
        return False


def _installation() -> Check:
    python = Python()
    command = " ".join(serve_command(python))
    text = f"findspot {__version__} ({installation(python)}), started by `{command}`"
    on_path, first = python.find("findspot"), Path(serve_command(python)[0])
    is_script = first.is_file() and "findspot" in first.name
    if on_path and is_script and not Path(on_path).samefile(first):
        return warning(
            "findspot", f"{text}; another one is first on the PATH: {on_path}", "Remove one of them."
        )
    return ok("findspot", text)


def _packages() -> Check:
    """Import compiled packages in a process of their own: on an unusual system they may crash it."""
    done = subprocess.run(
        python_command("-c", _LOAD, *_NATIVE),
        env=python_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    results = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    broken = [f"{name} ({results.get(name, 'crashes')})" for name in _NATIVE if results.get(name) != "loads"]
    if broken:
        return error("packages", f"cannot be loaded: {', '.join(broken)}", "Install findspot again.")
    text = f"{len(list(metadata.distributions()))} installed, the compiled ones load"
    if native():
        return ok("packages", f"{text}, and so does the compiled part of Findspot")
    remedy = "Install a C compiler and then findspot again, or take a released wheel."
    return warning("packages", f"{text}; without its compiled part, Findspot indexes more slowly", remedy)


def _console(encoding: str) -> Check:
    if encoding.lower().replace("-", "") == "utf8":
        return ok("console", encoding)
    remedy = "Set PYTHONUTF8=1 to see them as they are."
    return warning("console", f"{encoding}: characters that it lacks are shown as escapes", remedy)


def _home(home: Path) -> Check:
    text = f"{home}, {shapes.size(folder_bytes(home))}" if home.exists() else f"{home}, not there yet"
    try:
        tempfile.TemporaryFile(dir=_existing(home)).close()
    except OSError as problem:
        remedy = "Take ownership of it, or set FINDSPOT_HOME to another folder."
        return error("store", f"{text}; not writable: {problem.strerror}", remedy)
    if not home.exists():
        return ok("store", f"{home} (created with the first index)")
    kind = remote_kind(home)
    if kind:
        remedy = "Set FINDSPOT_HOME to a folder on a local disk: locks may not hold here."
        return warning("store", f"{text}; on a remote file system ({kind})", remedy)
    if os.name == "posix" and stat.S_IMODE(home.stat().st_mode) & 0o077:
        return warning("store", f"{text}; others can read it", f"chmod 700 {home}")
    return ok("store", text)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest around it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def _disk(home: Path) -> Check:
    folder = _existing(home)
    free = shutil.disk_usage(folder).free
    text = f"{shapes.size(free)} free at {folder}"
    remedy = "Free some space, or set FINDSPOT_HOME to a folder on another disk."
    if free < LEAST_DISK_BYTES:
        return error("disk", text, remedy)
    return warning("disk", text, remedy) if free < ENOUGH_DISK_BYTES else ok("disk", text)


def watching(root: Path | None, limits: Path = INOTIFY) -> Check:
    """Check that the system lets a watcher follow all folders of a project."""
    if root and (kind := remote_kind(root)):
        text = f"{root} is remote ({kind}): checked every few seconds"
        return warning("watching", text, "Work on a local copy, where changes are noticed immediately.")
    try:
        watches = int((limits / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return ok("watching", "the system sets no limit on watched folders")
    needed = _count_folders(root) if root else 0
    text = f"{watches:,} watches allowed" + (f", {needed:,} folders here" if root else "")
    if watches < max(needed * 2, _LEAST_WATCHES):
        remedy = f"sudo sysctl fs.inotify.max_user_watches={max(ENOUGH_WATCHES, needed * 4)}"
        return warning("watching", f"{text}; beyond that, folders are checked every few seconds", remedy)
    return ok("watching", text)


def _count_folders(root: Path) -> int:
    """Return the number of folders that a watcher would follow: those that the walk enters."""
    from findspot.core.config import load_settings
    from findspot.discover.walk import walk

    walked = walk(root, load_settings(root).discover)
    return len({file.path.rpartition("/")[0] for file in walked.files})


def project_checks(engine: Engine, project: Project | None) -> Iterator[Check]:
    """Yield the checks of configuration, assistants and indexes."""
    settings = project.settings if project else engine.settings
    yield _configuration(settings.warnings)
    yield _model(engine, project)
    yield from client_checks(Machine())
    yield from server_checks(engine, project)
    yield _index(project)
    yield _indexes(engine)


def _configuration(warnings: tuple[str, ...]) -> Check:
    if warnings:
        return warning(
            "configuration", "; ".join(warnings), "Correct it; `findspot config` shows the values in force."
        )
    return ok("configuration", "valid")


def _model(engine: Engine, project: Project | None) -> Check:
    from findspot.embed.survey import survey

    settings = (project.settings if project else engine.settings).embed
    chosen = next((row for row in survey(settings, measure=False) if row.chosen), None)
    if chosen is None:
        remedy = (
            "`findspot models` lists the providers; set one with `findspot config set embedding.provider`."
        )
        return error("model", f"there is no provider {settings.provider}", remedy)
    goes = "nothing leaves this machine" if not chosen.leaves_machine else f"texts go to {chosen.sends_to}"
    if not chosen.installed:
        return error(
            "model", f"{chosen.provider}: {chosen.detail}", "`findspot models` says what each needs."
        )
    return ok("model", f"{chosen.provider}, {goes}")


def client_checks(machine: Machine) -> Iterator[Check]:
    """Yield one check per assistant: whether it knows a Findspot that can be started."""
    wanted = serve_command(Python())
    none = True
    for client in CLIENTS:
        for path in client.configs(machine):
            none = False
            yield _client(client, path, wanted)
    if none:
        remedy = "`findspot setup --client NAME` writes a configuration; `--print` shows it."
        yield warning("assistants", "none found on this machine", remedy)


def _client(client: Client, path: Path, wanted: list[str]) -> Check:
    title, remedy = client.title, "Run `findspot setup`."
    try:
        entry = config_files.server_in(client, path)
    except FindspotError as problem:
        return error("assistants", f"{title}: {problem.user_message}", problem.hint)
    if entry is None:
        return warning("assistants", f"{title}: Findspot is not configured ({path})", remedy)
    command = config_files.command_in(entry) or [""]
    if Path(command[0]).is_absolute() and not Path(command[0]).exists():
        return error("assistants", f"{title}: {command[0]} does not exist", remedy)
    if command[: len(wanted)] != wanted:  # options such as --toolsets follow
        return ok("assistants", f"{title}: starts `{' '.join(command)}`")
    return ok("assistants", f"{title}: set up")


def server_checks(engine: Engine, project: Project | None) -> Iterator[Check]:
    """Yield one check per MCP server of the catalogue that the user agreed to: whether it starts."""
    from findspot.catalogue.live_connection import ask_servers

    registry = engine.catalogue(project.root if project else ".").registry
    specs = {spec.name: spec for index in registry.indexes for spec in registry.servers(index)}
    usable = [spec for spec in specs.values() if registry.is_usable(spec)]
    remedy = "Check its entry; `findspot tools list` shows what is known of it."
    for name, answer in (ask_servers(usable, _SERVER_S) if usable else {}).items():
        if answer.error is not None:
            yield warning("servers", f"{name}: {answer.error}", remedy)
        else:
            yield ok("servers", f"{name}: starts, {len(answer.tools)} tools")
    for spec in registry.lacking():
        yield warning("servers", f"{spec.name}: not agreed to as it is now", "Run `findspot tools index`.")


def _index(project: Project | None) -> Check:
    if project is None:
        return ok("index", "no project here")
    status = project.status()
    text = f"{status.project_path}: {status.state.replace('_', ' ')}, {status.total_files:,} files"
    if status.state is IndexState.NOT_FOUND:
        return warning("index", f"{status.project_path} is not indexed", "Run `findspot index`.")
    if status.state is IndexState.FAILED:
        return error("index", f"{text}; {status.last_error}", "Run `findspot index` to rebuild it.")
    if status.last_error:
        return warning("index", f"{text}; {status.last_error}", "Run `findspot index` to try again.")
    if status.state is IndexState.INCOMPLETE:
        return warning("index", text, "Run `findspot index` to continue.")
    if status.pending_changes and not status.watcher_active:
        behind = f"{text}; {status.pending_changes:,} changes wait"
        return warning("index", behind, "Run `findspot index`, or let a server watch.")
    if closed := status.skipped.get(SkipReason.UNREADABLE):
        remedy = "Correct their permissions; `findspot status --skipped unreadable` lists them."
        return warning("index", f"{text}; {closed:,} cannot be read", remedy)
    return ok("index", f"{text}, {status.total_chunks:,} chunks")


def _indexes(engine: Engine) -> Check:
    indexed, orphans = engine.projects(), find_orphans(engine.settings.home)
    failed = [status.project_path for _, status in indexed if status.state is IndexState.FAILED]
    text = f"{len(indexed)} on this machine"
    if failed:
        return error("indexes", f"{text}, damaged: {', '.join(failed)}", "Run `findspot index` in each.")
    if orphans:
        return warning("indexes", f"{text}, {len(orphans)} without a project", "Run `findspot clean`.")
    return ok("indexes", text)


def self_test() -> Check:
    """Index and search a sample in processes and a folder of their own, so that nothing is left."""
    remedy = "Run it again with -v, and report what it prints."
    own = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
    with tempfile.TemporaryDirectory(prefix="findspot-", ignore_cleanup_errors=True) as scratch:
        root = Path(scratch, "sample")
        root.mkdir()
        (root / "greeting.py").write_text(_SAMPLE, encoding="utf-8")
        environment = python_environment(own) | {"FINDSPOT_HOME": str(Path(scratch, "home"))}
        for command in ("index", "search"):
            words = ["say hello to someone", "--project"] if command == "search" else []
            try:
                done = subprocess.run(
                    python_command("-m", "findspot", command, *words, str(root), "--json"),
                    cwd=scratch,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_SELF_TEST_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return error("self-test", f"`findspot {command}` took more than {_SELF_TEST_S} s", remedy)
            if done.returncode:
                said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
                return error(
                    "self-test", f"`findspot {command}` ended with {done.returncode}: {said}", remedy
                )
    if b'"greeting.py"' not in done.stdout:
        return error("self-test", "a search of the sample found nothing", "Report this.")
    return ok("self-test", "a sample was indexed and found")


_MARKS = {State.OK: ("ok  ", "green"), State.WARNING: ("warn", "yellow"), State.ERROR: ("FAIL", "red")}


@click.command()
@path_or_project
@click.option("--no-self-test", is_flag=True, help="Skip the test that indexes and searches a sample.")
@common
def doctor(reply: Reply, project: str | None, no_self_test: bool) -> None:
    """Look at everything Findspot needs, and say what to do about what is wrong.

    Exit code 1 when something does not work; warnings alone are 0.
    """
    with open_engine() as engine:
        opened, problem = _open_project(engine, project)
        checks = [*machine_checks(opened.root if opened else None), *project_checks(engine, opened)]
        checks += [problem] if problem else []
        checks += [] if no_self_test else [self_test()]
    has_error = any(check.state is State.ERROR for check in checks)
    if reply.json:
        rows = [asdict(check) for check in checks]
        output.emit({"checks": rows, "ok": not has_error})
    else:
        for check in checks:
            _show_check(check)
    if has_error:
        raise click.exceptions.Exit(1)


def _open_project(engine: Engine, given: str | None) -> tuple[Project | None, Check | None]:
    """Return the project here, or the failed check if it cannot be opened."""
    try:
        return engine.detect("." if given is None else given), None
    except ProjectNotDetectedError:
        return (None if given is None else engine.project(given)), None
    except FindspotError as problem:
        return None, error("project", problem.user_message, problem.hint or "Name another folder.")


def _show_check(check: Check) -> None:
    mark, colour = _MARKS[check.state]
    output.line(f"{mark}  {check.name}: {check.text}", fg=None if check.state is State.OK else colour)
    if check.remedy:
        output.line(f"      → {check.remedy}", bold=True)
