"""What Findspot does here: configuration, model, assistants, indexes, and a search that must work."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.core.errors import FindspotError
from findspot.core.model import IndexState, SkipReason
from findspot.core.programs import python_command, python_environment
from findspot.serve.cli.clients import plan
from findspot.serve.cli.clients.installed import Python, serve_command
from findspot.serve.cli.clients.known import CLIENTS, Client, Machine
from findspot.serve.cli.health.check import Check, error, ok, warning

if TYPE_CHECKING:
    from findspot.engine import Engine
    from findspot.project import Project

_SELF_TEST_S = 60
_SAMPLE = 'def greeting(name):\n    """Say hello to someone."""\n    return f"hello {name}"\n'


def project_checks(engine: Engine, project: Project | None) -> Iterator[Check]:
    """Yield everything about configuration, assistants and indexes."""
    settings = project.settings if project else engine.settings
    yield _configuration(settings.warnings)
    yield _model(engine, project)
    yield from clients(Machine())
    yield _index(project)
    yield _indexes(engine)


def _configuration(warnings: tuple[str, ...]) -> Check:
    if warnings:
        return warning(
            "configuration", "; ".join(warnings), "Correct it; `findspot config` shows what counts."
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


def clients(machine: Machine) -> Iterator[Check]:
    """Yield each assistant that is here, and whether it knows a Findspot that can be started."""
    wanted = serve_command(Python())
    none = True
    for client in CLIENTS:
        for path in client.found(machine):
            none = False
            yield _client(client, path, wanted)
    if none:
        remedy = "`findspot setup --client NAME` writes a configuration; `--print` shows it."
        yield warning("assistants", "none was found on this machine", remedy)


def _client(client: Client, path: Path, wanted: list[str]) -> Check:
    title, remedy = client.title, "Run `findspot setup`."
    try:
        entry = plan.server_in(client, path)
    except FindspotError as problem:
        return error("assistants", f"{title}: {problem.user_message}", problem.hint)
    if entry is None:
        return warning("assistants", f"{title}: does not know Findspot yet ({path})", remedy)
    command = [str(entry.get("command", "")), *map(str, entry.get("args") or [])]
    if Path(command[0]).is_absolute() and not Path(command[0]).exists():
        return error("assistants", f"{title}: {command[0]} is gone", remedy)
    if command != wanted:
        return ok("assistants", f"{title}: starts `{' '.join(command)}`")
    return ok("assistants", f"{title}: set up")


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
        return warning("index", text, "Run `findspot index` to go on where it stopped.")
    if status.pending_changes and not status.watcher_active:
        behind = f"{text}; {status.pending_changes:,} changes wait"
        return warning("index", behind, "Run `findspot index`, or let a server watch.")
    if closed := status.skipped.get(SkipReason.UNREADABLE):
        remedy = "Correct their permissions; `findspot status --skipped unreadable` lists them."
        return warning("index", f"{text}; {closed:,} cannot be read", remedy)
    return ok("index", f"{text}, {status.total_chunks:,} chunks")


def _indexes(engine: Engine) -> Check:
    found, orphans = engine.projects(), engine.orphans()
    failed = [status.project_path for _, status in found if status.state is IndexState.FAILED]
    text = f"{len(found)} on this machine"
    if failed:
        return error("indexes", f"{text}, damaged: {', '.join(failed)}", "Run `findspot index` in each.")
    if orphans:
        return warning("indexes", f"{text}, {len(orphans)} without a project", "Run `findspot clean`.")
    return ok("indexes", text)


def self_test() -> Check:
    """Index and search a sample in processes and a folder of their own, so that nothing is left."""
    with tempfile.TemporaryDirectory(prefix="findspot-", ignore_cleanup_errors=True) as place:
        root = Path(place, "sample")
        root.mkdir()
        (root / "greeting.py").write_text(_SAMPLE, encoding="utf-8")
        home = Path(place, "home")
        indexed = _run(["index", str(root)], home)
        found = _run(["search", "say hello to someone", "--project", str(root)], home)
    for answer in (indexed, found):
        if isinstance(answer, Check):
            return answer
    if '"greeting.py"' not in json.dumps(found):
        return error("self-test", "a search of the sample found nothing", "Report this, with --bundle.")
    return ok("self-test", "a sample was indexed and found")


def _run(command: list[str], home: Path) -> dict[str, object] | Check:
    """Return what the real program answers; a crash of a library is a finding like any other."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
    remedy = "Run it again with -v, or report this with --bundle."
    try:
        done = subprocess.run(
            python_command("-m", "findspot", *command, "--json"),
            cwd=home.parent,
            env=python_environment(own) | {"FINDSPOT_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SELF_TEST_S,
            check=False,
        )
        answer: dict[str, object] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return error("self-test", f"`findspot {command[0]}` took more than {_SELF_TEST_S} s", remedy)
    except ValueError:
        return error("self-test", f"`findspot {command[0]}` ended with {done.returncode}", remedy)
    if done.returncode:
        return error("self-test", f"`findspot {command[0]}`: {answer.get('developerMessage')}", remedy)
    return answer
