"""The training recipe's promises: nothing evaluated is learned from, and only what licences allow."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import collect
import licences
from guard import Guard, without_docstrings

ROOT = Path(__file__).parents[3]

EVALUATED = '''def words_of(text):
    """Split a text."""
    cleaned = text.strip().lower()
    found = cleaned.split()
    return [word for word in found if word]
'''
EXCLUDED = [
    "pallets/flask",
    "spf13/cobra",
    "rails/rails",
    "nlohmann/json",
    "rack/rack",
    "redis/redis",
    "psf/requests",
]
PACKAGED = (
    "flask Flask golang-github-spf13-cobra-dev ruby-rails ruby-activesupport ruby-rack redis nlohmann-json3 "
    "requests something @someone/something"
)
OTHERS = "arrow golang-github-spf13-viper-dev ruby-mail jsonschema bottle"


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """An evaluation folder in small."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "corpora").mkdir()
    (tmp_path / "excluded-from-training.txt").write_text("\n".join(EXCLUDED), "utf-8")
    query = {"repo": "corpora/anthropic_code", "source_repo": "someone/something", "query": "?"}
    (tmp_path / "queries" / "code_x.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    (tmp_path / "corpora" / "cosqa.jsonl").write_text(
        json.dumps({"path": "a.py", "text": EVALUATED}) + "\n", "utf-8"
    )
    body = "\n".join(f"statement_{n} = compute({n})" for n in range(20))
    (tmp_path / "corpora" / "files.jsonl").write_text(
        json.dumps({"path": "b.py", "text": body}) + "\n", "utf-8"
    )
    return Guard.load(tmp_path)


def test_an_evaluated_repository_is_refused_in_any_packaging_and_others_are_not(guard: Guard) -> None:
    assert [name for name in PACKAGED.split() if not guard.refuses_package(name)] == []
    assert [name for name in OTHERS.split() if guard.refuses_package(name)] == []


def test_a_copied_function_is_refused_however_it_is_indented(guard: Guard) -> None:
    indented = "\n".join("        " + line for line in EVALUATED.splitlines())
    assert guard.refuses_text(indented)
    assert guard.refuses_text("import os\n\n" + without_docstrings(EVALUATED) + "\n\nprint(1)")
    assert not guard.refuses_text("def words_of(text):\n    return sorted(text)\n\nvalue = 3\n")


def test_five_lines_of_a_file_are_a_copy_and_four_are_not(guard: Guard) -> None:
    lines = [f"statement_{n} = compute({n})" for n in range(4, 9)]
    assert guard.refuses_text("\n".join(lines))
    assert not guard.refuses_text("\n".join([*lines[:4], "other()"]))


def test_a_copied_pair_never_reaches_the_file(
    guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small:
        ecosystem, name, version, licence, summary, description = "pypi", "small", "1", "MIT", "", ""

        def files(self, _: object) -> list[tuple[str, str]]:
            return [
                ("small/a.py", EVALUATED + "\n\n" + AREA),
                ("someone/something/b.py", AREA.replace("area", "size")),
            ]

    monkeypatch.setattr(collect, "CACHE", tmp_path)
    (tmp_path / "pairs").mkdir()
    collect.extract_package(guard, Small())  # type: ignore[arg-type]
    rows = [
        json.loads(line)
        for line in (tmp_path / "pairs" / "pypi__small.jsonl").read_text("utf-8").splitlines()
    ]
    assert [row["query"] for row in rows[1:]] == ["The area of a shape."]
    assert '"""' not in rows[1]["text"]


def test_no_listed_source_that_was_used_is_excluded() -> None:
    listed = ROOT / "training" / "sources.tsv"
    guard = Guard()
    guard.refuse(
        [*EXCLUDED, "django/django", "pytest-dev/pytest", "gin-gonic/gin", "sympy/sympy", "axios/axios"]
    )
    rows = [line.split("\t") for line in listed.read_text("utf-8").splitlines()[1:]]
    assert len(rows) > 100
    assert not [row[1] for row in rows if guard.refuses_package(row[1])]
    assert all(row[3] for row in rows)


PERMISSIVE = ("MIT", "Apache-2.0 OR MIT", "BSD-3-Clause", "GPL-3.0-or-later OR MIT", "MIT and Apache-2.0")
OTHER_LICENCES = ("GPL-2+", "LGPL-2.1", "MIT and GPL-3+", "", "proprietary")


def test_only_permissive_licences_are_learned_from() -> None:
    assert tuple(filter(licences.permissive, (*OTHER_LICENCES, *PERMISSIVE))) == PERMISSIVE


AREA = '''def area(shape):
    """The area of a shape."""
    width = shape.width
    return width * shape.height
'''


def test_a_sentence_of_a_tool_s_description_is_refused(tmp_path: Path, guard: Guard) -> None:
    del guard  # made the evaluation folder
    (tmp_path / "catalogues").mkdir()
    description = "Draws a triangle. Retrieve the area and perimeter of a triangle from its three sides."
    tool = json.dumps({"name": "triangle", "description": description})
    (tmp_path / "catalogues" / "tools.jsonl").write_text(tool + "\n", "utf-8")
    watching = Guard.load(tmp_path)
    said = "# Retrieve the area, and perimeter of a triangle from its three sides\ndef triangle(a, b, c): ..."
    assert watching.refuses_text(said)
    assert watching.refuses_sentences(
        "Useful: retrieve the area and perimeter of a triangle from its three sides"
    )
    assert not watching.refuses_sentences("Draws a triangle.")
    assert not watching.refuses_text("def triangle(a, b, c):\n    return a + b + c\n")


def test_every_file_of_a_mirrored_repository_is_refused(tmp_path: Path, guard: Guard) -> None:
    del guard
    work = tmp_path / "work"
    work.mkdir()
    source = "\n".join(f"let value{n} = compute({n});" for n in range(8))
    (work / "lib.js").write_text(source)
    (work / "image.bin").write_bytes(b"\0\1\2")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=work, check=True)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=work, text=True).strip()
    mirror = tmp_path / "mirrors" / "some+thing" / "repo"
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(mirror)], check=True)
    query = {"repo": "some/thing", "commit": commit, "query": "?"}
    (tmp_path / "queries" / "code_y.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    copied = "// elsewhere\n" + "\n".join(source.splitlines()[2:7])
    assert not Guard.load(tmp_path).refuses_text(copied)
    assert Guard.load(tmp_path, tmp_path / "mirrors").refuses_text(copied)
