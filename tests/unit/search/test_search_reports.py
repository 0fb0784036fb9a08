"""A bug report is ranked by a fitted model: files by all that speaks for them, then passages inside them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import MakeProject, indexed_project
from findspot import Project, Query
from findspot.core.model import GroupBy, IncludeTests, Mode, Strength
from findspot.core.progress import CancelToken
from findspot.search.report_evidence import Signals
from findspot.search.report_ranking import LinearModel, load_model
from repositories import Repository

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": '''"""The cart of a customer."""


class Cart:
    """Holds what a customer wants to buy."""

    def __init__(self) -> None:
        self.items = []

    def add_item(self, item, count=1):
        """Put an item into the cart."""
        self.items.append((item, count))

    def total_price(self, currency):
        """Return the sum of all items in a currency."""
        return sum(item.price * count for item, count in self.items)
''',
    "shop/vouchers.py": '''"""Vouchers and discounts."""


def apply_voucher(cart, code):
    """Reduce the price of a cart by a voucher."""
    return cart.total_price("EUR") * 0.9


def parse_voucher_code(code):
    """Split a voucher code into its campaign and its number."""
    campaign, number = code.split("-")
    return campaign, int(number)
''',
    "shop/mail.py": '''def send_receipt(customer, order):
    """Send the receipt of an order by mail."""
    return customer.address, order
''',
    "tests/test_vouchers.py": '''from shop.vouchers import apply_voucher, parse_voucher_code


def test_voucher_code_without_number_fails():
    """A voucher code that has no number raises a ValueError when it is applied to a cart."""
    assert parse_voucher_code("SPRING-12") == ("SPRING", 12)


def test_voucher_reduces_the_price_of_the_cart():
    assert apply_voucher
''',
    "locale/de/shop.po": 'msgid "voucher code"\nmsgstr "Gutscheincode"\n',
}

REPORT = """Voucher codes without a number crash the checkout

### Describe the bug
When a customer enters a voucher code that holds no number, the whole checkout fails. I would expect a message
that the voucher is not valid. It worked with the previous version, where unknown codes were ignored.

### Steps to reproduce
1. Put anything into the cart
2. Enter `SPRING` as a voucher and press enter

```
Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/shop/checkout_page.py", line 88, in post
  File "/usr/lib/python3.11/site-packages/shop/vouchers.py", line 11, in parse_voucher_code
ValueError: not enough values to unpack (expected 2, got 1)
```

### Environment
- OS: Ubuntu 22.04
- Python: 3.11.4
- [x] I searched the existing issues for mail and receipts
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("reports"), FILES) as project:
        yield project


def test_the_file_of_the_trace_comes_first(project: Project) -> None:
    results = project.search(Query(REPORT))
    assert results.hits[0].path == "shop/vouchers.py"
    assert "parse_voucher_code" in results.hits[0].text


def test_several_files_come_before_the_test(project: Project) -> None:
    paths = list(dict.fromkeys(hit.path for hit in project.search(Query(REPORT)).hits))
    assert paths.index("shop/cart.py") < paths.index("tests/test_vouchers.py")


def test_scores_are_chances_that_fall_with_the_rank(project: Project) -> None:
    results = project.search(Query(REPORT))
    scores = [hit.score for hit in results.hits]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[0] <= 1
    by_file = project.search(Query(REPORT, limit=50, group_by=GroupBy.FILE)).hits
    assert sum(hit.score for hit in by_file) <= 1.01
    assert not results.nothing_fits


def test_an_explanation_names_what_each_signal_added(project: Project) -> None:
    first = project.search(Query(REPORT, explain=True)).hits[0]
    assert first.why is not None
    assert first.why["file.traced"] > 0
    assert first.why["passage.traced"] > 0
    assert any(name.startswith("file.words_") for name in first.why)


def test_filters_hold(project: Project) -> None:
    results = project.search(Query(REPORT, under="tests"))
    assert {hit.path for hit in results.hits} == {"tests/test_vouchers.py"}
    assert not project.search(Query(REPORT, under="nowhere")).hits


@pytest.mark.parametrize("mode", [Mode.KEYWORD, Mode.SEMANTIC])
def test_other_modes_are_ranked_by_rules(project: Project, mode: Mode) -> None:
    hits = project.search(Query(REPORT, mode=mode, explain=True)).hits
    assert hits
    assert all(hit.why and not any(name.startswith("file.") for name in hit.why) for hit in hits)


