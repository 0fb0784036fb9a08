"""Which files a query may answer from, decided before anything is scored."""

from __future__ import annotations

from findspot.core.globs import compile_glob
from findspot.core.model import IncludeTests, Query
from findspot.rank.roles import Role, role_of
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot


def allowed_files(snapshot: Snapshot, query: Query) -> list[StoredFile]:
    """The files of the query's corpus that pass all its filters."""
    files = [file for file in snapshot.files.files if file.corpus == query.corpus]
    if query.under:
        prefix = query.under.rstrip("/") + "/"
        files = [file for file in files if file.path.startswith(prefix)]
    if query.extensions:
        endings = tuple("." + ending.lower() for ending in query.extensions)
        files = [file for file in files if file.path.lower().endswith(endings)]
    if query.languages:
        wanted = {language.lower() for language in query.languages}
        files = [file for file in files if file.language in wanted]
    if query.path_filter:
        matches = compile_glob(query.path_filter).match
        files = [file for file in files if matches(file.path)]
    if query.exclude:
        excluded = compile_glob(query.exclude).match
        files = [file for file in files if not excluded(file.path)]
    if query.include_tests is IncludeTests.NO:
        files = [file for file in files if role_of(file.path) is not Role.TEST]
    return files


def is_filtered(query: Query) -> bool:
    """Whether the query leaves out any file of its corpus."""
    return bool(
        query.under
        or query.extensions
        or query.languages
        or query.path_filter
        or query.exclude
        or query.include_tests is IncludeTests.NO
    )
