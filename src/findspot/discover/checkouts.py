"""Where a project begins, which repositories a folder holds, what git keeps beside its files, and addresses.

No program is run, and nothing but small regular files is opened. The address of a repository is the same for
every spelling of a remote, and without credentials: `git@github.com:Acme/Shop.git`,
`https://user:secret@github.com/acme/shop` and `github.com/acme/shop` all are `github.com/acme/shop`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

from findspot.core.errors import InvalidArgumentError
from findspot.core.files import check_exhausted, read_below
from findspot.core.languages import language_of, row
from findspot.core.paths import is_denied, path_below
from findspot.discover.root_folder import nfc, spelled_out

GIT = ".git"
"""A folder; in linked worktrees and submodules, a file that points to one."""

MARKERS = (GIT, "package.json", "pyproject.toml", "Cargo.toml", "go.mod")
"""In the order in which they are looked for."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_BYTES = 1024 * 1024


def find_root(start: Path) -> Path | None:
    """Return the nearest folder, from `start` upwards, that holds a marker of a project."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if any(os.path.lexists(folder / marker) for marker in MARKERS):
            return folder
    return None


def is_checkout(folder: Path) -> bool:
    """Return whether a folder has its own `.git`: it is then a project of its own, and part of no other."""
    return os.path.lexists(folder / GIT)


def checkout_around(folder: Path) -> Path | None:
    """Return the nearest folder, from `folder` upwards, that has its own `.git`."""
    return next(filter(is_checkout, chain((folder,), folder.parents)), None)


def folders_around(folder: Path) -> Iterator[Path]:
    """Yield the folders whose index may hold the files of `folder`: itself and those above it.

    The last one is the top of its checkout: an index of what is above that does not hold them.
    """
    for around in chain((folder,), folder.parents):
        yield around
        if is_checkout(around):
            return


def git_folder(checkout: Path) -> Path | None:
    """Return where git keeps the HEAD of a checkout; for a linked worktree it is elsewhere."""
    here = checkout / GIT
    if here.is_dir():
        return here
    label, _, place = _text(checkout, GIT).partition(":")
    return Path(os.path.normpath(checkout / place.strip())) if label == "gitdir" and place.strip() else None


def common_folder(git: Path) -> Path:
    """Return where git keeps what all worktrees of a repository share: refs, configuration, excludes."""
    shared = _text(git, "commondir").strip()
    return Path(os.path.normpath(git / shared)) if shared else git


def head_commit(checkout: Path) -> str | None:
    """Return the commit of HEAD; None where there is none, or where git keeps it in a form of its own."""
    git = git_folder(checkout)
    if git is None:
        return None
    head = _text(git, "HEAD").strip()
    if not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else None
    name, common = head.removeprefix("ref: ").strip(), common_folder(git)
    loose = _text(common, name).strip() if name.startswith("refs/") and ".." not in name else ""
    if _COMMIT.fullmatch(loose):
        return loose
    packed = re.search(rf"^({_COMMIT.pattern}) {re.escape(name)}$", _text(common, "packed-refs"), re.M)
    return packed[1] if packed else None


def is_shallow(checkout: Path) -> bool:
    """Return whether a clone has the newest commits only."""
    git = git_folder(checkout)
    return git is not None and (common_folder(git) / "shallow").exists()


def exclude_file(checkout: Path) -> Path | None:
    git = git_folder(checkout)
    return common_folder(git) / "info" / "exclude" if git else None


def git_configuration(checkout: Path) -> str:
    git = git_folder(checkout)
    return _text(common_folder(git), "config") + _text(git, "config.worktree") if git else ""


def _text(folder: Path, name: str) -> str:
    try:
        return read_below(folder, name, _MAX_BYTES).decode("utf-8", "surrogateescape")
    except ValueError:  # a NUL in what a file names as a path
        return ""
    except OSError as error:
        check_exhausted(error, folder / name)
        return ""


DEPTH = 2
"""How far down repositories are looked for: `folder/repository` and `folder/owner/repository`."""
_MOST_FOLDERS = 2_000


def repositories_in(folder: Path) -> list[Path]:
    """Return the repositories in a folder, in order; of several worktrees of one, the main or the first."""
    found: dict[Path, Path] = {}
    for checkout in sorted(_checkouts(folder, DEPTH), key=lambda path: (not (path / GIT).is_dir(), path)):
        git = git_folder(checkout)
        found.setdefault(Path(os.path.realpath(common_folder(git))) if git else checkout, checkout)
    return sorted(found.values())


def projects_in(folder: Path) -> list[Path]:
    """Return the projects that a folder means: itself if it is one or holds no repository, else those."""
    return [folder] if find_root(folder) == folder else repositories_in(folder) or [folder]


def _checkouts(folder: Path, depth: int) -> Iterator[Path]:
    for inner in _entries(folder, folders=True):
        if is_checkout(inner):
            yield inner
        elif depth > 1:
            yield from _checkouts(inner, depth - 1)


def _entries(folder: Path, *, folders: bool) -> list[Path]:
    """Return the folders in a folder that an index could hold, or the files; those that can be read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:_MOST_FOLDERS]
    except OSError:
        return []
    kept = (e for e in entries if not e.name.startswith(".") and not is_denied(e.name, folders))
    return [Path(e.path) for e in kept if e.is_dir(follow_symlinks=False) == folders]


