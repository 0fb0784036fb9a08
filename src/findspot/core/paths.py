"""Where things are: the home, project roots, paths inside them, the folders of indexes, and the hard deny
list: names of files and folders that no setting brings into an index.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from findspot.core.caller import ENVIRONMENT, working_folder
from findspot.core.errors import InvalidArgumentError, PathNotFoundError, PermissionDeniedError
from findspot.core.platforms import IGNORES_CASE, as_stored

INDEX_HASH_CHARS = 32
LEGACY_INDEX_HASH_CHARS = 16
GITIGNORE = ".gitignore"


def stat_of(path: str | Path) -> os.stat_result | None:
    """Return what the system says of a path; None where there is nothing, or nothing that we may know."""
    try:
        return os.stat(path)  # noqa: PTH116 - a path's own method costs several times that
    except (OSError, ValueError):  # no path at all, such as one with a NUL
        return None


def is_folder(path: str | Path) -> bool:
    """Return whether a path leads to a folder; unlike the method of a path, it raises for no path at all."""
    info = stat_of(path)
    return info is not None and stat.S_ISDIR(info.st_mode)


def expanded(path: str | Path) -> Path:
    """Return a user's path with `~` as the home folder; `~nobody` is the name of a file, too."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - `Path.expanduser` raises for an unknown user


def home_folder(environ: Mapping[str, str] = ENVIRONMENT) -> Path:
    """Return where Findspot keeps everything: `FINDSPOT_HOME`, or `~/.mcp/search`."""
    folder = expanded(environ.get("FINDSPOT_HOME") or "~/.mcp/search")
    if folder.parts[:1] and folder.parts[0].startswith("~"):
        raise InvalidArgumentError(
            f"'{folder}' names the home folder of nobody on this machine. "
            "Set FINDSPOT_HOME to the folder in which Findspot may keep its files."
        )
    return folder.absolute()


def absolute(path: str | Path) -> Path:
    given = expanded(path)
    return given if given.is_absolute() else working_folder() / given


def project_root(path: str | Path) -> Path:
    """Return the absolute, symlink-free form of a folder that exists."""
    try:
        root = absolute(path).resolve(strict=True)
        if root.is_dir():
            os.scandir(root).close()
            return as_stored(root) if IGNORES_CASE else root
    except PermissionError as error:
        raise PermissionDeniedError(str(path)) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise PathNotFoundError(str(path), _why_not(path)) from error
    raise PathNotFoundError(str(path), "It is a file; name the folder that it is in.")


def _why_not(path: str | Path) -> str:
    if Path(path).is_absolute():
        return "Check its spelling."
    try:
        return f"Check its spelling: it is looked for in {working_folder()}."
    except OSError:
        return "The working folder is gone; change to one that is there."


def storable_root(path: str | Path) -> Path:
    """Return the root of a project that can be indexed: a database holds names as UTF-8 only."""
    root = project_root(path)
    if (shown := str(root).encode(errors="replace").decode()) != str(root):
        raise InvalidArgumentError(f"The path {shown} is not UTF-8.", hint="Rename the folder.")
    return root


def relative_path(root: Path, given: str) -> str:
    """Return a user's path to a file as the index spells it: POSIX, NFC, relative to the root.

    Accepts an absolute path inside the root and either slash; a path that leaves the root is
    refused by its spelling alone, so that nothing outside is looked at.
    """
    if not given or "\0" in given:
        raise InvalidArgumentError("The path is empty or holds a NUL character.", repr(given))
    native = expanded(given)
    if native.is_absolute():
        lexical = os.path.normpath(native)
        try:
            given = Path(lexical).relative_to(root).as_posix()
        except ValueError:
            raise outside(given, root) from None
    parts: list[str] = []
    for part in PurePosixPath(given.replace("\\", "/")).parts:
        if part == "..":
            if not parts:
                raise outside(given, root)
            parts.pop()
        elif part != ".":
            parts.append(part)
    return unicodedata.normalize("NFC", "/".join(parts))


def path_below(root: Path, place: Path) -> str | None:
    """Return a place as a path below a root, which itself is empty; None for what lies elsewhere."""
    return "/".join(place.relative_to(root).parts) if place.is_relative_to(root) else None


def outside(given: str, root: Path) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The path '{given}' is outside the project.",
        f"{given} is not below {root}",
        hint="Give a path relative to the project's root.",
    )


def index_key(root: Path) -> str:
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:INDEX_HASH_CHARS]


def index_folder(home: Path, root: Path) -> Path:
    """Return the index folder of a project; a legacy short-named one is used where it exists."""
    key = index_key(root)
    legacy = home / "indexes" / key[:LEGACY_INDEX_HASH_CHARS]
    return legacy if legacy.is_dir() else home / "indexes" / key


