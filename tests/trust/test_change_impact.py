"""What a change breaks, and which tests notice it: `findspot impact`, `findspot tests`, `code_research`."""

from __future__ import annotations

from program import Program

from .conftest import MakeFolder, Serve

FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop/prices.py": (
        "def _rounded(value):\n    return round(value, 2)\n\n\n"
        "def total(items):\n    return _rounded(sum(items))\n\n\n"
        "def discount(items):\n    return total(items) / 2\n"
    ),
    "shop/cart.py": (
        "from shop.prices import discount, total\n\n\n"
        "def checkout(items):\n    return total(items)\n\n\n"
        "def sale(items):\n    return discount(items)\n"
    ),
    "shop/mail.py": "def send(text):\n    return text\n",
    "tests/test_cart.py": (
        "from shop.cart import checkout\n\n\ndef test_checkout():\n    assert checkout([1]) == 1\n"
    ),
    "tests/test_mail.py": "from shop.mail import send\n\n\ndef test_send():\n    assert send('x')\n",
}
RENAMED = FILES["shop/prices.py"].replace("discount", "half_price")


def test_a_rename_leaves_uses_behind_and_tests_are_ranked(
    make: MakeFolder, findspot: Program, serve: Serve
) -> None:
    """search-mcp B7: nothing said what a change breaks, nor which tests to run."""
    root = make(FILES, git=True)
    (root / "shop/prices.py").write_text(RENAMED.replace("round(value, 2)", "round(value, 3)"))
    findspot.make_index(root)

    impact = findspot("impact", "--json", cwd=root).json
    hops = {node["id"]: node["hop"] for node in impact["nodes"]}
    assert hops["shop/prices.py#_rounded"] == 0
    assert hops["shop/prices.py#total"] == 1
    assert hops["shop/cart.py#checkout"] == 2
    left = [(place["path"], place["line"]) for place in impact["possible"] if "leftover" in place["reason"]]
    assert left == [("shop/cart.py", 1), ("shop/cart.py", 9)]
    assert "shop/mail.py#send" not in hops

    text = findspot("impact", "total", cwd=root).out
    assert text.index("shop/cart.py") < text.index("tests/test_cart.py")
    assert "checkout" in text

    tests = findspot("tests", "--json", cwd=root).json["nodes"]
    assert tests[0]["path"] == "tests/test_cart.py"
    assert "test_checkout" in [node["name"] for node in tests]
    assert tests[0]["why"]
    shown = findspot("tests", "send", cwd=root).out
    assert shown.index("tests/test_mail.py") < shown.index("uses send")

    pipe = serve(root)
    answer = pipe.call("code_research", relation="tests", since="HEAD")
    assert "tests/test_cart.py" in answer["content"][0]["text"]
    assert "leftover" in str(pipe.values("code_research", relation="impact")["possible"])
