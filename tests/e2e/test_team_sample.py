"""Three seconds of what `python -m benchmarks.team` measures at length."""

from __future__ import annotations

from pathlib import Path

from benchmarks.team import Load, measure

from e2e.sample import make_sample


def test_fifty_clients_without_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    project = make_sample(tmp_path / "project")
    load = Load(clients=50, seconds=3, per_second=1)
    figures = measure(project, home, load)
    assert (figures["errors"], figures["first_errors"], figures["requests"]) == (0, [], 150)
