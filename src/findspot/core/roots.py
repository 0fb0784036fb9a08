"""The folders of one index: the project's own, or several that make one logical index.

Of several roots, each has the name of its folder, and the paths of its files begin with it.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from findspot.core.denied import is_denied
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.files import is_folder
from findspot.core.paths import expanded, outside, relative_path
from findspot.core.platforms import IGNORES_CASE
from findspot.core.setting_keys import COMMITTED_FILES
from findspot.core.settings import Settings

_NOWHERE = ".findspot-unknown-root"
"""Where the paths of a root that is not configured any more would be: no such folder is ever made."""


@dataclass(frozen=True, slots=True)
class Roots:
    """Where indexed paths are on disk."""

    project: Path
    """The folder that the project is known by; its only root, unless others are named."""
    named: tuple[tuple[str, Path], ...] = ()

    @staticmethod
    def of(place: Path | Roots) -> Roots:
        return place if isinstance(place, Roots) else Roots(place)

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(folder for _, folder in self.named) or (self.project,)

    @property
    def are_there(self) -> bool:
        return self.missing is None

    def holding(self, path: str) -> tuple[Path, str]:
        """Return the folder that holds an indexed path, and the path inside it."""
        if not self.named:
            return self.project, path
        name, _, inside = path.partition("/")
        folder = next((folder for known, folder in self.named if known == name), None)
        return (self.project / _NOWHERE, path) if folder is None else (folder, inside)

    def __truediv__(self, path: str) -> Path:
        """Return where an indexed path is on disk."""
        folder, inside = self.holding(path)
        return folder / inside

    def spelled(self, place: Path) -> str | None:
        """Return a place on disk as the index spells it; None for what lies in no root."""
        for name, folder in self.named or (("", self.project),):
            if place.is_relative_to(folder):
                inside = place.relative_to(folder).as_posix()
                return "/".join(part for part in (name, inside) if part not in ("", "."))
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
        """A sentence about the first folder that is not there; None when all are."""
        gone = next((folder for folder in self.folders if not is_folder(folder)), None)
        return None if gone is None else f"The folder '{gone}' is not there."

    def checked(self) -> Roots:
        """Return the same, once all folders are known to be there: an unmounted disk must not empty an
        index.
        """
        if (missing := self.missing) is None:
            return self
        if not self.named:
            raise PathNotFoundError(str(self.project))
        raise _refused(missing, "Mount it, or take it out of `roots`.")


def configured_roots(project: Path, settings: Settings) -> Roots:
    """Return the roots of a project as its settings name them."""
    committed = settings.sources.get("roots") in COMMITTED_FILES
    return find_roots(project, settings.discover.roots, inside_only=committed)


def find_roots(project: Path, wanted: Sequence[str], *, inside_only: bool) -> Roots:
    """Return the roots that a project's configuration names, relative to the project.

    With `inside_only` they must lie in the project: a repository's own file cannot have the rest of
    the disk indexed. The hard deny list holds for everyone.
    """
    if not wanted:
        return Roots(project)
    named: dict[str, Path] = {}
    for given in wanted:
        try:
            folder = Path(os.path.realpath(project / expanded(given)))
            folder.is_dir()
        except (OSError, ValueError):  # such as a NUL
            raise _refused("One of them is no path on this machine.", "Take it out.") from None
        name = unicodedata.normalize("NFC", folder.name)
        if inside_only and not folder.is_relative_to(project):
            raise _refused(
                f"'{given}' is outside the project, and a committed file cannot name such a folder.",
                "Name it in the configuration of the index: findspot config set roots …",
            )
        if _leads_through_denied(project, folder):
            raise _refused(f"'{given}' is on the hard deny list, which no setting overrides.", "Take it out.")
        if not name:
            raise _refused(f"'{given}' has no name that its paths could begin with.", "Name another folder.")
        if name in named:
            raise _refused(
                f"Two folders are named '{name}': {named[name]} and {folder}.",
                "Paths begin with these names.",
            )
        for other in named.values():
            if folder.is_relative_to(other) or other.is_relative_to(folder):
                raise _refused(f"'{folder}' and '{other}' lie in each other.", "Name the outer one alone.")
        named[name] = folder
    return Roots(project, tuple(sorted(named.items())))


def _leads_through_denied(project: Path, folder: Path) -> bool:
    """Return whether a folder, or one on the way to it from the project, is never indexed."""
    try:
        parts = Path(os.path.relpath(folder, project)).parts
    except ValueError:  # on another drive
        parts = folder.parts
    return any(is_denied(unicodedata.normalize("NFC", part), True, IGNORES_CASE) for part in parts)


def _refused(message: str, hint: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"roots: {message}", hint=hint)
