"""Which files may answer a query: by path, language, tests, or what git says changed."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.git import GitMissingError, differing, find_commit, untracked
from findspot.core.globs import compile_glob
from findspot.core.languages import unknown_language
from findspot.core.model import Corpus, IncludeTests, Query
from findspot.core.paths import Roots
from findspot.rank.roles import Role, role_of
from findspot.store.derived import Selection
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot


def allowed_files(snapshot: Snapshot, query: Query) -> Selection:
    """Return the files of the query's corpus that pass all its filters."""
    whole = snapshot.files.whole(query.corpus)
    return snapshot.files.select(_filtered(whole.files, query)) if is_filtered(query) else whole


def _filtered(files: Iterable[StoredFile], query: Query) -> list[StoredFile]:
    for passes in _filters(query):
        files = filter(passes, files)
    return list(files)


def _filters(query: Query) -> Iterator[Callable[[StoredFile], bool]]:
    """Yield what each filter of a query says of a file."""
    if (only := query.only) is not None:
        yield lambda file: file.path in only
    if query.under:
        prefix = query.under.rstrip("/") + "/"
        yield lambda file: file.path.startswith(prefix)
    if query.extensions:
        endings = tuple("." + ending.lstrip("*.").lower() for ending in query.extensions)
        yield lambda file: file.path.lower().endswith(endings)
    if query.languages:
        wanted = {language.lower() for language in query.languages}
        yield lambda file: file.language in wanted
    if query.path_filter:
        names = _matcher(query.path_filter)
        yield lambda file: names(file.path)
    if query.exclude:
        excludes = _matcher(query.exclude)
        yield lambda file: not excludes(file.path)
    if query.include_tests is IncludeTests.NO:
        yield lambda file: role_of(file.path) is not Role.TEST


def _matcher(glob: str) -> Callable[[str], bool]:
    """Return whether a glob names a file, or a folder that the file is in."""
    itself, inside = compile_glob(glob), compile_glob(glob.rstrip("/") + "/")
    return lambda path: bool(itself.match(path) or inside.match(path))


_SEARCHED = {
    Corpus.CODE: ("code", "search_code (`findspot search`)"),
    Corpus.DOCS: ("documentation", "search_docs (`findspot docs`)"),
}
"""What a corpus is called, and what searches it."""


def nothing_to_search(snapshot: Snapshot, query: Query) -> str | None:
    """Return what to tell when no file may answer: silence would look like an answer."""
    if unknown := unknown_language(query.languages):
        return unknown
    other = Corpus.DOCS if query.corpus is Corpus.CODE else Corpus.CODE
    (own, _), (theirs, tool) = _SEARCHED[query.corpus], _SEARCHED[other]
    chosen, held = (
        query.extensions or query.languages or query.path_filter,
        snapshot.files.whole(query.corpus),
    )
    looked = (chosen or not held.files) and query.only is None
    passing = _filtered(snapshot.files.whole(other).files, query) if looked else []
    lacking = f"No {own} passes the filters" if chosen else f"The index holds no {own}"
    if passing:
        count = f"{len(passing):,} {'file' if len(passing) == 1 else 'files'} of {theirs}"
        return f"{lacking}, but {count}: use {tool}."
    return "No indexed file passes the filters." if held.files else f"The index holds no {own}."


def is_filtered(query: Query) -> bool:
    """Return whether the query leaves out any file of its corpus."""
    return next(_filters(query), None) is not None


def with_changed_paths(roots: Roots, query: Query) -> Query:
    """Return a query that asks for what changed, with the paths that did."""
    if query.changed_since is None:
        return query
    return replace(query, only=changed_since(roots.project, query.changed_since))


def changed_since(root: Path, revision: str) -> frozenset[str]:
    """Return the paths below a root whose files differ from a revision, or are not tracked."""
    try:
        return _differing(root, revision)
    except GitMissingError as error:
        raise InvalidArgumentError(
            "changed_since needs git, which is not installed.",
            hint="Install git, or leave changed_since out.",
        ) from error


def _differing(root: Path, revision: str) -> frozenset[str]:
    commit = find_commit(root, revision, "changed_since", "Leave changed_since out.")
    changed, others = differing(root, commit), untracked(root)
    if changed is None or others is None:
        raise InvalidArgumentError(f"git could not say what changed since '{revision}'.")
    return frozenset(unicodedata.normalize("NFC", path) for path in (changed + others).split("\0") if path)
