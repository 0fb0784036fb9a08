"""Open questions: how results hang together, where flows leave the code, and which code is shown."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from contents import MakeProject
from findspot import Project
from findspot.research.findings import Findings, Inquiry
from findspot.search.token_budget import token_count
from findspot.serve.research_answers import fitted_findings, fitted_report, report

WEB = {
    "web/server.py": (
        "from werkzeug.serving import run_simple\n\nfrom web.app import App\n\n\n"
        "def start(app: App):\n"
        '    """Start the development server."""\n'
        "    print('starting')\n"
        "    run_simple('localhost', 80, app.wsgi)\n\n\n"
        "def banner():\n    return 'server'\n"
    ),
    "web/app.py": (
        "class App:\n"
        "    def __init__(self):\n        self.views = {}\n\n"
        "    def wsgi(self, environ):\n"
        '        """Handle one request."""\n'
        "        context = self.open(environ)\n"
        "        return self.dispatch(context)\n\n"
        "    def open(self, environ):\n"
        "        return dict(environ)\n\n"
        "    def dispatch(self, context):\n"
        '        """Find the view function of the request and call it."""\n'
        "        endpoint = context['endpoint']\n"
        "        if endpoint not in self.views:\n"
        "            raise LookupError(endpoint)\n"
        "        return self.views[endpoint](context)\n\n"
        "    @property\n"
        "    def request(self):\n"
        "        return None\n"
    ),
    "web/signing.py": (
        "import hmac\n\n\n"
        "class Signer:\n"
        "    def sign(self, session):\n"
        '        """Sign the cookie of a session."""\n'
        "        return session + self.signature(session)\n\n"
        "    def verify(self, cookie):\n"
        '        """Verify the signed cookie of a session."""\n'
        "        session, mac = cookie[:-8], cookie[-8:]\n"
        "        if mac != self.signature(session):\n"
        "            raise ValueError(cookie)\n"
        "        return session\n\n"
        "    def signature(self, session):\n"
        "        return hmac.new(b'key', session, 'sha1').digest()[:8]\n"
    ),
    "tests/test_signing.py": (
        "from web.signing import Signer\n\n\n"
        "def test_session_cookies_are_signed_and_verified():\n"
        '    """Session cookies are signed and verified."""\n'
        "    assert Signer().verify(Signer().sign(b'session')) == b'session'\n"
    ),
}


@pytest.fixture
def web(make_project: MakeProject) -> Project:
    project = make_project(WEB)
    project.update()
    return project


def shown(found: Findings) -> list[str | None]:
    return [hit.symbol for hit in found.passages]


def named(found: Findings) -> list[list[str]]:
    return [[found.names[node] for node in chain] for chain in found.chains]


def test_the_code_that_carries_the_answer_comes_before_tests(web: Project) -> None:
    """protocol-and-research, section 6: cookies were half tests, and the line that verifies was missing."""
    found = web.research("how are session cookies signed and verified")
    assert shown(found)[0] == "Signer.verify"
    assert {"Signer.sign", "Signer.verify"} <= set(shown(found))
    assert not any(node.path.startswith("tests/") for node in found.nodes)
    text = fitted_report(found, 1_200)
    assert "if mac != self.signature(session):" in text
    assert "web/signing.py:9-14  Signer.verify" in text


def test_tests_are_shown_where_they_are_asked_for(web: Project) -> None:
    found = web.research("which test checks that cookies are verified with the signature")
    assert any(node.path == "tests/test_signing.py" for node in found.nodes)


def test_a_flow_ends_where_the_call_is_decided_at_run_time(web: Project) -> None:
    """protocol-and-research B12: it began at the property `request`, and found no chain of calls."""
    found = web.research("how does a request reach the view function")
    assert named(found)[0][-2:] == ["App.wsgi", "App.dispatch"]
    assert "dynamic from here: `self.views[endpoint]` (web/app.py:18)" in found.summary
    assert "No chain" not in report(found)
    assert shown(found)[0] == "App.dispatch"


def test_a_flow_that_leaves_the_project_names_what_it_calls(web: Project) -> None:
    """protocol-and-research B12: "reaches werkzeug server in 1 step" ended in a function of that name."""
    found = web.research("how does start reach the werkzeug server")
    assert "`werkzeug.serving.run_simple` (external, at web/server.py:9)" in found.summary
    assert "reaches" not in found.summary
    assert not any("banner" in chain for chain in named(found))


def test_a_flow_may_end_in_plain_words(web: Project) -> None:
    found = web.research("how does App.wsgi get from App.wsgi to the view")
    assert named(found)[0][0] == "App.wsgi"


def test_every_step_of_a_chain_is_an_edge(web: Project) -> None:
    found = web.research("how does a request reach the view function")
    edges = {(edge.source, edge.target) for edge in found.edges}
    assert found.chains
    assert all(step in edges for chain in found.chains for step in pairwise(chain))


@pytest.mark.parametrize("limit", [200, 400, 1_200])
def test_code_fits_the_budget(web: Project, limit: int) -> None:
    found = web.research("how are session cookies signed and verified")
    assert token_count(fitted_report(found, limit)) <= limit
    values = fitted_findings(found, limit)
    assert token_count(json.dumps(values, ensure_ascii=False)) <= limit
    if limit == 1_200:
        assert values["passages"][0]["symbol"] == "Signer.verify"


def test_nothing_is_made_up_for_an_empty_project(make_project: MakeProject) -> None:
    project = make_project({"a.txt": "nothing here\n"})
    project.update()
    found = project.research(Inquiry("how are cookies signed"))
    assert (found.chains, found.passages[1:]) == ((), ())


STEPS = "".join(f"    total += rates[{number}]\n" for number in range(60))

SHOP = {
    "shop/prices.py": (
        "def discount(order):\n    return order.discount\n\n\n"
        f"def checkout(order, rates):\n    total = 0\n{STEPS}"
        "    if order.coupon.expired:\n        raise ExpiredCoupon(order.coupon)\n"
        f"{STEPS}    return total\n"
    ),
}


def test_of_a_long_definition_the_lines_of_the_question_are_shown(make_project: MakeProject) -> None:
    """protocol-and-research, section 6: the answer named the place, and showed its first lines."""
    project = make_project(SHOP)
    project.update()
    found = project.research("what happens when the coupon of an order is expired")
    assert shown(found)[0] == "checkout"
    text = fitted_report(found, 400)
    assert "raise ExpiredCoupon(order.coupon)" in text
    assert "def checkout(order, rates):" in text
    assert "rates[59]" in text
    assert token_count(text) <= 400
