"""Task context: which regions a signal leads to, for which reason, and within how many tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from contents import MakeProject, indexed_project
from findspot import Context, Project, Reason, Request
from findspot.core.errors import FileNotIndexedError, InvalidArgumentError
from findspot.search.token_budget import token_count
from findspot.serve.context_answers import context_object, context_text
from trust.conftest import run_git

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": (
        "def price_of(article):\n"
        '    """Return the price of an article, with its discount."""\n'
        "    base = article.amount * article.factor\n"
        "    return base - discount_of(article)\n\n\n"
        "def discount_of(article):\n"
        '    """Return what is taken off the price of an article."""\n'
        "    return article.amount * 0.1\n"
    ),
    "shop/carts.py": (
        "from shop.prices import price_of\n\n\n"
        "class Cart:\n"
        "    def total(self):\n"
        '        """Add up the articles of the cart."""\n'
        "        return sum(price_of(article) for article in self.articles)\n"
    ),
    "shop/orders.py": (
        "from shop.carts import Cart\n\n\n"
        "def submit(cart: Cart):\n"
        '    """Send the order of a cart to the warehouse."""\n'
        "    return cart.total()\n"
    ),
    "shop/quotes.py": (
        "def quote(article):\n    base = article.amount * article.factor\n    return f'{base} EUR'\n"
    ),
    "docs/changelog/1.2.md": "Rounding was mended in `price_of`, as `price_of` was wrong.\n",
    "docs/prices.md": "# Prices\n\nCall `price_of` for an article.\n",
    "tests/test_prices.py": (
        "from shop.prices import price_of\n\n\ndef test_price():\n    assert price_of(Article()) == 9\n"
    ),
}
TRACE = """Traceback (most recent call last):
  File "/app/tests/test_prices.py", line 5, in test_price
    assert price_of(Article()) == 9
  File "/app/shop/prices.py", line 4, in price_of
    return base - discount_of(article)
  File "/app/shop/prices.py", line 9, in discount_of
    return article.amount * 0.1
AttributeError: 'Article' object has no attribute 'amount'
"""
OUTPUT = """=================== FAILURES ===================
tests/test_prices.py:5: in test_price
    assert price_of(Article()) == 9
E   assert 8 == 9
FAILED tests/test_prices.py::test_price - assert 8 == 9
"""
DIFF = """diff --git a/shop/prices.py b/shop/prices.py
--- a/shop/prices.py
+++ b/shop/prices.py
@@ -3,1 +3,1 @@
-    base = article.amount * article.factor
+    base = article.amount * article.factor * article.tax
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("context"), FILES) as project:
        yield project


def named(context: Context, reason: Reason) -> list[str]:
    return [region.symbol for region in context.regions if region.reason is reason]


def test_words_lead_to_the_code_what_it_relies_on_and_who_relies_on_it(shop: Project) -> None:
    found = shop.context(Request("the discount of an article is wrong"))
    assert found.signal == "text"
    assert named(found, Reason.CHANGE)[0] == "discount_of"
    assert "test_price" in named(found, Reason.TEST)
    related = {(edge.source, edge.target) for edge in found.edges}
    assert ("shop/prices.py#price_of", "shop/prices.py#discount_of") in related


def test_nothing_fits_is_the_whole_answer(shop: Project) -> None:
    found = shop.context(Request("how does the physics engine resolve collisions between rigid bodies"))
    assert found.regions == ()
    assert context_text(found, 2_000) == "Nothing in this project fits."
    assert context_object(found, 2_000)["nothingFits"] is True


def test_a_line_leads_to_its_definition_and_its_surroundings(shop: Project) -> None:
    for request in (Request("shop/carts.py:7"), Request(path="shop/carts.py", line=7)):
        found = shop.context(request)
        assert found.signal == "place"
        assert named(found, Reason.CHANGE) == ["Cart.total"]
        assert "price_of" in named(found, Reason.RELIES)
        assert "submit" in named(found, Reason.RELIED)


def test_what_calls_the_same_function_does_not_rely_on_the_place(make_project: MakeProject) -> None:
    code = "LIMIT = 3\n\n\ndef low(x): ...\n\n\n"
    code += "\n\n".join(f"def {name}(x):\n    return {call}\n" for name, call in [
        ("mine", "low(x)"), ("other", "low(x)"), ("above", "mine(x)"), ("top", "above(LIMIT)"),
    ])  # fmt: skip
    project = make_project({"one.py": code})
    project.update()
    assert named(project.context(Request("one.py:8")), Reason.RELIED) == ["above", "top"]
    assert named(project.context(Request("one.py:1")), Reason.RELIED) == ["top"]


def test_a_trace_leads_to_the_innermost_frame_and_not_to_the_test(shop: Project) -> None:
    found = shop.context(Request(TRACE))
    assert found.signal == "trace"
    assert named(found, Reason.CHANGE)[:2] == ["discount_of", "price_of"]
    assert "test_price" in named(found, Reason.TEST)


def test_output_of_a_test_leads_to_the_code_that_it_calls(shop: Project) -> None:
    found = shop.context(Request(OUTPUT))
    assert named(found, Reason.CHANGE)[0] == "price_of"
    assert named(found, Reason.TEST)[0] == "test_price"


def test_a_diff_leads_to_callers_copies_documents_and_tests(shop: Project) -> None:
    for request in (Request(DIFF), Request(diff=DIFF)):
        found = shop.context(request)
        assert (found.signal, found.subject) == ("diff", "1 changed file: price_of.")
        assert named(found, Reason.RELIED) == ["Cart.total"]
        too = {(region.path, region.why) for region in found.regions if region.reason is Reason.TOO}
        assert ("shop/quotes.py", "has the lines that were changed") in too
        documents = {place for place in too if place[0].startswith("docs/")}
        assert documents == {("docs/prices.md", "names price_of")}  # release notes tell what was
        assert named(found, Reason.TEST) == ["test_price"]


