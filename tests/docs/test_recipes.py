"""The recipes for build services in the guide for teams run as they are written.

Only `curl` and `pip` are replaced, which would fetch and install Findspot.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import ROOT, blocks

from contents import write_files
from object_server import CREDENTIALS, Bucket
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


class Runner:
    """A machine of a build service: a fresh clone, and the variables that the service sets."""

    def __init__(self, tmp_path: Path, **variables: str) -> None:
        self._folder = tmp_path
        self.origin = tmp_path / "origin"
        write_files(self.origin, FILES)
        self.git("init", "-q", "-b", "main")
        self.commit()
        programs = tmp_path / "bin"
        write_files(programs, {name: f"#!/bin/bash\n{text}\n" for name, text in REPLACED.items()})
        for program in programs.iterdir():
            program.chmod(0o755)
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("FINDSPOT_", "AWS_"))
        }
        path = os.pathsep.join([str(programs), str(Path(INSTALLED).parent), own["PATH"]])
        self._environment = own | {"PATH": path} | variables

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=cwd or self.origin, check=True, capture_output=True, text=True
        ).stdout

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD").strip()

    def clone(self, name: str) -> Path:
        """A clone as build services make it: of a commit, without a branch."""
        path = self._folder / name / "checkout"
        self.git("clone", "-q", str(self.origin), str(path))
        self.git("checkout", "-q", "--detach", cwd=path)
        return path

    def run(self, where: Path, *commands: str, **variables: str) -> str:
        script = "\n".join(["set -eo pipefail", *commands])
        own = {"FINDSPOT_HOME": str(where.parent / "home"), **variables}
        bash, environment = ["bash", "-c", script], self._environment | own
        done = subprocess.run(bash, cwd=where, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def test_github_actions_publish_to_an_object_store(tmp_path: Path) -> None:
    """The recipe for GitHub Actions against an S3 server, and a developer's clone."""
    pytest.importorskip("lancedb")
    steps = recipe("jobs")["jobs"]["publish"]["steps"]
    commands = [(step["run"], step.get("env", {})) for step in steps if "run" in step]
    bucket = Bucket("team-indexes")
    runner = Runner(
        tmp_path,
        GITHUB_REF_NAME="main",
        AWS_ENDPOINT_URL=bucket.endpoint,
        **CREDENTIALS,
    )
    try:
        for name in ("first", "second"):
            checkout = runner.clone(name)
            for command, variables in commands:
                secrets = {
                    key: re.sub(r"\$\{\{.*\}\}", CREDENTIALS[key], value) for key, value in variables.items()
                }
                runner.run(checkout, command, **secrets)
            (runner.origin / "m3.py").write_text(f"def changed_by_{name}():\n    pass\n")
            runner.commit()
        address = re.search(r"s3://\S+", " ".join(command for command, _ in commands))
        assert address
        developer = runner.clone("developer")
        shown = runner.run(developer, f"findspot store use {address[0]}")
        assert f"reads {address[0]}: 25 files" in shown
    finally:
        bucket.server.stop()
