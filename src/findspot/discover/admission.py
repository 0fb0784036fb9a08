"""Which files are indexed: the user's settings, applied in one order to each entry of a folder, and why not.

Walking a tree and asking about one path both come here, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from os import stat_result
from stat import S_ISDIR, S_ISLNK, S_ISREG

from findspot.core.errors import FileNotIndexedError, FindspotError, PermissionDeniedError, SymlinkError
from findspot.core.files import is_strangers
from findspot.core.globs import Globs
from findspot.core.languages import BY_NAME, PLAIN, language_of
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile, Stamp
from findspot.core.paths import BUILD_FOLDERS, is_denied
from findspot.core.settings import DiscoverSettings
from findspot.discover.file_content import BINARY_EXTENSIONS, extension
from findspot.discover.ignore import Ignored
from findspot.discover.root_folder import cleaned, is_plain, is_unsafe, nfc, spelled_out
from findspot.text.snippet import listed

MAX_DEPTH = 20
"""Nested folders; deeper trees are loops of mounts or of generators."""

FINDSPOTS_OWN = "Findspot keeps its indexes there"

_ALWAYS_DOCS = (".markdown", ".rst", ".mdx", ".adoc", ".rdoc")
_PROSE_NAMES = frozenset(BY_NAME[PLAIN].filenames)
"""Prose without an extension: `LICENSE`, `README`."""
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
NOTED = (SkipReason.REPOSITORY, SkipReason.IGNORE_FILE)
"""Reasons that `left_out_notes` reports."""
_NAMED = 5


@lru_cache(maxsize=64)
def compiled(patterns: tuple[str, ...]) -> Globs:
    """Return the globs of a setting; InvalidPatternError names the one that cannot be read."""
    return Globs(patterns)


def corpus_of(path: str, doc_patterns: Globs) -> Corpus:
    if not doc_patterns.matches(path):
        # One look at its end settles nearly every path.
        prose = path.endswith(_PROSE_ENDINGS) and (
            path.endswith(_ALWAYS_DOCS) or path[path.rfind("/") + 1 :] in _PROSE_NAMES
        )
        return Corpus.DOCS if prose else Corpus.CODE
    return Corpus.CODE if path.endswith(".txt") and _CODE_IN_TXT.matches(path) else Corpus.DOCS


class Judge:
    def __init__(self, settings: DiscoverSettings, own: Set[str], *, ignore_case: bool, owner: int) -> None:
        """`own` are the paths of Findspot's own folders; a file of another `owner` may be linked in."""
        self._settings = settings
        self._own = own
        self._owner = owner
        self._include = compiled(settings.include)
        self._exclude = compiled(settings.exclude) if settings.exclude else None
        self._docs = compiled(settings.doc_patterns)
        self._ignore_case = ignore_case

    def judge(self, prefix: str, name: str, info: stat_result, ignored: Ignored) -> SourceFile | Skip | None:
        """Return the file if it is admitted, the Skip if not, or None for a folder to enter."""
        folder = S_ISDIR(info.st_mode)
        if not is_plain(name):
            unsafe = self._unsafe_name(prefix, name, folder=folder)
            if unsafe:
                return unsafe
            name = nfc(name)
        path = prefix + name
        shown = path + "/" if folder else path
        is_built = folder and self._settings.build_folders and name in BUILD_FOLDERS
        if is_denied(name, folder, self._ignore_case, prefix) and not is_built:
            return Skip(shown, SkipReason.DENIED)
        if path in self._own:
            return Skip(shown, SkipReason.DENIED, FINDSPOTS_OWN)
        if self._exclude and self._exclude.matches(shown):
            return Skip(shown, SkipReason.EXCLUDED)
        rule = ignored(prefix, name, folder)
        if rule:
            return Skip(shown, SkipReason.GITIGNORED, rule.source)
        if not folder:
            return self._file(path, name, info)
        is_deep = shown.count("/") > MAX_DEPTH
        return Skip(shown, SkipReason.TOO_DEEP, f"more than {MAX_DEPTH} folders deep") if is_deep else None

    def _unsafe_name(self, prefix: str, name: str, *, folder: bool) -> Skip | None:
        if not is_unsafe(name):
            return None
        shown = prefix + spelled_out(name) + ("/" if folder else "")
        if is_denied(cleaned(name), folder, self._ignore_case, prefix):
            return Skip(shown, SkipReason.DENIED)
        return Skip(shown, SkipReason.UNSAFE_NAME, "the name holds characters that cannot be seen")

    def _file(self, path: str, name: str, info: stat_result) -> SourceFile | Skip:
        if not S_ISREG(info.st_mode):
            is_link = S_ISLNK(info.st_mode)
            return Skip(path, SkipReason.SYMLINK if is_link else SkipReason.NOT_REGULAR)
        if is_strangers(info, self._owner):
            return Skip(path, SkipReason.NOT_REGULAR, "a hard link to a file of another user")
        if extension(name) in BINARY_EXTENSIONS:
            return Skip(path, SkipReason.BINARY, "by extension")
        if info.st_size > self._settings.max_file_bytes:
            return Skip(path, SkipReason.TOO_LARGE, f"{info.st_size} bytes")
        if not self._include.matches(path):
            return Skip(path, SkipReason.NOT_INCLUDED)
        corpus = corpus_of(path, self._docs)
        if not self._settings.index_docs and corpus is Corpus.DOCS:
            return Skip(path, SkipReason.DOCS_DISABLED)
        return SourceFile(path, corpus, language_of(path), *Stamp.of(info))


def not_indexable(path: str, skip: Skip) -> FindspotError:
    if skip.reason is SkipReason.SYMLINK:
        return SymlinkError(path)
    if skip.reason is SkipReason.UNREADABLE:
        return PermissionDeniedError(path)
    why = f"It is left out: {skip.reason.replace('_', ' ')}" + (f" ({skip.detail})." if skip.detail else ".")
    return FileNotIndexedError(path, "" if skip.reason is SkipReason.VANISHED else why)


def left_out_notes(skips: Iterable[Skip]) -> list[str]:
    """Return one note on the projects inside this one, and one per ignore file that cannot be used."""
    projects: list[str] = []
    notes: list[str] = []
    for skip in skips:
        if skip.reason is SkipReason.REPOSITORY:
            projects.append(skip.path)
        elif skip.reason is SkipReason.IGNORE_FILE:
            what = "Everything" if skip.path == "./" else skip.path
            notes.append(
                f"{what} is left out because of an ignore file. {skip.detail}. Fix or remove that file."
            )
    if projects:
        notes.insert(
            0,
            "Folders with their own .git are projects of their own and not part of this index: "
            f"{listed(projects, _NAMED)}. Index them by themselves.",
        )
    return notes
