"""The library's public surface: what `findspot` exports, its reference, and who imports from elsewhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from library_reference_page import library_reference_page, undocumented, unlisted
from pages import ROOT, blocks

import findspot

EXTENSIONS = {"catalogues.md"}
"""Pages that show how to extend Findspot, with what is inside."""


def test_the_reference_is_current() -> None:
    """Regenerate it with `python tests/docs/library_reference_page.py > docs/library-reference.md`."""
    assert (ROOT / "docs" / "library-reference.md").read_text("utf-8") == library_reference_page()


def test_every_public_name_is_explained() -> None:
    assert unlisted() == set()
    assert undocumented() == []


def test_type_checkers_and_programs_see_the_same_names() -> None:
    """code-review MISSING: `findspot` exported five names, and its own page needed others."""
    tree = ast.parse(Path(findspot.__file__).read_text("utf-8"))
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    typed = {alias.name: node.module for node in imports for alias in node.names}
    assert typed == findspot._MODULE_OF
    assert {*typed, "__version__"} == set(findspot.__all__)
    assert all(getattr(findspot, name) is not None for name in findspot.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = findspot.Nothing


def test_importing_it_loads_nothing_else() -> None:
    script = "import sys, findspot; print(*(name for name in sys.modules if name.startswith('findspot.')))"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_pages_and_examples_import_from_the_package_only() -> None:
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in EXTENSIONS]
    sources = {page.name: "\n".join(blocks(page, "python")) for page in pages}
    sources |= {path.name: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    inner = re.compile(r"^\s*(?:from|import) findspot\.", re.MULTILINE)
    assert [name for name, source in sources.items() if inner.search(source)] == []
