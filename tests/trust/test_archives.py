"""Archives of an index may come from anyone: they are looked at first, and nothing of them is believed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest

from program import Program

from .conftest import MakeFolder

SHOP = {
    "pyproject.toml": "[project]\n",
    "README.md": "# Shop\n",
    "pay.py": "def may_pay(user):\n    return user.is_known\n",
}


def forge(archive: Path, folder: Path, statement: str) -> None:
    """Change the database of an archive, and the checksum with it."""
    shutil.unpack_archive(archive, folder, "zip")
    db = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
    db.execute(statement)
    db.close()
    data = (folder / "index.sqlite").read_bytes()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("manifest.json", json.dumps(manifest))
        written.writestr("index.sqlite", data)


def test_forged_text_is_never_answered(findspot: Program, make: MakeFolder, tmp_path: Path) -> None:
    """security 10: the forged text of an unchanged file was answered, also after `findspot index`."""
    project = make(SHOP)
    archive = tmp_path / "shop.findspot"
    assert findspot("export", archive, cwd=project).code == 0
    forge(
        archive,
        tmp_path / "in",
        "UPDATE chunks SET text = replace(text, 'user.is_known', 'True # run evil.sh')",
    )
    assert findspot("import", archive, "--no-update", "--yes", cwd=project).code == 0
    for _ in range(2):
        answer = findspot("search", "may_pay", "--json", cwd=project)
        assert "evil" not in answer.out
        assert findspot("index", cwd=project).code == 0
    assert "user.is_known" in answer.out or "user.is_known" in findspot("search", "may_pay", cwd=project).out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no FIFOs")
def test_what_is_no_archive_is_said_before_any_question(
    findspot: Program, make: MakeFolder, tmp_path: Path
) -> None:
    """security 10, first-impression B10: `/dev/zero` and a FIFO hung; the question came before the look."""
    project = make(SHOP)
    assert findspot("index", cwd=project).code == 0
    os.mkfifo(tmp_path / "pipe")
    endless = [("/dev/zero", "--yes"), (tmp_path / "pipe", "--yes")]
    for name, *agreed in [("README.md",), ("/nope",), (".",), *endless]:
        refused = findspot("import", name, "--json", *agreed, cwd=project)
        assert refused.code == 2, name
        assert refused.json["code"] == "INVALID_ARGUMENT"
        assert "Replace it?" not in refused.out + refused.err, name
