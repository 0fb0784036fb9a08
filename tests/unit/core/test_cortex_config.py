"""`.cortex/config.yml`, and what a repository may not decide in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from findspot.core.config import is_loopback, load_settings
from findspot.core.files import ContentError, parse_yaml


def load(root: Path, text: str | None, **environ: str) -> Any:
    if text is not None:
        (root / ".cortex").mkdir(exist_ok=True)
        (root / ".cortex" / "config.yml").write_text(text, encoding="utf-8")
    return load_settings(root, environ={"FINDSPOT_HOME": str(root / "home"), **environ})


def test_the_documented_file(tmp_path: Path) -> None:
    text = (
        'embedding:\n  endpoint: "http://localhost:8121/embed"\n  dimensions: 384\n\n'
        'server:\n  chunks_dir: "pieces"\n\npaths:\n  code: ["**/*.go"]\n'
    )
    settings = load(tmp_path, text)
    assert settings.cortex.endpoint == "http://localhost:8121/embed"
    assert (settings.cortex.dimensions, settings.cortex.chunks_dir) == (384, "pieces")
    assert settings.warnings == ()
    assert settings.sources["cortex.dimensions"] == ".cortex/config.yml"


def test_the_environment_wins(tmp_path: Path) -> None:
    text = "embedding: {endpoint: 'http://localhost:1'}\nserver: {chunks_dir: pieces}\n"
    wanted = {"CORTEX_CHUNKS_DIR": "/elsewhere", "CORTEX_EMBEDDING_ENDPOINT": "https://example.org"}
    settings = load(tmp_path, text, **wanted)
    assert (settings.cortex.chunks_dir, settings.cortex.endpoint) == ("/elsewhere", "https://example.org")


@pytest.mark.parametrize("text", ["- a\n", "embedding: 5\n", "", "embedding:\n  endpoint:\n"])
def test_files_that_say_nothing_of_us(tmp_path: Path, text: str) -> None:
    settings = load(tmp_path, text)
    assert (settings.warnings, settings.cortex.endpoint) == ((), None)


def _doubling(line: str, first: str) -> str:
    """Nine lines, each of which names the one before it nine times."""
    return first + "\n" + "".join(line.format(n, ", ".join([f"*a{n - 1}"] * 9)) for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_doubling("a{0}: &a{0} [{1}]\n", "a0: &a0 [canary]"), "an alias at line 2"),
        (_doubling("a{0}: &a{0} {{<<: [{1}]}}\n", "a0: &a0 {canary: 1}"), "an alias at line 2"),
        ("a: " + "[" * 21 + "canary" + "]" * 21, "nested too deeply at line 1"),
        ("[" * 20_000 + "canary", "nested too deeply at line 1"),
        ("[default]\naws_secret_access_key = canary\n", "not valid YAML at line 2"),
        ("canary: 2024-99-99", "not valid YAML"),
        ("canary: " + "9" * 9_000, "not valid YAML"),
        ("!!python/name:canary ''", "not valid YAML at line 1"),
        ("canary: \x00", "not valid YAML"),
    ],
)
def test_yaml_that_is_not_read_is_told_without_its_text(tmp_path: Path, text: str, problem: str) -> None:
    """`security 6` and `security 7`: nothing grows, nothing is quoted."""
    with pytest.raises(ContentError, match=problem):
        parse_yaml(text.encode())
    (warning,) = load(tmp_path, text).warnings
    assert warning.startswith(f".cortex/config.yml: cannot be read ({problem}")
    assert "canary" not in warning


@pytest.mark.parametrize("value", ["[1, 2]", "{a: 1}", "true", "2024-01-01"])
def test_a_value_of_another_type_is_a_warning(tmp_path: Path, value: str) -> None:
    settings = load(tmp_path, f"embedding: {{endpoint: {value}}}\nserver: {{chunks_dir: {value}}}\n")
    assert (settings.cortex.endpoint, settings.cortex.chunks_dir) == (None, ".cortex/chunks")
    assert len(settings.warnings) == 2


def test_it_counts_as_committed(tmp_path: Path) -> None:
    """What a committed file may not say is in `test_config.py`."""
    settings = load(tmp_path, "embedding: {endpoint: 'http://example.org'}\nserver: {chunks_dir: /etc}\n")
    assert (settings.cortex.endpoint, settings.cortex.chunks_dir) == (None, ".cortex/chunks")
    folder, endpoint = settings.warnings
    assert "CORTEX_EMBEDDING_ENDPOINT" in endpoint
    assert "CORTEX_CHUNKS_DIR" in folder


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost:8121/embed", True),
        ("localhost:8121", True),
        ("http://127.1.2.3", True),
        ("http://[::1]:80", True),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1@example.org", False),
        ("http://[", False),
    ],
)
def test_what_is_on_this_machine(address: str, here: bool) -> None:
    assert is_loopback(address) is here
