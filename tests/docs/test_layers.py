"""The documents for contributors name the layers that are enforced, and files that exist."""

from __future__ import annotations

import ast
import configparser
import itertools
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
    said = (ROOT / "docs/ARCHITECTURE.md").read_text().partition("## Packages")[2].split("```")[1]
    explained = set(re.findall(r"^  ([a-z_]+)(?:/|\.py)? ", said, re.MULTILINE))
    parts = {part.stem for part in (ROOT / "src/findspot").iterdir() if part.is_dir() or part.suffix == ".py"}
    assert {part for part in parts if not part.startswith("_")} == explained


def test_every_stop_of_the_walks_exists() -> None:
    said = (ROOT / "docs/ARCHITECTURE.md").read_text().split("## Processes and files")[0]
    walks = [
        re.findall(r"^\d+\. `([\w/]+\.py):([\w.]+)`", walk, re.MULTILINE) for walk in said.split("\n## ")[1:]
    ]
    assert [0 < len(walk) <= 12 for walk in walks] == [True, True]
    for path, name in itertools.chain(*walks):
        body: list[ast.stmt] = ast.parse((ROOT / "src/findspot" / path).read_text()).body
        for part in name.split("."):
            found = [node for node in body if getattr(node, "name", None) == part]
            assert found, f"{path}:{name}"
            body = found[0].body  # type: ignore[attr-defined]


def test_files_that_contributors_are_sent_to_exist() -> None:
    named = re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
