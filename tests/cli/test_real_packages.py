"""Packages as pip and npm install them: listed, searched, followed and compared with their own text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from program import Program

pytestmark = pytest.mark.programs

APP = """\
from itsdangerous import URLSafeSerializer


def sign(value):
    return URLSafeSerializer("key").dumps(value)
"""
PAGE = """\
import ms from "ms";

export function pause(text: string) {
  return ms(text);
}
"""


def test_packages_of_pypi_and_npm(findspot: Program, make_project: Callable[..., Path]) -> None:
    manifest = json.dumps({"dependencies": {"ms": "2.1.3"}, "devDependencies": {"@types/ms": "2.1.0"}})
    files = {"requirements.txt": "itsdangerous\n", "package.json": manifest, "app.py": APP, "page.ts": PAGE}
    root = make_project(**files, **{".gitignore": ".venv/\nnode_modules/\n", ".venv/pyvenv.cfg": ""})
    site = root / ".venv" / "lib" / "python3.12" / "site-packages"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile", "--target", str(site)]
    subprocess.run([*install, "itsdangerous==2.2.0"], check=True, capture_output=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)

    assert findspot("index", str(root)).code == 0
    at = ("--project", str(root))
    listed = findspot("deps", *at, "--json").json["dependencies"]
    labels = {f"{each['ecosystem']}/{each['name']}@{each['version']}" for each in listed}
    assert labels == {"pypi/itsdangerous@2.2.0", "npm/ms@2.1.3", "npm/@types/ms@2.1.0"}
    found = findspot("search", "--dependency", "itsdangerous", "signature has expired", *at, "--json").json
    assert found["results"][0]["path"].startswith("dep://pypi/itsdangerous@2.2.0/itsdangerous/")
    found = findspot("search", "--dependency", "ms", "parse a time string", *at, "--json").json
    assert found["results"][0]["path"] == "dep://npm/ms@2.1.3/index.js"
    signed = findspot("callees", "sign", *at).out
    assert "dep://pypi/itsdangerous@2.2.0/itsdangerous/url_safe.py" in signed
    assert "class URLSafeSerializer" in signed
    assert "dep://npm/@types/ms@2.1.0/index.d.ts" in findspot("callees", "pause", *at).out
