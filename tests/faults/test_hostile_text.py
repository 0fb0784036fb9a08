"""Files made to cost much: nothing but one thing, for every reader. Each is read within a worker's limit."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from findspot.core.languages import LANGUAGES, Language
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile
from findspot.core.progress import CancelToken
from findspot.indexing.workers import Job, Setup, Unchanged, WorkerPool

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no timers of processor time")

SIZE = 50_000
"""What takes quadratic time takes minutes for that; what does not, a fraction of a second."""

FILLINGS = {
    "newlines": ("x\n", "\n"),
    "blanks after a heading": ("# x", " "),
    "comments": ("", "# x\n"),
    "other comments": ("", "// x\n"),
    "brackets": ("", "(\n"),
    "quotes": ("x = ", '"\n'),
    "a sum": ("x", " % x\n"),
}

SLOW = ("comments", "other comments", "brackets")
"""Half a minute of two processors each."""

READ = [each for each in LANGUAGES if each.grammar or each.data or each.docs]


def trouble(folder: Path, languages: Iterable[Language], text: str) -> list[Skip]:
    """Have real workers read a text in several languages; return what they did not get through.

    A worker ends itself when a file takes too much processor time, and the file has a Skip that says so.
    """
    jobs = []
    for language in languages:
        name = f"{language.name}.{language.extensions[0]}" if language.extensions else language.filenames[0]
        (folder / name).write_text(text)
        corpus = Corpus.DOCS if language.docs else Corpus.CODE
        jobs.append(Job(SourceFile(name, corpus, language.name, len(text), 1)))
    pool = WorkerPool(Setup(folder, "local:static", "syntax", 1 << 20), 2)
    try:
        outcomes = list(pool.run(jobs, CancelToken()))
    finally:
        pool.close()
    assert len(outcomes) == len(jobs)
    skips = [outcome.skip for outcome in outcomes if not isinstance(outcome, Unchanged) and outcome.skip]
    return [each for each in skips if each.reason in (SkipReason.WORKER_TIMEOUT, SkipReason.WORKER_CRASHED)]


@pytest.mark.parametrize(
    "filling", [pytest.param(name, marks=[pytest.mark.nightly] * (name in SLOW)) for name in FILLINGS]
)
def test_every_language_is_read_within_its_limit(tmp_path: Path, filling: str) -> None:
    start, unit = FILLINGS[filling]
    assert not trouble(tmp_path, READ, f"{start}{unit * (SIZE // len(unit))}x\n")


@pytest.mark.parametrize(("mark", "names"), [("//", ("json",)), ("#", ("yaml", "toml"))])
def test_comments_of_data_are_read_once(tmp_path: Path, mark: str, names: tuple[str, ...]) -> None:
    data = [language for language in LANGUAGES if language.name in names]
    assert not trouble(tmp_path, data, f"{mark} x\n" * 150_000 + '{"a": 1}\n')
