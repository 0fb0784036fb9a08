"""Walk a project: every file is admitted, or covered by a Skip that says why not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from findspot.core.files import Folder, check_exhausted
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.core.paths import GITIGNORE, home_folder, own_paths
from findspot.core.platforms import IGNORES_CASE
from findspot.core.settings import DiscoverSettings
from findspot.discover.admission import FINDSPOTS_OWN, Judge
from findspot.discover.checkouts import GIT
from findspot.discover.ignore import (
    MAX_IGNORE_BYTES,
    OWN_IGNORE,
    Ignores,
    Rules,
    UnusableIgnoreFileError,
)
from findspot.discover.outer_rules import rules_above, untold_note, unusable
from findspot.discover.root_folder import is_plain, nfc, real_name, spelled_out


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
        walker.enter(top, "", walker.no_rules)
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
        walker.enter(top, "", walker.no_rules, parts)
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
        self.no_rules = Rules(Ignores(), Ignores(), lambda _: False)
        self._root = root
        self._into_folders = into_folders
        self._top_names = settings.top_names
        self._check = check or (lambda: None)
        self._respect_gitignore = settings.respect_gitignore
        self._own = set(own_paths(home_folder(), self._root))
        self._judge = Judge(settings, self._own, ignore_case=IGNORES_CASE, owner=top.owner).judge

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
                verdict = self._judged(prefix, entry.name, info, rules)
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
        return bool(self._top_names) and not prefix and name not in self._top_names

    def _judged(self, prefix: str, name: str, info: os.stat_result, rules: Rules) -> SourceFile | Skip | None:
        """Judge an entry; no rule leaves out a folder that was named."""
        is_named = bool(self._top_names) and not prefix and stat.S_ISDIR(info.st_mode)
        return None if is_named else self._judge(prefix, name, info, rules.ignored)

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
            self.enter(inner, path, rules.entering(prefix, nfc(name)), parts)

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
                root, respect = Path(os.path.realpath(self._root)), self._respect_gitignore
                rules = rules_above(root, ignore_case=IGNORES_CASE, respect_gitignore=respect)
            return self._with_files(folder, prefix, names, rules)
        except UnusableIgnoreFileError as error:
            return Skip(prefix or "./", SkipReason.IGNORE_FILE, str(error))

    def _with_files(self, folder: Folder, prefix: str, names: list[str], rules: Rules) -> Rules:
        for name in (GITIGNORE, OWN_IGNORE) if self._respect_gitignore else (OWN_IGNORE,):
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
