"""Which files are indexed: what may never be, what the user leaves out, and what is documentation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from findspot.core.globs import Globs
from findspot.core.model import Corpus

MAX_DEPTH = 20
"""Folders below one another; deeper trees are loops of mounts or of generators."""

DEFAULT_MAX_FILE_BYTES = 1024 * 1024
DEFAULT_DOC_PATTERNS = ("**/*.md", "**/*.txt")

# The hard deny list: no setting brings any of these back.
# fmt: off
_DENIED_FOLDERS = frozenset({
    "node_modules", "jspm_packages", "bower_components", "vendor", ".venv", "venv",  # dependencies
    ".git", ".hg", ".svn",  # version control
    "dist", "build", "out", "target", "__pycache__", ".next", ".nuxt",  # build artifacts
    ".idea", ".vscode",  # settings of editors
    "coverage", ".nyc_output", ".pytest_cache",  # what tests leave behind
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

_ALWAYS_DOCS = (".markdown", ".rst", ".mdx", ".adoc")
_CODE_IN_TXT = Globs(
    (
        "CMakeLists.txt",
        "requirements*.txt",
        "*requirements.txt",
        "**/requirements/*.txt",
        "constraints*.txt",
        "*constraints.txt",
        "meson_options.txt",
        "conanfile.txt",
    )
)
"""Lists of dependencies and build scripts that happen to end in `.txt`."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants indexed, in plain values."""

    include: tuple[str, ...] = ("**/*",)
    exclude: tuple[str, ...] = ()
    doc_patterns: tuple[str, ...] = DEFAULT_DOC_PATTERNS
    index_docs: bool = True
    respect_gitignore: bool = True
    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    max_depth: int = MAX_DEPTH


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


@lru_cache(maxsize=64)
def compiled(patterns: tuple[str, ...]) -> Globs:
    """The globs of a setting; InvalidPatternError names the one that cannot be read."""
    return Globs(patterns)


def corpus_of(path: str, doc_patterns: Globs) -> Corpus:
    """Code, or documentation by its name."""
    if not doc_patterns.matches(path):
        return Corpus.DOCS if path.endswith(_ALWAYS_DOCS) else Corpus.CODE
    return Corpus.CODE if path.endswith(".txt") and _CODE_IN_TXT.matches(path) else Corpus.DOCS
