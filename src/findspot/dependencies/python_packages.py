"""Python: requirements, lock files, and the environments that hold the packages."""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from dataclasses import replace
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from findspot.dependencies.package import (
    NOT_INSTALLED,
    OUTSIDE,
    PYPI,
    Dependency,
    Manifests,
    is_sane,
    normalised,
    real_folders,
    stored,
    strings,
    table,
)

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)[^;#]*(?:;\s*([^#]*))?")
_POETRY_UNSAFE = re.compile(r'[ $`!*@"\\\r\n\t]')
_OWN_ENVIRONMENTS = (".venv", "venv", "env", ".conda", ".pixi/envs/default")
_CONDA_FOLDERS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda", "micromamba")
_MOST_INCLUDED = 20
_MOST_TOPS = 50


Wanted = dict[str, tuple[str, str]]
"""What the project's own files ask for, by normalised name: the name as written, and the condition."""


def python_packages(manifests: Manifests, environ: dict[str, str], home: Path) -> list[Dependency]:
    """Return the Python packages of a project: those it names, and all of its environments."""
    wanted = _wanted(manifests)
    if not wanted:
        return []
    installed: dict[str, Dependency] = {}
    for site in _site_packages(manifests.root, _project_name(manifests), environ, home):
        for distribution in _distributions(site):
            installed.setdefault(normalised(distribution.name), distribution)
    own = normalised(_project_name(manifests))
    names = {**wanted, **installed}
    return [_dependency(name, wanted, installed) for name in names if name != own]


def _dependency(name: str, wanted: Wanted, installed: dict[str, Dependency]) -> Dependency:
    found = installed.get(name)
    if found is not None:
        return replace(found, direct=name in wanted)
    written, marker = wanted[name]
    reason = f"{NOT_INSTALLED}; wanted only if {marker}" if marker else NOT_INSTALLED
    return Dependency(PYPI, written, "", True, missing=reason)


def _wanted(manifests: Manifests) -> Wanted:
    """Return what requirement lines ask for; options, addresses and paths are none."""
    wanted: Wanted = {}
    for requirement in _requirements(manifests):
        found = _REQUIREMENT.match(requirement)
        if found is not None and not requirement.lstrip().startswith("-"):
            wanted.setdefault(normalised(found[1]), (found[1], (found[2] or "").strip()))
    return wanted


def _requirements(manifests: Manifests) -> Iterator[str]:
    yield from _declared(manifests.toml("pyproject.toml"))
    for name in sorted(_requirements_files(manifests.root)):
        yield from _lines(manifests, name)
    yield from _setup_cfg(manifests.text("setup.cfg"))
    yield from _setup_py(manifests.text("setup.py"))
    pipfile = manifests.toml("Pipfile")
    for section in ("packages", "dev-packages"):
        yield from table(pipfile.get(section))


def _declared(document: dict[str, Any]) -> Iterator[str]:
    project = table(document.get("project"))
    yield from strings(project.get("dependencies"))
    for extra in table(project.get("optional-dependencies")).values():
        yield from strings(extra)
    for group in table(document.get("dependency-groups")).values():
        yield from strings(group)
    poetry = table(table(document.get("tool")).get("poetry"))
    groups = [table(group) for group in table(poetry.get("group")).values()]
    sections = [poetry.get("dependencies"), poetry.get("dev-dependencies")]
    for section in (*sections, *(group.get("dependencies") for group in groups)):
        yield from (name for name in table(section) if name != "python")
    pixi = table(table(document.get("tool")).get("pixi"))
    yield from table(pixi.get("pypi-dependencies"))
    uv = table(table(document.get("tool")).get("uv"))
    yield from strings(uv.get("dev-dependencies"))


def _project_name(manifests: Manifests) -> str:
    document = manifests.toml("pyproject.toml")
    poetry = table(table(document.get("tool")).get("poetry"))
    name = table(document.get("project")).get("name") or poetry.get("name") or ""
    return name if isinstance(name, str) else ""


def _requirements_files(root: Path) -> Iterator[str]:
    for folder in (root, root / "requirements"):
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        for name in names:
            if name.endswith((".txt", ".in")) and (folder != root or "requirements" in name):
                yield (folder / name).relative_to(root).as_posix()


def _lines(manifests: Manifests, name: str) -> Iterator[str]:
    """Yield the requirements of a file, and of those it includes, as long as they lie in the project."""
    pending, seen = [name], {name}
    while pending and len(seen) <= _MOST_INCLUDED:
        path = pending.pop()
        for line in manifests.text(path).replace("\\\n", " ").splitlines():
            option, _, value = line.strip().partition(" ")
            if option in ("-r", "--requirement"):
                included = os.path.normpath(Path(path).parent / value.strip()).replace(os.sep, "/")
                if not included.startswith("..") and included not in seen:
                    seen.add(included)
                    pending.append(included)
            elif "://" not in line.partition("#")[0] and line.strip()[:1].isalnum():
                yield line


def _setup_cfg(text: str) -> Iterator[str]:
    parser = ConfigParser(interpolation=None, strict=False)
    with contextlib.suppress(ConfigParserError):
        parser.read_string(text)
    yield from filter(None, parser.get("options", "install_requires", fallback="").splitlines())


def _setup_py(text: str) -> Iterator[str]:
    """Yield the requirements that a `setup.py` lists as constants; it is read, never run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "install_requires":
            listed = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else ()
            for each in listed:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def _site_packages(root: Path, name: str, environ: dict[str, str], home: Path) -> Iterator[Path]:
    """Yield the package folders of the project's environments, the nearest first."""
    own = [root / place for place in _OWN_ENVIRONMENTS]
    active = [Path(environ[key]) for key in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(key)]
    active = [folder for folder in active if folder.resolve() != Path(sys.prefix).resolve()]
    for folder in (*own, *active, *_managed(root, name, environ, home)):
        is_own = folder in own
        if not (folder / "pyvenv.cfg").is_file() and not (folder / "conda-meta").is_dir():
            continue
        real = real_folders(folder)
        if not real or (is_own and not real[0].is_relative_to(root.resolve())):
            continue  # a link of the repository leads elsewhere
        sites = real_folders(
            *sorted(real[0].glob("lib/python3*/site-packages")), real[0] / "Lib" / "site-packages"
        )
        yield from (site for site in sites if site.is_relative_to(real[0]))


def _managed(root: Path, name: str, environ: dict[str, str], home: Path) -> Iterator[Path]:
    """Yield the environments that Poetry, Pipenv and conda keep elsewhere for a project."""
    cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    place = os.path.normcase(os.path.realpath(root)).encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(place).digest()).decode()[:8]
    safe = _POETRY_UNSAFE.sub("_", name or root.name)[:42]
    for folder in (
        cache / "pypoetry" / "virtualenvs",
        home / "Library" / "Caches" / "pypoetry" / "virtualenvs",
        home / "AppData" / "Local" / "pypoetry" / "Cache" / "virtualenvs",
    ):
        yield from sorted(folder.glob(f"{_escaped(safe)}-{_escaped(digest)}-py*"))
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield from sorted((data / "virtualenvs").glob(f"{_escaped(root.name)}-*"))
    match = re.search(r"^name:\s*([\w.-]+)", Manifests(root).text("environment.yml"), re.MULTILINE)
    if match:
        yield from (home / folder / "envs" / match[1] for folder in _CONDA_FOLDERS)


