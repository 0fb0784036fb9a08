"""The documents for contributors name the layers that are enforced, and files that exist."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_layers_are_those_that_are_enforced() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:layers"]["layers"].split("\n")
    said = " ".join((ROOT / "docs/ARCHITECTURE.md").read_text().split())
    assert " › ".join(f"`{layer.strip()}`" for layer in layers if layer.strip()) in said


def test_every_package_and_module_is_explained() -> None:
    said = (ROOT / "docs/ARCHITECTURE.md").read_text().split("```")[1]
    explained = set(re.findall(r"^  ([a-z_]+)(?:/|\.py)? ", said, re.MULTILINE))
    parts = {part.stem for part in (ROOT / "src/findspot").iterdir() if part.is_dir() or part.suffix == ".py"}
    assert {part for part in parts if not part.startswith("_")} == explained


def test_files_that_contributors_are_sent_to_exist() -> None:
    named = re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
