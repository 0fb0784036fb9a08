"""Walk a project: every file is admitted, or covered by a Skip that says why not.

Walking a tree and asking about one path apply the user's settings in the same order, so they cannot disagree.
The files at places that somebody names are found even where a walk would leave them out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from findspot.core.errors import FileNotIndexedError, FindspotError, PermissionDeniedError, SymlinkError
from findspot.core.files import Folder, check_exhausted, is_strangers
from findspot.core.globs import Globs
from findspot.core.languages import BY_NAME, PLAIN, language_of
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile, Stamp
from findspot.core.paths import BUILD_FOLDERS, GITIGNORE, home_folder, is_denied, is_secret_path, own_paths
from findspot.core.platforms import IGNORES_CASE
from findspot.core.settings import DiscoverSettings
from findspot.discover.checkouts import GIT
from findspot.discover.file_content import BINARY_EXTENSIONS, extension
from findspot.discover.ignore import (
    MAX_IGNORE_BYTES,
    NO_RULES,
    OWN_IGNORE,
    Rules,
    UnusableIgnoreFileError,
    rules_above,
    untold_note,
    unusable,
)
from findspot.discover.root_folder import cleaned, is_plain, is_unsafe, nfc, real_name, spelled_out
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


@dataclass(slots=True)
class Discovery:
    """The files to index, sorted by path, the skipped ones, and notes about them."""

    files: list[SourceFile] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    """Every folder that was entered, with a trailing slash; the root is empty."""


def walk(root: Path, settings: DiscoverSettings, check: Callable[[], None] | None = None) -> Discovery:
    """Return all files of a project; `check` is called before each folder and file, and may raise to stop."""
    with Folder.open(root) as top:
        walker = _Walker(top, root, settings, check)
        walker.enter(top, "", NO_RULES)
    found = walker.found
    if not found.files:
        found.notes += _notes_on_rules_above(found.skips)
    if any(skip.reason is SkipReason.GITIGNORED for skip in found.skips):
        found.notes += filter(None, [untold_note(root)])
    found.files.sort(key=attrgetter("path"))
    found.skips.sort(key=attrgetter("path"))
    return found


def classify(root: Path, path: str, settings: DiscoverSettings) -> SourceFile | Skip:
    """Return the answer `walk` gives for one path: the file, its Skip, or the Skip of a folder it is in."""
    found = look(root, path, settings, into_folders=False)
    return found.files[0] if found.files else found.skips[0]


def look(root: Path, path: str, settings: DiscoverSettings, *, into_folders: bool = True) -> Discovery:
    """Return what `walk` finds at one path: the file, or all that is below the folder."""
    parts = nfc(path).split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return Discovery(skips=[Skip(path, SkipReason.UNSAFE_NAME, "not a path inside the project")])
    with Folder.open(root) as top:
        walker = _Walker(top, root, settings, None, into_folders=into_folders)
        walker.enter(top, "", NO_RULES, parts)
    return walker.found


class _Walker:
    def __init__(
        self,
        top: Folder,
        root: Path,
        settings: DiscoverSettings,
        check: Callable[[], None] | None,
        *,
        into_folders: bool = True,
    ) -> None:
        self.found = Discovery()
        self._root = root
        self._into_folders = into_folders
        self._check = check or (lambda: None)
        self._settings = settings
        self._include = compiled(settings.include)
        self._exclude = compiled(settings.exclude) if settings.exclude else None
        self._docs = compiled(settings.doc_patterns)
        self._owner = top.owner
        """A file of another owner may be linked in."""
        self._own = set(own_paths(home_folder(), self._root))
        """The paths of Findspot's own folders."""

    def enter(self, folder: Folder, prefix: str, above: Rules, parts: Sequence[str] = ()) -> None:
        """Judge every entry of a folder, then enter its folders; with `parts` only what they lead to."""
        self._check()
        if not parts:
            self.found.folders.append(prefix)
        try:
            entries = folder.scan()
        except OSError as error:
            self.found.skips.append(_failure(prefix, error))
            return
        names = [entry.name for entry in entries]
        rules = self._rules_in(folder, prefix, names, above)
        if isinstance(rules, Skip):
            self.found.skips.append(rules)
            return
        if parts:
            entries = self._named(prefix, entries, parts)
        shadowed = shadowed_names(names)
        for entry in entries:
            self._check()
            if self._is_beside(prefix, entry.name):
                continue
            if entry.name in shadowed:
                self.found.skips.append(_shadowed(prefix, entry))
                continue
            try:
                info = entry.stat(follow_symlinks=False)
                verdict = self._judge(prefix, entry.name, info, rules)
            except OSError as error:
                self.found.skips.append(_failure(prefix + entry.name, error))
                continue
            if isinstance(verdict, Skip):
                self.found.skips.append(verdict)
            elif verdict is None:
                self._enter_child(folder, prefix, entry.name, rules, parts[1:])
            elif len(parts) > 1:
                self.found.skips.append(_vanished(prefix, parts))
            else:
                self.found.files.append(verdict)

    def _named(
        self, prefix: str, entries: list[os.DirEntry[str]], parts: Sequence[str]
    ) -> list[os.DirEntry[str]]:
        """Return the one entry that `parts` lead to; a Skip says why there is none."""
        name = real_name(parts[0], [entry.name for entry in entries])
        if self._is_beside(prefix, name):
            self.found.skips.append(Skip(prefix + parts[0], SkipReason.EXCLUDED))
            return []
        named = [entry for entry in entries if entry.name == name]
        if not named:
            self.found.skips.append(_vanished(prefix, parts))
        return named

    def _is_beside(self, prefix: str, name: str) -> bool:
        top_names = self._settings.top_names
        return bool(top_names) and not prefix and name not in top_names

    def _judge(self, prefix: str, name: str, info: os.stat_result, rules: Rules) -> SourceFile | Skip | None:
        """Return the file if it is admitted, the Skip if not, or None for a folder to enter."""
        folder = stat.S_ISDIR(info.st_mode)
        if folder and self._settings.top_names and not prefix:  # no rule leaves out a folder that was named
            return None
        if not is_plain(name):
            unsafe = self._unsafe_name(prefix, name, folder=folder)
            if unsafe:
                return unsafe
            name = nfc(name)
        path = prefix + name
        shown = path + "/" if folder else path
        if self._is_denied(prefix, name, folder=folder):
            return Skip(shown, SkipReason.DENIED)
        if path in self._own:
            return Skip(shown, SkipReason.DENIED, FINDSPOTS_OWN)
        if self._exclude and self._exclude.matches(shown):
            return Skip(shown, SkipReason.EXCLUDED)
        rule = rules.ignored(prefix, shown[len(prefix) :])
        if rule:
            return Skip(shown, SkipReason.GITIGNORED, rule.source)
        if not folder:
            return self._file(path, name, info)
        is_deep = shown.count("/") > MAX_DEPTH
        return Skip(shown, SkipReason.TOO_DEEP, f"more than {MAX_DEPTH} folders deep") if is_deep else None

    def _is_denied(self, prefix: str, name: str, *, folder: bool) -> bool:
        is_built = folder and self._settings.build_folders and name in BUILD_FOLDERS
        return is_denied(name, folder, IGNORES_CASE, prefix) and not is_built

    def _unsafe_name(self, prefix: str, name: str, *, folder: bool) -> Skip | None:
        if not is_unsafe(name):
            return None
        shown = prefix + spelled_out(name) + ("/" if folder else "")
        if is_denied(cleaned(name), folder, IGNORES_CASE, prefix):
            return Skip(shown, SkipReason.DENIED)
        return Skip(shown, SkipReason.UNSAFE_NAME, "the name holds characters that cannot be seen")

    def _file(self, path: str, name: str, info: os.stat_result) -> SourceFile | Skip:
        if not stat.S_ISREG(info.st_mode):
            is_link = stat.S_ISLNK(info.st_mode)
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

    def _enter_child(
        self, folder: Folder, prefix: str, name: str, rules: Rules, parts: Sequence[str]
    ) -> None:
        if not (parts or self._into_folders):
            self.found.skips.append(Skip(prefix + nfc(name), SkipReason.NOT_REGULAR, "a folder"))
            return
        path = f"{prefix}{nfc(name)}/"
        try:
            inner = folder.enter(name)
        except OSError as error:
            self.found.skips.append(_failure(path, error))
            return
        with inner:
            self.enter(inner, path, rules.entering(prefix, f"{nfc(name)}/"), parts)

    def _rules_in(self, folder: Folder, prefix: str, names: list[str], rules: Rules) -> Rules | Skip:
        """Return the rules that hold in a folder: those from above, and its own; a Skip if it is no part of
        this.
        """
        if prefix in self._own:
            return Skip(prefix or "./", SkipReason.DENIED, FINDSPOTS_OWN)
        if prefix:
            if GIT in names or (IGNORES_CASE and any(name.lower() == GIT for name in names)):
                return Skip(prefix, SkipReason.REPOSITORY, "it has its own .git, and is a project of its own")
            if "HEAD" in names and "objects" in names and "refs" in names:
                return Skip(prefix, SkipReason.DENIED, "it holds the data of a git repository")
        try:
            if not prefix:
                root, respect = Path(os.path.realpath(self._root)), self._settings.respect_gitignore
                rules = rules_above(root, respect_gitignore=respect)
            return self._with_files(folder, prefix, names, rules)
        except UnusableIgnoreFileError as error:
            return Skip(prefix or "./", SkipReason.IGNORE_FILE, str(error))

    def _with_files(self, folder: Folder, prefix: str, names: list[str], rules: Rules) -> Rules:
        for name in (GITIGNORE, OWN_IGNORE) if self._settings.respect_gitignore else (OWN_IGNORE,):
            if name in names:
                text = _rules_text(folder, prefix, name)
                rules = rules.with_file(prefix, text, prefix + name, own=name == OWN_IGNORE)
        return rules


