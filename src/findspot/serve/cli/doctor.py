"""`findspot doctor`: how Findspot stands here, and what to do about what is wrong."""

from __future__ import annotations

from pathlib import Path

import click

from findspot.core.errors import FindspotError, ProjectNotDetectedError
from findspot.engine import Engine
from findspot.project import Project
from findspot.serve.cli import output
from findspot.serve.cli.choose import open_engine
from findspot.serve.cli.health.bundle import write_bundle
from findspot.serve.cli.health.check import Check, State, error
from findspot.serve.cli.health.journal import last_lines
from findspot.serve.cli.health.machine import machine_checks
from findspot.serve.cli.health.project import project_checks, self_test
from findspot.serve.cli.options import Manner, common, path_or_project

_MARKS = {State.OK: ("ok  ", "green"), State.WARNING: ("warn", "yellow"), State.ERROR: ("FAIL", "red")}
_BUNDLE_LINES = 2_000


@click.command()
@path_or_project
@click.option("--no-self-test", is_flag=True, help="Do not index and search a sample.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.zip",
    help="Also write a file for a bug report, without source text or secrets.",
)
@common
def doctor(manner: Manner, project: str | None, no_self_test: bool, bundle: Path | None) -> None:
    """Look at everything Findspot needs, and say what to do about what is wrong.

    Exit code 1 when something does not work; warnings alone are 0.
    """
    with open_engine() as engine:
        opened, problem = _open(engine, project)
        checks = [*machine_checks(opened.root if opened else None), *project_checks(engine, opened)]
        checks += [problem] if problem else []
        checks += [] if no_self_test else [self_test()]
        if bundle:
            settings = opened.settings if opened else engine.settings
            names = write_bundle(bundle, checks, settings, engine.projects(), last_lines(_BUNDLE_LINES)[0])
    worst = [check.state for check in checks]
    if manner.json:
        rows = [{"name": c.name, "state": c.state, "text": c.text, "remedy": c.remedy} for c in checks]
        output.emit(
            {"checks": rows, "ok": State.ERROR not in worst, "bundle": str(bundle) if bundle else None}
        )
    else:
        for check in checks:
            _show(check)
        if bundle:
            output.note(f"{bundle} holds {', '.join(names)}. Look through it before you send it.")
    if State.ERROR in worst:
        raise click.exceptions.Exit(1)


def _open(engine: Engine, given: str | None) -> tuple[Project | None, Check | None]:
    """Return the project here; one that cannot be opened is a finding."""
    try:
        return engine.detect("." if given is None else given), None
    except ProjectNotDetectedError:
        return (None if given is None else engine.project(given)), None
    except FindspotError as problem:
        return None, error("project", problem.user_message, problem.hint or "Name another folder.")


def _show(check: Check) -> None:
    mark, colour = _MARKS[check.state]
    output.line(f"{mark}  {check.name}: {check.text}", fg=None if check.state is State.OK else colour)
    if check.remedy:
        output.line(f"      → {check.remedy}", bold=True)