SCHEME = "dep://"
"""How the paths of files in packages begin: `dep://pypi/requests@2.32.3/requests/api.py`."""


def package_of(path: str) -> str:
    before, _, after = path.removeprefix(SCHEME).rpartition("@")
    return f"{before}@{after.partition('/')[0]}"


# fmt: off
OWN_FOLDERS = frozenset({
    "indexes", "dependencies", "document_sets", "documents", "catalogues", "logins", "models",
    "setup", "logs", "spool", "ui",
})
# fmt: on
_OWN_FILES = ("config.json", "activity.sqlite")
_OTHERS = 0o077


@lru_cache(maxsize=64)
def own_paths(home: Path, base: Path) -> frozenset[str]:
    """Return what lies below a folder and is Findspot's: never indexed, or each run would change the next.

    Paths are relative to `base`; the empty path is `base`. Where `base` is the home, only the folders that
    Findspot makes there count.
    """
    real, below = Path(os.path.realpath(home)), Path(os.path.realpath(base))
    if real == below:
        return OWN_FOLDERS
    if real in below.parents:
        return frozenset({""} if below.relative_to(real).parts[0] in OWN_FOLDERS else ())
    return frozenset({real.relative_to(below).as_posix()} if below in real.parents else ())


def restrict_home(home: Path) -> None:
    """Take from others the rights to our files in an existing home.

    A home that holds other files too may be a folder that others need: there only our own entries change.
    """
    if os.name != "posix":
        return
    try:
        with os.scandir(home) as entries:
            listed = list(entries)
    except OSError:
        return
    ours = [entry for entry in listed if entry.name in OWN_FOLDERS or entry.name.startswith(_OWN_FILES)]
    for entry in ours:
        _restrict(Path(entry.path))
    if ours and len(ours) == sum(entry.name != GITIGNORE for entry in listed):
        _restrict(home)


def _restrict(path: str | Path) -> None:
    with contextlib.suppress(OSError):
        info = os.lstat(path)  # called after every edit; Path.lstat takes several times as long
        is_ours = info.st_uid == os.geteuid() and not stat.S_ISLNK(info.st_mode)
        if is_ours and info.st_mode & _OTHERS and not info.st_mode & stat.S_ISVTX:
            Path(path).chmod(stat.S_IMODE(info.st_mode) & ~_OTHERS)


# fmt: off
_DENIED_FOLDERS = frozenset({
    "node_modules", "jspm_packages", "bower_components", "vendor", ".venv", "venv",  # dependencies
    ".git", ".hg", ".svn",  # version control
    "dist", "build", "out", "target", "__pycache__", ".next", ".nuxt",  # build artifacts
    ".idea", ".vscode",  # settings of editors
    "coverage", ".nyc_output", ".pytest_cache",  # what tests leave behind
    ".please", ".cortex",  # catalogues and chunk files, which Findspot generates
})
_DENIED_NAMES = frozenset({
    "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Gemfile.lock", "poetry.lock", ".DS_Store",
    ".git",  # in a submodule or worktree it is a file that points to the repository
})
# fmt: on
BUILD_FOLDERS = frozenset({"dist", "build", "out", "target"})
"""Folders that builds write: not part of a project, but what a published package may consist of."""
_DENIED_ENDINGS = frozenset({".log", ".lock", ".swp", ".swo"})
_DENIED_NAMES_LOWER = frozenset(name.lower() for name in _DENIED_NAMES)