STRUDEL = """Apple strudel the way my grandmother made it. Peel two kilograms of apples and cut them into
thin slices. Mix them with sugar, cinnamon, raisins and a little rum, and let them rest for
half an hour. Roll the dough out on a floured cloth until you can read a newspaper through it.
Brush it with melted butter, spread breadcrumbs over two thirds of it, then the apples. Roll it
up with the help of the cloth, put it on a tray and bake it for forty minutes."""


@pytest.mark.parametrize("under", [None, "shop"])
def test_a_long_text_about_something_else_fits_nothing(project: Project, under: str | None) -> None:
    results = project.search(Query(STRUDEL, under=under))
    assert results.nothing_fits
    assert all(hit.strength is Strength.WEAK for hit in results.hits)


def test_tests_count_like_other_code_where_they_are_wanted(project: Project) -> None:
    def rank(wanted: IncludeTests) -> int:
        hits = project.search(Query(REPORT, include_tests=wanted, group_by=GroupBy.FILE)).hits
        return [hit.path for hit in hits].index("tests/test_vouchers.py")

    assert rank(IncludeTests.YES) < rank(IncludeTests.AUTO)


def test_the_role_of_a_file_that_is_named_does_not_count(project: Project) -> None:
    named = REPORT.replace("It worked", "The message is in locale/de/shop.po already. It worked")
    first = project.search(Query(named, group_by=GroupBy.FILE)).hits[:2]
    assert "locale/de/shop.po" in [hit.path for hit in first]


def test_every_file_has_a_result_however_long_another_one_is(make_project: MakeProject) -> None:
    long = "\n\n".join(
        f'def parse_voucher_{n}(code):\n    """Parse a voucher code without a number."""\n'
        + "\n".join(f"    step_{n}_{m} = code.split('-')[{m}]" for m in range(12))
        for n in range(120)
    )
    project = make_project(FILES | {"shop/long_vouchers.py": long})
    project.update()
    hits = project.search(Query(REPORT, limit=10)).hits
    assert len({hit.path for hit in hits}) >= 3
    files = project.search(Query(REPORT, limit=20, group_by=GroupBy.FILE)).hits
    assert {"shop/cart.py", "shop/mail.py", "shop/long_vouchers.py"} <= {hit.path for hit in files}


def test_asking_for_more_never_changes_the_first(project: Project) -> None:
    few = project.search(Query(REPORT, limit=2)).hits
    many = project.search(Query(REPORT, limit=20)).hits
    assert [hit.path for hit in few] == [hit.path for hit in many[:2]]


def test_every_weight_belongs_to_a_signal(project: Project) -> None:
    """A signal that was renamed would lose its weight without a word."""
    from findspot.search.query_filters import allowed_files
    from findspot.search.report_evidence import gather, passage_signals

    with project.reader() as reader:
        files = allowed_files(reader.snapshot, Query(REPORT))
        evidence = gather(reader.snapshot, None, REPORT, files)
        _, passages = passage_signals(reader.snapshot, evidence, evidence.files)
    model = load_model()
    assert set(model.files.weights) == set(evidence.signals.columns)
    assert set(model.chunks.weights) == set(passages.columns)


def test_a_commit_whose_message_says_the_same_speaks_for_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    repository = Repository(tmp_path / "shop")
    repository.commit("Begin", north="def to_north(job):\n    return job\n")
    repository.commit(
        "Do not crash on voucher codes without a number", south="def to_south(job):\n    pass\n"
    )
    repository.commit("Speak of other things", north="def to_north(job):\n    pass\n")
    with contextlib.closing(Project(repository.root)) as project:
        project.update()
        project.history.wait(CancelToken(), lambda _: None)
        hits = project.search(Query(REPORT, explain=True)).hits
    said = {hit.path: (hit.why or {}).get("file.commit_file", 0.0) for hit in hits}
    assert hits[0].path == "south.py"
    assert said["south.py"] > said["north.py"]


def test_signals_without_a_weight_count_nothing() -> None:
    model = LinearModel({"words": 2.0})
    signals = Signals.of({"words": [1.0, 0.5], "unknown": [5.0, 9.0]}, 2)
    assert model.scores(signals).tolist() == [2.0, 1.0]
    assert model.contributions(signals, 0, "file.") == {"file.words": 2.0}
