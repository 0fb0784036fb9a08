"""Research that is worth reading: what an assistant gets for a question in plain words."""

from __future__ import annotations

from program import Program
from trust.conftest import MakeFolder, Serve

FILES = {
    "src/shop/__init__.py": "from .app import App\n",
    "src/shop/app.py": (
        "from typing import TYPE_CHECKING\n\nfrom .orders import find_order\n\n"
        "if TYPE_CHECKING:\n    from .cli import main\n\n\n"
        "class App:\n"
        "    def __init__(self):\n        self.pages = {}\n\n"
        "    def serve(self, request):\n"
        '        """Answer one request."""\n'
        "        order = find_order(request)\n"
        "        return self.dispatch(order)\n\n"
        "    def dispatch(self, order):\n"
        '        """Call the page function of the request."""\n'
        "        if order not in self.pages:\n"
        "            raise LookupError(order)\n"
        "        return self.pages[order](order)\n"
    ),
    "src/shop/orders.py": (
        "import json\n\n\n"
        "def find_order(request):\n"
        '    """Read the order from the body of a request."""\n'
        "    body = request.read()\n"
        "    return json.loads(body)['order']\n"
    ),
    "src/shop/cli.py": (
        "def main():\n    from .app import App\n\n    app = App()\n    print('ready')\n    return app\n"
    ),
    "docs/conf.py": "import shop\n",
    "tests/test_app.py": (
        "from shop.app import App\n\n\n"
        "def test_a_request_reaches_the_page_function():\n    assert App().serve(None)\n"
    ),
}


def test_a_question_in_plain_words_is_answered_with_code(
    serve: Serve, findspot: Program, make: MakeFolder
) -> None:
    """protocol-and-research B12 and section 6: no answer, or half tests and no code."""
    project = make(FILES, git=True)
    assert findspot("index", cwd=project).code == 0
    pipe = serve(project)
    result = pipe.call("code_research", query="how does a request reach the page function")
    text = result["content"][0]["text"]
    assert "App.serve (src/shop/app.py:13) calls App.dispatch (:18)" in text
    assert "dynamic from here: `self.pages[order]` (src/shop/app.py:22)" in text
    assert "return self.pages[order](order)" in text
    assert "tests/" not in text
    assert "No chain" not in text
    values = result["structuredContent"]
    assert values["passages"][0]["symbol"] == "App.dispatch"
    assert values["chains"][0][-2:] == ["src/shop/app.py#App.serve", "src/shop/app.py#App.dispatch"]
    assert len(text) <= 4 * 1_200

    built = pipe.call("code_research", query="what are the main components", focus="architecture")
    values = built["structuredContent"]
    assert {"src/shop/app.py", "src/shop/orders.py", "src/shop/cli.py"} <= {n["id"] for n in values["nodes"]}
    assert "In a cycle" not in values["summary"]
    assert "docs/conf.py" not in values["summary"]
    assert "Imported inside functions only: src/shop/cli.py → src/shop/app.py." in values["summary"]
