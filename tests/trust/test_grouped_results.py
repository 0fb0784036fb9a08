"""An assistant gets one result per file, or per definition, where it asks for that."""

from __future__ import annotations

import json

from program import Program
from trust.conftest import MakeFolder, Serve, run_git

SHOP = """\
def add_tax(price):
    return price * 1.2


def price_with_discount(price, discount):
    return price - discount


def colour():
    return "red"
"""
FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop.py": SHOP,
    "cart.py": "def cart_price(items):\n    return sum(item.price for item in items)\n",
    "notes.md": "# Prices\n\nA price is a number.\n",
}


def test_results_by_file_and_by_definition(make: MakeFolder, serve: Serve, findspot: Program) -> None:
    """One result per file, or per definition, whichever is asked for."""
    root = make(FILES)
    assert findspot("index", cwd=root).code == 0
    pipe = serve(root)
    asked = {"query": "price", "limit": 10}
    by_file = pipe.values("search_code", **asked, group_by="file")
    paths = [result["path"] for result in by_file["results"]]
    assert {"cart.py", "shop.py"} <= set(paths)
    assert by_file["totalResults"] == len(paths) == len(set(paths))
    by_symbol = pipe.values("search_code", **asked, group_by="symbol")
    found = {result["symbol"]: result["text"] for result in by_symbol["results"]}
    assert set(found) >= {"add_tax", "price_with_discount", "cart_price"}
    assert found["add_tax"] == "def add_tax(price):\n    return price * 1.2"
    assert "colour" not in found
    for tool, group_by in (("search_code", "folder"), ("search_docs", "file")):
        assert "group_by" in str(pipe.call(tool, query="price", group_by=group_by))
    assert pipe.call("search_code", query="price", group_by="folder")["isError"]
    listed = findspot("search", "price", "--group-by", "file", "--json", cwd=root)
    assert [result["path"] for result in json.loads(listed.out)["results"]] == paths


def test_a_report_comes_with_files_that_change_together(
    make: MakeFolder, serve: Serve, findspot: Program
) -> None:
    """In the text and in the structured content, and only for reports."""
    root = make(FILES | {"tax_rates.py": "RATES = [0]\n"}, git=True)
    for value in range(3):
        (root / "shop.py").write_text(f"{SHOP}\n\nLIMIT = {value}\n")
        (root / "tax_rates.py").write_text(f"RATES = [{value + 1}]\n")
        run_git(root, "commit", "-q", "-a", "-m", "both")
    assert findspot("index", cwd=root).code == 0
    report = "add_tax gives a wrong price\n" + "The price with discount in the shop is too high. " * 8
    pipe = serve(root)
    answer = pipe.call("search_code", query=report, limit=1)
    (suggested,) = answer["structuredContent"]["suggestions"]
    assert suggested == {"path": "tax_rates.py", "reason": "often changes with shop.py: 3 of 3 commits"}
    text = answer["content"][0]["text"]
    assert "\nSuggestion: tax_rates.py (often changes with shop.py: 3 of 3 commits)" in text
    short = pipe.call("search_code", query="add_tax", limit=1)
    assert "suggestions" not in short["structuredContent"]
    assert "Suggestion" in findspot("search", report, "-n", "1", cwd=root).out
