"""The documentation site builds without a warning: links lead somewhere, and every page is listed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pages import ROOT


def test_the_site_builds(tmp_path: Path) -> None:
    """first-impression M6: the pages are a site with a search."""
    options = ["-q", "-W", "--keep-going", "-c", str(ROOT / "docs"), "-d", str(tmp_path / "trees")]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "searchindex.js").is_file()
    front = (tmp_path / "site" / "docs" / "README.html").read_text("utf-8")
    for section in ("Use it", "Run it for a team", "Work on it"):
        assert f'<span class="caption-text">{section}</span>' in front
    assert "docs/README.html" in (tmp_path / "site" / "index.html").read_text("utf-8")
