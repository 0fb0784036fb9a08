"""The recipes for build services in the guide for teams run as they are written.

Only `curl` and `pip` are replaced, which would fetch and install Findspot.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import ROOT, blocks

from contents import write_files
from object_server import CREDENTIALS, Bucket
from repositories import Repository
from warm_start import INSTALLED

FILES = {f"m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(25)}
REPLACED = {
    "curl": 'touch "$(basename "${@: -1}")"',
    "pip": 'file="${@: -1}"; test -f "${file%%\\[*}"',
}


def recipe(key: str) -> dict[str, Any]:
    """The recipe with a top-level key."""
    (found,) = [
        held for text in blocks(ROOT / "docs/teams.md", "yaml") if key in (held := yaml.safe_load(text))
    ]
    assert isinstance(found, dict)
    return found


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    bucket = Bucket("team-indexes")
    yield bucket
    bucket.server.stop()


@pytest.fixture
def environment(bucket: Bucket, tmp_path: Path) -> dict[str, str]:
    """The variables that a build service sets on `main`, for programs of ours before all others."""
    programs = tmp_path / "bin"
    write_files(programs, {name: f"#!/bin/bash\n{text}\n" for name, text in REPLACED.items()})
    for program in programs.iterdir():
        program.chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("FINDSPOT_", "AWS_"))}
    path = os.pathsep.join([str(programs), str(Path(INSTALLED).parent), own["PATH"]])
    set_there = {"GITHUB_REF_NAME": "main", "AWS_ENDPOINT_URL": bucket.endpoint, **CREDENTIALS}
    return own | {"PATH": path, "FINDSPOT_HOME": str(tmp_path / "home")} | set_there


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    bash = ["bash", "-c", f"set -eo pipefail\n{command}"]
    done = subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_github_actions_publish_to_an_object_store(tmp_path: Path, environment: dict[str, str]) -> None:
    """The recipe for GitHub Actions against an S3 server, and a developer's clone."""
    pytest.importorskip("lancedb")
    origin = Repository(tmp_path / "origin")
    write_files(origin.root, FILES)
    origin.commit("start")
    checkout, clone = tmp_path / "checkout", tmp_path / "clone"
    for folder in (checkout, clone):
        subprocess.run(["git", "clone", "-q", origin.root, folder], check=True)
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=checkout, check=True)  # as build services do
    steps = [step for step in recipe("jobs")["jobs"]["publish"]["steps"] if "run" in step]
    for step in steps:
        secrets = {
            key: re.sub(r"\$\{\{.*\}\}", CREDENTIALS[key], value)
            for key, value in step.get("env", {}).items()
        }
        run(step["run"], checkout, environment | secrets)
    address = re.search(r"s3://\S+", " ".join(step["run"] for step in steps))
    assert address
    at_home = environment | {"FINDSPOT_HOME": str(tmp_path / "other-home")}
    assert f"reads {address[0]}: 25 files" in run(f"findspot store use {address[0]}", clone, at_home)
