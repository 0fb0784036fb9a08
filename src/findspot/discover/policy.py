"""Which files are indexed: what may never be, what the user leaves out, and what is documentation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from findspot.core.globs import Globs
from findspot.core.languages import BY_NAME, PLAIN
from findspot.core.model import Corpus
from findspot.core.settings import Settings

MAX_DEPTH = 20
"""Folders below one another; deeper trees are loops of mounts or of generators."""

DEFAULT_MAX_FILE_BYTES = 1024 * 1024
DEFAULT_DOC_PATTERNS = ("**/*.md", "**/*.txt")

_ALWAYS_DOCS = (".markdown", ".rst", ".mdx", ".adoc")
_PROSE_NAMES = frozenset(BY_NAME[PLAIN].filenames)
"""Prose whose name has no ending: `LICENSE`, `README`."""
_PROSE_ENDINGS = (*_ALWAYS_DOCS, *_PROSE_NAMES)
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


def policy_of(settings: Settings) -> Policy:
    """Return what the settings want indexed."""
    wanted = settings.discover
    return Policy(
        include=wanted.include,
        exclude=wanted.exclude,
        doc_patterns=wanted.doc_patterns,
        index_docs=wanted.index_docs,
        respect_gitignore=wanted.respect_gitignore,
        max_file_bytes=wanted.max_file_bytes,
    )


@lru_cache(maxsize=64)
def compiled(patterns: tuple[str, ...]) -> Globs:
    """Return the globs of a setting; InvalidPatternError names the one that cannot be read."""
    return Globs(patterns)


def corpus_of(path: str, doc_patterns: Globs) -> Corpus:
    """Code, or documentation by its name."""
    if not doc_patterns.matches(path):
        # One look at its end settles nearly every path.
        prose = path.endswith(_PROSE_ENDINGS) and (
            path.endswith(_ALWAYS_DOCS) or path[path.rfind("/") + 1 :] in _PROSE_NAMES
        )
        return Corpus.DOCS if prose else Corpus.CODE
    return Corpus.CODE if path.endswith(".txt") and _CODE_IN_TXT.matches(path) else Corpus.DOCS
