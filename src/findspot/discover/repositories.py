"""Addresses of git repositories: the same for every spelling of a remote, and without credentials.

`git@github.com:Acme/Shop.git`, `https://user:secret@github.com/acme/shop` and `github.com/acme/shop` all are
`github.com/acme/shop`. No program is run; a checkout's address is read from git's configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from findspot.core.errors import InvalidArgumentError
from findspot.discover.checkouts import git_configuration

_SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "ssh+git", "git+https")
_USUAL_PORTS = {"https": 443, "http": 80, "git+https": 443}
_SCP = re.compile(r"(?:(?P<user>[\w.+-]+)@)?(?P<host>[\w-][\w.-]+):(?!//)(?P<path>[^\\]+)", re.ASCII)
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?", re.ASCII)
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
    host, path = _host_and_path(text)
    host = host.lower()
    names = path.strip("/").removesuffix(".git").rstrip("/").split("/")
    if not _HOST.fullmatch(host) or any(name in ("", ".", "..") for name in names):
        return None
    return [host, *names]


def _host_and_path(text: str) -> tuple[str, str]:
    """Return both parts of an address in any of the forms that git takes; a host may be missing."""
    scheme, separator, _ = text.partition("://")
    if separator:
        return _of_url(text) if scheme.lower() in _SCHEMES else ("", "")
    if (scp := _SCP.fullmatch(text)) and (scp["user"] or "." in scp["host"]) and not _is_port(scp["path"]):
        return scp["host"], scp["path"]
    host, _, path = text.partition("/")
    return (host if "." in host.strip(".") or ":" in host else ""), path


def _of_url(text: str) -> tuple[str, str]:
    """Return host and path of an address with a scheme; a port counts only where it is a web server's."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "", ""
    usual = _USUAL_PORTS.get(parts.scheme)
    return (f"{host}:{port}" if usual and port and port != usual else host), unquote(parts.path)


def _is_port(path: str) -> bool:
    return path.partition("/")[0].isdecimal()
