"""Configure the documentation site: `make docs` builds it with Sphinx into `build/docs`.

The source folder is the root of the repository, so links such as `../benchmarks/README.md` also work there.
`docs/README.md` is the front page. Its tables are the table of contents: a page that they do not list, a link
without a target and a missing picture are errors. The reference pages are generated first, from the program.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "reference"))

from reference_pages import write_reference  # noqa: E402

write_reference(ROOT / "docs")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_PAGE = re.compile(r"\]\(((?:\.\./)?[\w/.-]+)\.md\)")
_START_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/README.html">
<title>Findspot</title>
<a href="docs/README.html">Documentation of Findspot</a>
</html>
"""

project = "Findspot"
version = release = _PROJECT["version"]
copyright = "the authors of Findspot, Apache-2.0"  # noqa: A001

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/README"
include_patterns = ["*.md", "docs/*.md", "benchmarks/*.md", "training/*.md"]
exclude_patterns = ["README.md", ".*", "build", "dist", "src", "tests", "node_modules"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Findspot {version}"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the pages that each section of the front page lists to the navigation."""
    if docname != app.config.root_doc:
        return
    _, *parts = _SECTION.split(source[0])
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        pages = "\n".join(dict.fromkeys(_PAGE.findall(text)))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"


def add_start_page(app: Sphinx, error: Exception | None) -> None:
    """Lead visitors of the site's root to the front page."""
    if error is None:
        (Path(app.outdir) / "index.html").write_text(_START_PAGE, "utf-8")


def setup(app: Sphinx) -> None:
    """Register the two steps above."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_start_page)