# Secret files, in small letters: they are denied in any case.
# fmt: off
_SECRET_NAMES = frozenset({
    ".env", ".envrc", ".flaskenv", ".dev.vars", ".secrets",
    "env.production", "env.prod", "env.staging", "env.development", "env.dev", "env.local",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
    "private_key", "private-key", "privatekey", "private_key.txt", "private-key.txt", "privatekey.txt",
    ".netrc", "_netrc", ".git-credentials", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".htpasswd",
    ".htdigest", ".dockercfg", ".dockerconfigjson", "kubeconfig", ".pypirc", ".s3cfg", ".boto", "rclone.conf",
    "kubeconfig.yml", "kubeconfig.yaml", ".databrickscfg", ".msmtprc", ".fetchmailrc", ".offlineimaprc",
    ".authinfo", ".smbcredentials", ".cvspass", "sftp-config.json",
    ".terraformrc", "terraform.rc", "credentials.tfrc.json",
    "secrets.json", "secrets.toml", "secret.json", "secret.toml",
    "credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.xml",
    "credentials.csv", "client_secret.json", "client_secrets.json", "application_default_credentials.json",
    "service-account.json", "service_account.json", "serviceaccount.json", "service-account-key.json",
    "service_account_key.json", "serviceaccountkey.json", "gcp-credentials.json", "gcloud-service-key.json",
    "accesstokens.json", "msal_token_cache.json", ".vault-token", ".vault_pass", ".vault-password",
    "vault_pass.txt",
    ".bash_history", ".zsh_history", ".sh_history", ".psql_history", ".mysql_history", ".rediscli_history",
    ".python_history", ".node_repl_history", ".irb_history", ".sqlite_history", ".mongo_history",
})
_HELM = ("secret.yml", "secret.yaml", "secrets.yml", "secrets.yaml")
"""Secret files too, but for those in a folder `templates`: they refer to values that are elsewhere."""
_SECRET_STARTS = {
    ".env.": ".env.", ".env-": ".env-", ".env_": ".env_", ".envr": ".envrc.",
    "terra": "terraform.tfstate", "clien": "client_secret_",
}
"""First five characters → the whole beginning: one lookup instead of five comparisons per file."""
_SECRET_ENDINGS = frozenset({
    ".env", ".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".keytab", ".kdbx",
    ".kubeconfig", ".tfstate", ".tfvars",
})
_SECRET_DOUBLE_ENDINGS = {
    ".json": ".tfvars.json", ".yml": ".secrets.yml", ".yaml": ".secrets.yaml",
}
"""Last ending → both."""
_SECRET_PATHS = (
    "/.docker/config.json", "/.kube/config", "/.oci/config", "/.cargo/credentials.toml", "/gh/hosts.yml",
    "/.m2/settings.xml", "/.kaggle/kaggle.json", "/.composer/auth.json", "/.dbt/profiles.yml",
    "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-",
)
"""Files that hold credentials in their folder; elsewhere, the name is an ordinary one."""
_SECRET_BY_FOLDER = frozenset({*_HELM, *(path.rpartition("/")[2] for path in _SECRET_PATHS)})
_COPY_ENDINGS = frozenset({
    ".bak", ".backup", ".bck", ".bkp", ".old", ".orig", ".original", ".save", ".saved", ".copy",
    ".tmp", ".temp", ".rej", ".swp", ".swo", ".swn", ".1", ".2", ".rpmsave", ".dpkg-old",
})
"""What editors, tools and people add to the name of a file for a copy, which is as secret as the file."""
_COPY_MARKS = "~#"
_COPY_WORDS = re.compile(r"(?:(?: -)? copy(?: \d+)?| \(\d+\))(?=\.\w+$|$)")
"""`.env copy`, `.env (1)`, `credentials copy 2.json`."""
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".env", ".secrets"})
_SECRET_FOLDER_ENDINGS = frozenset({".pem", ".key", ".p12", ".pfx"})
# fmt: on


def is_denied(name: str, folder: bool, ignore_case: bool = False, prefix: str = "") -> bool:
    """Tell whether the hard deny list holds a cleaned name; secrets are denied in any case.

    `prefix` is the path of the folder that the name is in, with a slash at its end: some names are secret
    only in a certain folder.
    """
    lower = name.lower()
    ending = lower[lower.rfind(".") :]
    if _is_secret_folder(lower, ending) if folder else _is_secret_file(lower, ending, prefix):
        return True
    if ignore_case:
        names = _DENIED_NAMES_LOWER
    else:
        lower, ending, names = name, name[name.rfind(".") :], _DENIED_NAMES
    return ending in _DENIED_ENDINGS or lower in names or (folder and lower in _DENIED_FOLDERS)


def is_secret_path(path: str) -> bool:
    """Tell whether a file's path has the name of a secret file, or leads through a folder of secrets."""
    *folders, name = path.lower().split("/")
    if any(_is_secret_folder(folder, folder[folder.rfind(".") :]) for folder in folders):
        return True
    return _is_secret_file(name, name[name.rfind(".") :], "/".join((*folders, "")))


def _is_secret_file(lower: str, ending: str, prefix: str) -> bool:
    if ending in _COPY_ENDINGS or lower[-1:] in _COPY_MARKS:
        return _is_copy_of_secret(lower, ending, prefix)
    if " " in lower and (original := _COPY_WORDS.sub("", lower)) != lower:
        return _is_secret_file(original, original[original.rfind(".") :], prefix)
    if lower in _SECRET_BY_FOLDER:
        path = f"/{prefix}{lower}".lower()
        return path.endswith(_SECRET_PATHS) or (lower in _HELM and not path.endswith(f"/templates/{lower}"))
    return (
        ending in _SECRET_ENDINGS
        or lower in _SECRET_NAMES
        or (lower[:5] in _SECRET_STARTS and lower.startswith(_SECRET_STARTS[lower[:5]]))
        or (ending in _SECRET_DOUBLE_ENDINGS and lower.endswith(_SECRET_DOUBLE_ENDINGS[ending]))
    )


