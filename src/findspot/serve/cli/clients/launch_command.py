"""The command that starts Findspot, for each way to install it."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from findspot.core.platforms import find_program

_UV_CACHE = {"archive-v0", "environments-v2", "builds-v0"}
"""Folders of uv's cache in which `uvx` makes an environment for one run."""


@dataclass(frozen=True, slots=True)
class Python:
    """The interpreter that runs Findspot, and how Findspot was installed."""

    prefix: Path = field(default_factory=lambda: Path(sys.prefix))
    base_prefix: Path = field(default_factory=lambda: Path(sys.base_prefix))
    executable: str = sys.executable
    scripts: Path = field(default_factory=lambda: Path(sysconfig.get_path("scripts")))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    origin: str = field(default_factory=lambda: _origin())  # noqa: PLW0108
    """The URL that the package was installed from; empty if it came from an index."""

    def find(self, program: str) -> str | None:
        return find_program(program, self.environ.get("PATH", ""))


def _origin() -> str:
    """Return the URL that an installer recorded for the package, or an empty string."""
    try:
        noted = metadata.distribution("findspot").read_text("direct_url.json")
        return str(json.loads(noted)["url"]) if noted else ""
    except (metadata.PackageNotFoundError, ValueError, KeyError):
        return ""


def installation(python: Python) -> str:
    """Return how Findspot was installed: `uvx`, `pipx run`, `uv tool`, `pipx`, `venv` or `python`."""
    parts = set(python.prefix.parts)
    if parts & _UV_CACHE:
        return "uvx"
    if (python.prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    if "pipx" in parts and parts & {".cache", "Cache", "Caches", ".pipx-cache"}:
        return "pipx run"
    if (python.prefix / "pipx_metadata.json").is_file():
        return "pipx"
    return "venv" if python.prefix != python.base_prefix else "python"


def serve_command(python: Python) -> list[str]:
    """Return the command, with its arguments, that starts the server."""
    how = installation(python)
    if how == "uvx":
        source = ["--from", python.origin] if python.origin else []
        return [python.find("uvx") or "uvx", *source, "findspot", "serve"]
    if how == "pipx run":
        source = ["--spec", python.origin] if python.origin else []
        return [python.find("pipx") or "pipx", "run", *source, "findspot", "serve"]
    launcher = _launcher(python, lasting=how in ("uv tool", "pipx"))
    # -P: clients start it inside the project, whose own findspot.py must not be what runs.
    return [launcher, "serve"] if launcher else [python.executable, "-P", "-m", "findspot", "serve"]


def _launcher(python: Python, *, lasting: bool) -> str | None:
    """Return the installed script; for a tool the one on the PATH, which outlives its environment."""
    own = [python.scripts / name for name in ("findspot", "findspot.exe")]
    script = next((path for path in own if path.is_file()), None)
    public = python.find("findspot") if lasting else None
    if public and script and Path(public).resolve() == script.resolve():
        return str(Path(public).absolute())
    return str(script) if script else None