def holds_code(folder: Path) -> bool:
    """Return whether a folder, or one directly in it that is no repository, has a file with code."""
    here = (folder, *(each for each in _entries(folder, folders=True) if not is_checkout(each)))
    files = (file.name for inner in here for file in _entries(inner, folders=False))
    return any(row(language_of(name)).grammar for name in files)


def by_name(folders: Iterable[Path], inside: Path | None = None) -> dict[str, Path]:
    """Return folders by their names: below `inside` their paths from there, so that what is printed can be
    opened. Elsewhere, of two with the same name, the later one has that of its parent too.
    """
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folders):
        below = path_below(inside, folder) if inside else None
        name = "/".join(map(_spelled, below.split("/"))) if below else _spelled(folder.name) or "root"
        if name in named:
            name = f"{_spelled(folder.parent.name)}-{name}"
        while name in named:
            name += "-2"
        named[name] = folder
    return named


def _spelled(name: str) -> str:
    return spelled_out(nfc(name))


_SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "ssh+git", "git+https")
_USUAL_PORTS = {"https": 443, "http": 80, "git+https": 443, "": 0}
_SCP = re.compile(r"(?P<host>[\w.+-]+@[\w.-]+|[\w-]+\.[\w.-]+):(?!//|\d+(?:/|$))(?P<path>[^\\]+)", re.ASCII)
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.ASCII)
_REMOTE = re.compile(
    r"^[ \t]*\[remote \"(?P<name>[^\"\n]+)\"\][^\n]*\n(?P<lines>(?:(?![ \t]*\[)[^\n]*(?:\n|\Z))*)", re.M
)
_URL = re.compile(r"^[ \t]*url[ \t]*=[ \t]*\"?(?P<url>[^\"\s#;]+)", re.M | re.I)
_MAX_CHARS = 500
_FEWEST_PARTS = 2
"""A host and a path: a host alone is no repository."""


def repository_address(text: str) -> str | None:
    """Return the address that a text names, in its one form; None if it names none, such as a path."""
    parts = _parts(text)
    return "/".join(parts).lower() if parts else None


def remote_address(checkout: Path) -> str | None:
    """Return the address that a checkout was cloned from: its remote `origin`, else its only remote."""
    remotes = {
        remote["name"]: url["url"]
        for remote in _REMOTE.finditer(git_configuration(checkout))
        if (url := _URL.search(remote["lines"]))
    }
    only = next(iter(remotes.values())) if len(remotes) == 1 else ""
    return repository_address(remotes.get("origin", only))


def named_folder(text: str, repositories: Mapping[Path, str]) -> Path | None:
    """Return the folder that an address names: a project, or one below it (`github.com/acme/shop/src`).

    `repositories` has the address of each project. None if no project has the address.
    """
    parts = _parts(text)
    for length in range(len(parts or ()), _FEWEST_PARTS - 1, -1):
        address = "/".join(parts[:length]).lower() if parts else ""
        roots = sorted(root for root, known in repositories.items() if known == address)
        if len(roots) > 1:
            raise InvalidArgumentError(
                f"Several projects are checkouts of {address}: {', '.join(map(str, roots))}.",
                hint="Name one of them by its path or id.",
            )
        if roots and parts:
            return roots[0].joinpath(*parts[length:])
    return None


def _parts(text: str) -> list[str] | None:
    text = text.strip()
    if len(text) > _MAX_CHARS or not text.isprintable() or " " in text:
        return None
    try:
        host, path = _host_and_path(text)
    except ValueError:
        return None
    names = path.strip("/").removesuffix(".git").rstrip("/").split("/")
    return None if not host or any(name in ("", ".", "..") for name in names) else [host, *names]


def _host_and_path(text: str) -> tuple[str, str]:
    """Return both parts of an address in any of the forms that git takes, or as a browser shows it.

    There is no host where it is none. A port counts only where it is a web server's.
    """
    if "://" not in text:
        scp = _SCP.fullmatch(text)
        text = f"ssh://{scp['host']}/{scp['path']}" if scp else f"//{text}"
    parts = urlsplit(text)
    host, port, scheme = parts.hostname or "", parts.port, parts.scheme
    known = scheme in _SCHEMES if scheme else port or "." in host
    if not known or not _HOST.fullmatch(host):
        return "", ""
    counts = scheme in _USUAL_PORTS and port and port != _USUAL_PORTS[scheme]
    return (f"{host}:{port}" if counts else host), unquote(parts.path)
