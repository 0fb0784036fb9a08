"""All dependencies of a project, Python's and JavaScript's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from findspot.core.caller import ENVIRONMENT
from findspot.core.log import get_logger
from findspot.dependencies.npm_packages import npm_packages
from findspot.dependencies.package import Dependency, Manifests, is_sane
from findspot.dependencies.python_packages import python_packages

_log = get_logger("dependencies")


def list_dependencies(
    root: Path,
    environ: dict[str, str] | None = None,
    home: Path | None = None,
    manifests: Manifests | None = None,
) -> list[Dependency]:
    """Return what a project depends on: direct ones first, then by ecosystem and name."""
    environ = dict(ENVIRONMENT) if environ is None else environ
    home = Path.home() if home is None else home
    manifests = manifests or Manifests(root)
    readers: tuple[Callable[[], list[Dependency]], ...] = (
        lambda: python_packages(manifests, environ, home),
        lambda: npm_packages(manifests),
    )
    found: list[Dependency] = []
    for read in readers:
        try:
            found += read()
        except Exception:  # noqa: BLE001  whatever a repository contains, the rest is listed
            _log.warning("%s: some dependencies could not be read", root, exc_info=True)
    found = [each for each in found if is_sane(each.name, each.version)]
    return sorted(found, key=lambda each: (not each.direct, each.ecosystem, each.name.lower(), each.version))


_MOST_NAMED = 200
"""Direct dependencies that a summary names."""


def summary(dependencies: list[Dependency]) -> dict[str, Any] | None:
    """Return the direct dependencies by name and version, how many others there are, and what is missing."""
    if not dependencies:
        return None
    direct = [each for each in dependencies if each.direct]
    missing = [f"{each.ecosystem}/{each.name}" for each in direct if each.missing]
    return {
        "direct": [each.label for each in direct if not each.missing][:_MOST_NAMED],
        "indirect": len(dependencies) - len(direct),
        "missing": missing[:_MOST_NAMED],
    }