def _rules_text(folder: Folder, prefix: str, name: str) -> str:
    try:
        return folder.read(name, MAX_IGNORE_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise unusable(prefix + name, error) from error


def _notes_on_rules_above(skips: list[Skip]) -> list[str]:
    """Return what to do where nothing is left because of rules outside the project, as in a home under
    git.
    """
    ignored = [skip.detail for skip in skips if skip.reason is SkipReason.GITIGNORED]
    outer = [detail for detail in ignored if detail.startswith(("../", "~/"))]
    ways = "change them, run `git init` in the project, or set respectGitignore to false"
    named = f"Ignore files outside the project leave out all of it ({outer[0]})." if outer else ""
    return [f"{named} To index it, {ways}."] if named else []


def shadowed_names(names: list[str]) -> set[str]:
    """Return names that differ from another in the same folder only by their Unicode form."""
    odd = sorted(name for name in names if not name.isascii() and nfc(name) != name)
    taken = set(names) if odd else set()
    shadowed: set[str] = set()
    for name in odd:
        if nfc(name) in taken:
            shadowed.add(name)
        taken.add(nfc(name))
    return shadowed


def _shadowed(prefix: str, entry: os.DirEntry[str]) -> Skip:
    # Spelled in ASCII: composed, it would be the path of the file that it is left out for.
    shown = entry.name.encode("ascii", "backslashreplace").decode("ascii")
    slash = "/" if entry.is_dir(follow_symlinks=False) else ""
    return Skip(
        prefix + shown + slash, SkipReason.UNSAFE_NAME, "another name differs only in its Unicode form"
    )


def _vanished(prefix: str, parts: Sequence[str]) -> Skip:
    return Skip(prefix + "/".join(parts), SkipReason.VANISHED)


def _failure(path: str, error: OSError) -> Skip:
    shown = path if is_plain(path) else spelled_out(path)
    check_exhausted(error, shown)  # the index must not lose the file
    if isinstance(error, FileNotFoundError):
        return Skip(shown or "./", SkipReason.VANISHED)
    return Skip(shown or "./", SkipReason.UNREADABLE, os.strerror(error.errno or 0))


MOST_BYTES = 1 << 30


def unrestricted(settings: DiscoverSettings) -> DiscoverSettings:
    """Return settings that leave out nothing but what must not be shown."""
    return replace(
        settings, include=("**/*",), exclude=(), respect_gitignore=False, build_folders=True,
        max_file_bytes=MOST_BYTES,
    )  # fmt: skip


def is_below(path: str, place: str) -> bool:
    return not place or f"{path}/".startswith(f"{place}/")


def files_at(root: Path, places: Sequence[str], settings: DiscoverSettings) -> Discovery:
    """Return the files at or below some places, and why what is named or should be there is not found."""
    walked, found = walk(root, settings), Discovery()
    for place in places:
        files = [file for file in walked.files if is_below(file.path, place)]
        skips = [s for s in walked.skips if s.reason is SkipReason.UNREADABLE and is_below(s.path, place)]
        if place and not files:  # what is named is searched, as by ripgrep, unless it must not be
            named = _named(root, place, unrestricted(settings))
            files = named.files
            skips = [] if files else [replace(skip, path=place) for skip in named.skips[:1]]
        found.files += files
        found.skips += skips
    return found


def _named(root: Path, place: str, settings: DiscoverSettings) -> Discovery:
    """Return what is at a path, also where its name alone would leave it out, as `app.log`."""
    found = look(root, place, settings)
    path = root / place
    denied = found.skips[:1] if found.skips and found.skips[0].reason is SkipReason.DENIED else []
    private = is_secret_path(place) or GIT in place.split("/") or any(skip.detail for skip in denied)
    if denied and not private and path.is_file():
        found.files.append(SourceFile(place, Corpus.CODE, language_of(place), *Stamp.of(path.lstat())))
    return found