def _is_copy_of_secret(lower: str, ending: str, prefix: str) -> bool:
    """Tell whether a name is that of a secret file, once what a copy adds to it is taken away."""
    shorter = lower.removesuffix(ending) if ending in _COPY_ENDINGS else lower.rstrip(_COPY_MARKS)
    names = {shorter, shorter.removeprefix("."), shorter.lstrip(_COPY_MARKS), shorter.removeprefix(".#")}
    return any(name and _is_secret_file(name, name[name.rfind(".") :], prefix) for name in names)


def _is_secret_folder(lower: str, ending: str) -> bool:
    return ending in _SECRET_FOLDER_ENDINGS or lower in _SECRET_FOLDERS or lower.startswith(".env.")


_NOWHERE = ".findspot-unknown-root"
"""Where the paths of a root that is not configured any more would be: no such folder is ever made."""


def inside_of(name: str, path: str) -> str | None:
    """Return the rest of a path that begins with the name of a member; None of another one."""
    if path == name:
        return ""
    return path[len(name) + 1 :] if path.startswith(f"{name}/") else None


@dataclass(frozen=True, slots=True)
class Roots:
    """Where indexed paths are on disk."""

    project: Path
    """The folder that the project is known by; its only root, unless others are named."""
    named: tuple[tuple[str, Path], ...] = ()

    def has_named(self, path: str) -> bool:
        """Return whether a path begins with the name of a member."""
        return any(inside_of(name, path) is not None for name, _ in self.named)

    def holding(self, path: str) -> tuple[Path, str]:
        if not self.named:
            return self.project, path
        for name, folder in self.named:
            if (inside := inside_of(name, path)) is not None:
                return folder, inside
        return self.project / _NOWHERE, path

    def __truediv__(self, path: str) -> Path:
        folder, inside = self.holding(path)
        return folder / inside

    def spelled(self, place: Path) -> str | None:
        """Return a place on disk as the index spells it; None for what lies in no root."""
        for name, folder in self.named or (("", self.project),):
            inside = path_below(folder, place)
            if inside is not None:
                return "/".join(part for part in (name, inside) if part)
        return None

    def relative(self, given: str) -> str:
        """Return a user's path to a file as the index spells it; one outside is refused."""
        if not self.named or not expanded(given).is_absolute():
            return relative_path(self.project, given)
        spelled = self.spelled(Path(os.path.normpath(expanded(given))))
        if not spelled:
            raise outside(given, self.project)
        return unicodedata.normalize("NFC", spelled)

    @property
    def missing(self) -> str | None:
        """A sentence about the folder of the project if it is not there."""
        return None if is_folder(self.project) else f"The folder '{self.project}' is not there."


def find_roots(folder: Path, wanted: Sequence[str], *, inside_only: bool) -> tuple[Path, ...]:
    """Return the members that the configuration of a workspace names, relative to its folder.

    With `inside_only` they must lie in the folder: a repository's own file cannot have the rest of
    the disk indexed. The hard deny list holds for everyone, and nobody's home is a member.
    """
    return tuple(dict.fromkeys(_root(folder, given, inside_only=inside_only) for given in wanted))


def _root(folder: Path, given: str, *, inside_only: bool) -> Path:
    root = Path(os.path.realpath(folder / expanded(given)))
    if inside_only and not root.is_relative_to(folder):
        raise _refused(
            f"'{given}' is outside the project, and a committed file cannot name such a folder.",
            "Add it yourself: findspot workspace add …",
        )
    if expanded("~").resolve().is_relative_to(root):
        raise _refused(f"'{given}' holds your home folder.", "Name the folder of a project.")
    if _leads_through_denied(folder, root):
        raise _refused(f"'{given}' is on the hard deny list, which no setting overrides.", "Take it out.")
    return root


def _leads_through_denied(project: Path, folder: Path) -> bool:
    """Return whether a folder, or one on the way to it from the project, is never indexed."""
    try:
        parts = Path(os.path.relpath(folder, project)).parts
    except ValueError:  # on another drive
        parts = folder.parts
    return any(is_denied(unicodedata.normalize("NFC", part), True, IGNORES_CASE) for part in parts)


def _refused(message: str, hint: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"roots: {message}", hint=hint)