def test_the_uncommitted_changes_leave_uses_behind(make_project: MakeProject) -> None:
    project = make_project(FILES)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Begin the shop"]):
        run_git(project.root, *arguments)
    source = project.root / "shop/prices.py"
    source.write_text(source.read_text().replace("def price_of", "def amount_of"))
    project.update()
    for request in (Request("worktree"), Request(diff="worktree"), Request("what breaks with my changes")):
        found = project.context(request)
        assert ("Cart.total", "still uses price_of") in {(r.symbol, r.why) for r in found.regions}
    assert "Begin the shop" in " ".join(r.why for r in found.regions if r.reason is Reason.LAST)


def test_a_remark_with_its_file(shop: Project) -> None:
    found = shop.context(Request("use the discount as elsewhere", path="shop/quotes.py", line=2))
    assert named(found, Reason.CHANGE) == ["quote"]
    assert "discount_of" in named(found, Reason.RELIES)


@pytest.mark.parametrize("most", [200, 400, 1_000])
def test_both_forms_stay_within_the_limit(shop: Project, most: int) -> None:
    for signal in ("the discount of an article is wrong", DIFF, TRACE):
        found = shop.context(Request(signal))
        assert token_count(context_text(found, most)) <= most
        assert token_count(json.dumps(context_object(found, most), ensure_ascii=False)) <= most


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({}, "Give a signal, a diff or a path."),
        ({"signal": "  "}, "Give a signal, a diff or a path."),
        ({"signal": "x", "line": 3}, "'line' is a line of 'path', from 1."),
        ({"diff": "no diff at all"}, "'diff' is neither a unified diff nor 'worktree' nor a revision."),
    ],
)
def test_what_cannot_be_asked(shop: Project, request_: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        shop.context(Request(**request_))  # type: ignore[arg-type]
    assert raised.value.user_message == text


def test_a_file_that_is_not_indexed(shop: Project) -> None:
    with pytest.raises(FileNotIndexedError):
        shop.context(Request(path="shop/nowhere.py"))


FOREIGN = """Traceback (most recent call last):
  File "/srv/space/main.py", line 5, in run
    return article.amount
  File "/srv/space/rocket.py", line 44, in launch
    raise ValueError("no price for this article")
ValueError: no price for this article
"""


def test_a_place_that_is_not_there_is_an_error(shop: Project) -> None:
    for signal in ("shop/nosuch.py:3", "shop/prices.py:99999", "nosuchrev..HEAD", "nosuchrev~1"):
        with pytest.raises(InvalidArgumentError):
            shop.context(Request(signal))


@pytest.mark.parametrize(
    "noise",
    ["1 passed in 0.1s", "===== 12 passed, 1 skipped in 3.20s =====", "aGVsbG8gd29ybGQgYXJ0aWNsZSBwcmljZQ==",
     "d41d8cd98f00b204e9800998ecf8427e", "12 34 :: --", FOREIGN],
)  # fmt: skip
def test_nothing_fits_what_says_nothing_about_the_project(shop: Project, noise: str) -> None:
    assert context_text(shop.context(Request(noise)), 2_000) == "Nothing in this project fits."


def test_words_around_a_foreign_trace_are_answered(shop: Project) -> None:
    found = shop.context(Request(f"The discount of an article is wrong\n\nI see this:\n\n{FOREIGN}"))
    assert "discount_of" in named(found, Reason.CHANGE)


def test_revisions_are_read_as_diffs(make_project: MakeProject) -> None:
    project = make_project(FILES)
    run_git(project.root, "init", "-q")
    for number, text in enumerate((FILES["shop/prices.py"], FILES["shop/prices.py"].replace("0.1", "0.2"))):
        (project.root / "shop/prices.py").write_text(text)
        run_git(project.root, "add", "-A")
        run_git(project.root, "commit", "-qm", f"Change prices {number}")
    project.update()
    for signal in ("HEAD~1", "HEAD~1..HEAD", "HEAD^...HEAD"):
        found = project.context(Request(signal))
        assert found.signal == "diff"
        assert found.subject == "1 changed file: discount_of."
        assert [region.why.split(" ", 2)[2] for region in found.regions if region.reason is Reason.LAST] == [
            "Change prices 0"
        ]
    unchanged = project.context(Request("worktree"))
    assert context_text(unchanged, 2_000) == "Nothing changed."


def test_a_few_commits_neither_make_a_file_change_too_nor_a_test_concern_it(
    make_project: MakeProject,
) -> None:
    many = "def use():\n    return 0\n\n\n" + "\n\n".join(f"def user_{n}():\n    use()\n" for n in range(90))
    project = make_project({"a.py": many, "b.py": "", "tests/test_far.py": "def test_far(): ...\n"})
    run_git(project.root, "init", "-q")
    for number in range(8):
        for path in ("a.py", "b.py") if number % 2 else ("tests/test_far.py",):
            with (project.root / path).open("a") as file:
                file.write(f"\n# {path} {number}\n")
        run_git(project.root, "add", "-A")
        run_git(project.root, "commit", "-qm", "Change")
    (project.root / "a.py").write_text(many.replace("0", "1", 1))
    project.update()
    found = project.context(Request("worktree"))
    assert named(found, Reason.TOO) == []
    assert "changed often" not in [region.why for region in found.regions]
    assert ' under "is relied on by"' in context_text(found, 500).splitlines()[-1]
