"""Impact names what ships apart from what only tries it, and imports of Python's own modules are no doubt."""

from __future__ import annotations

from contents import MakeProject
from findspot.research.findings import Aim, Inquiry

FILES = {
    "shop/secrets.py": "def pay():\n    return 1\n",
    "shop/cart.py": "from shop.secrets import pay\n\n\ndef checkout():\n    return pay()\n",
    "shop/token.py": "import secrets\n\n\ndef token():\n    return secrets.token_hex()\n",
    "benchmarks/speed.py": "from shop.secrets import pay\n\n\ndef measure():\n    return pay()\n",
    "tests/test_pay.py": "from shop.secrets import pay\n\n\ndef test_pay():\n    assert pay()\n",
}


def test_benchmarks_are_no_production_code(make_project: MakeProject) -> None:
    project = make_project(FILES)
    project.update()
    summary = project.research(Inquiry(relation=Aim.IMPACT, symbol="pay")).summary
    assert "2 direct dependents in production code (shop/cart.py, checkout" in summary
    assert "2 in tests. 2 in examples and benchmarks." in summary


def test_an_import_of_the_standard_library_may_not_be_one_of_the_project(make_project: MakeProject) -> None:
    project = make_project(FILES)
    project.update()
    found = project.research(Inquiry(relation=Aim.IMPORTERS, symbol="shop/secrets.py"))
    assert {place.path for place in found.possible} == set()
    assert "shop/cart.py" in {edge.path for edge in found.edges}
