"""The language of a file, told by name and by first line."""

from __future__ import annotations

import pytest

from findspot.core.languages import LANGUAGES, language_of, row


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("SRC/APP.PY", "python"),
        ("web/view.tsx", "tsx"),
        ("lib/list.h", "c"),
        ("lib/list.hpp", "cpp"),
        ("Makefile", "make"),
        ("deep/er/Makefile", "make"),
        ("Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("requirements-test.txt", "requirements"),
        ("go.sum", "gomod"),
        ("web/.dockerignore", "ignore"),
        ("config.yml.tmpl", "yaml"),
        (".env.example", "env"),
        ("README", "text"),
        ("mystery.zzz", "text"),
        ("a.py/mystery", "text"),
        ("", "text"),
    ],
)
def test_a_name_tells_the_language(path: str, language: str) -> None:
    assert language_of(path) == language


def test_no_extension_or_name_belongs_to_two_languages() -> None:
    for field in ("extensions", "filenames"):
        values = [value for language in LANGUAGES for value in getattr(language, field)]
        assert len(values) == len(set(values)), field


def test_requirements_and_build_files_are_no_prose() -> None:
    assert all(row(name).data for name in ("requirements", "gomod", "ignore"))
    assert not row("cmake").docs
    assert row("an unknown name").name == "text"