def _escaped(name: str) -> str:
    return re.sub(r"([\[\]*?])", r"[\1]", name)


def _distributions(site: Path) -> Iterator[Dependency]:
    for entry in sorted(os.scandir(site), key=lambda each: each.name):
        if entry.name.endswith(".dist-info"):
            yield from _distribution(site, Path(entry.path), "METADATA")
        elif entry.name.endswith(".egg-info"):
            yield from _distribution(site, Path(entry.path), "PKG-INFO")


def _distribution(site: Path, info: Path, metadata: str) -> Iterator[Dependency]:
    fields = HeaderParser().parsestr(Manifests(site).text(f"{info.name}/{metadata}").partition("\n\n")[0])
    name, version = fields.get("Name", "").strip(), fields.get("Version", "").strip()
    if not version or not is_sane(name, version):
        return
    yield Dependency(PYPI, name, version, False, *_place(site, info, name))


def _place(site: Path, info: Path, name: str) -> tuple[Path | None, str]:
    """Return where the code of a distribution lies: its package folder or module."""
    direct_url = Manifests(site).json(f"{info.name}/direct_url.json")
    if table(direct_url.get("dir_info")).get("editable"):
        return None, "installed in editable form from a folder"
    for top in _tops(info, name):
        for candidate in (site / top, site / f"{top}.py"):
            if candidate.exists():
                real = stored(candidate, [site])
                return (real, "") if real is not None else (None, OUTSIDE)
    return None, "it has no Python files"


def top_names(name: str, package: Path) -> list[str]:
    """Return the folders that a distribution puts beside its package folder, that one first."""
    site = package.parent
    found = [package.name]
    for info in sorted(site.glob("*.dist-info")):
        if normalised(info.name.partition("-")[0]) == normalised(name):
            found += [top for top in _tops(info, name) if (site / top).is_dir()]
    return [top for top in dict.fromkeys(found) if stored(site / top, [site]) is not None]


def _tops(info: Path, name: str) -> Iterator[str]:
    """Yield the names of what a distribution puts into the package folder, the likeliest first."""
    yield normalised(name).replace("-", "_")
    files = Manifests(info.parent)
    yield from files.text(f"{info.name}/top_level.txt").split()[:_MOST_TOPS]
    record = files.text(f"{info.name}/RECORD")
    counted: dict[str, int] = {}
    for line in record.splitlines():
        path = line.partition(",")[0]
        top = path.partition("/")[0]
        if path.endswith((".py", ".pyi")) and not top.endswith((".dist-info", ".data")) and top != "..":
            counted[top.removesuffix(".py")] = counted.get(top.removesuffix(".py"), 0) + 1
    yield from sorted(counted, key=lambda top: (-counted[top], top))[:_MOST_TOPS]
