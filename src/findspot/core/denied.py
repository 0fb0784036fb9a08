"""The hard deny list: names of files and folders that no setting brings into an index."""

from __future__ import annotations

from itertools import product

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
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx")
_DENIED_ENDINGS = frozenset(
    {".log", ".lock", ".swp", ".swo"}
    | {"".join(chars) for end in _SECRET_ENDINGS for chars in product(*zip(end, end.upper(), strict=True))}
)
"""With the secrets in every mixture of cases, so that one lookup tells."""
_DENIED_NAMES_LOWER = frozenset(name.lower() for name in _DENIED_NAMES)


def is_denied(name: str, folder: bool, ignore_case: bool = False) -> bool:
    """Whether the hard deny list holds a cleaned name; secrets are denied in any case."""
    if ignore_case:
        name = name.lower()
    if name[name.rfind(".") :] in _DENIED_ENDINGS:
        return True
    if name.startswith(".") and (name.lower() == ".env" or name.lower().startswith(".env.")):
        return True
    if name in (_DENIED_NAMES_LOWER if ignore_case else _DENIED_NAMES):
        return True
    return folder and name in _DENIED_FOLDERS
