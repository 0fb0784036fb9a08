"""Every view, in every state, at four widths, light and dark, passes axe's checks for accessibility."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Visit
from .served import Home, Served, being_indexed, make_project, serving

pytestmark = pytest.mark.programs

EVERY_RULE = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
CHECKS = {
    "light": {"runOnly": EVERY_RULE},
    "dark": {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}},
    "layout": {"runOnly": EVERY_RULE, "rules": {"color-contrast": {"enabled": False}}},
}
"""In the dark only what depends on colours, since the rest is the same page; and between the smallest and the
largest width all but the contrast, which takes longest and no width changes."""

Looks = dict[tuple[int, int], tuple[str, ...]]

EVERY_LOOK: Looks = {
    (390, 844): ("light", "dark"),
    (768, 1024): ("layout",),
    (1024, 768): ("layout",),
    (1440, 900): ("light", "dark"),
}
"""A phone, a tablet upright and lying, and a laptop."""
SOME_LOOKS: Looks = {(390, 844): ("light",), (1280, 800): ("dark",)}
"""For states, which differ from the views by a few words and colours."""


def violations(window: Page, axe: str, check: str) -> list[str]:
    """What axe finds wrong, each with the elements it means."""
    window.emulate_media(color_scheme="dark" if check == "dark" else "light")
    if not window.evaluate("'axe' in window"):
        window.evaluate(axe)
    options = CHECKS[check] | {"resultTypes": ["violations"]}
    found = window.evaluate("options => axe.run(document, options)", options)
    assert found["testEngine"]["name"] == "axe-core"
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def hidden_controls(window: Page) -> list[str]:
    """Controls of the page's head of which something else covers a part."""
    if window.locator("dialog[open]").count():
        return []
    covered = window.evaluate(
        """() => [...document.querySelectorAll('.top a, .top button, .top select')]
          .filter(one => one.getClientRects().length)
          .filter(one => {
            const box = one.getBoundingClientRect();
            return [0.1, 0.5, 0.9].some(share => {
              const x = box.x + box.width * share;
              return !one.contains(document.elementFromPoint(x, box.y + box.height / 2));
            });
          }).map(one => one.outerHTML.slice(0, 80))"""
    )
    assert isinstance(covered, list)
    return covered


def search(window: Page, query: str) -> None:
    window.locator("[data-search]").fill(query)
    expect(window.locator("#results")).to_have_attribute("data-query", query)


def with_results(window: Page) -> None:
    search(window, "price of a cart or basket")  # one of the words stands in a comment
    expect(window.locator(".pane .code .row").nth(3)).to_be_attached()


def with_a_file_open(window: Page) -> None:
    with_results(window)
    window.keyboard.press("Enter")
    expect(window.get_by_role("dialog")).to_be_visible()


def with_a_side(label: str, inside: str) -> Callable[[Page], None]:
    def prepare(window: Page) -> None:
        search(window, "price_of")
        window.keyboard.press("Enter")
        window.get_by_role("dialog").get_by_role("tab", name=label).click()
        expect(window.get_by_role("dialog").get_by_role("tabpanel")).to_contain_text(inside)

    return prepare


def without_results(window: Page) -> None:
    search(window, "price")
    window.get_by_label("Path glob").fill("nowhere/**")
    expect(window.get_by_role("heading", name="Nothing found")).to_be_visible()


def with_docs(window: Page) -> None:
    window.get_by_role("button", name="Docs", exact=True).click()
    search(window, "send an article back")
    expect(window.locator(".hit").first.locator(".path")).to_contain_text("returns.md")
    expect(window.locator(".pane .code")).to_be_visible()


def with_keys(window: Page) -> None:
    window.get_by_label("Keyboard shortcuts").click()
    expect(window.get_by_role("dialog")).to_be_visible()


def with_a_question(window: Page) -> None:
    window.get_by_role("button", name="Delete", exact=True).click()
    expect(window.get_by_role("dialog")).to_be_visible()


def with_skips(window: Page) -> None:
    window.get_by_role("button", name="denied").click()
    expect(window.get_by_role("region", name="Files left out")).to_be_visible()
    expect(window.locator(".fine")).to_be_visible()


def with_relations(window: Page) -> None:
    expect(window.locator(".legend")).to_be_visible()
    window.locator("[data-path='src/shop/cart.py']").focus()
    expect(window.locator(".cell.imported")).to_be_visible()


def with_a_package(window: Page) -> None:
    expect(window.get_by_role("row", name="pypi/absent")).to_contain_text("not installed")
    window.get_by_role("button", name="pypi/teatime").click()
    window.keyboard.type("boil the water")
    window.keyboard.press("Enter")
    expect(window.locator(".hit").first).to_contain_text("kettle.py")
    expect(window.get_by_role("row", name="pypi/teatime")).to_contain_text("indexed")
    window.keyboard.press("Enter")
    expect(window.get_by_role("dialog")).to_contain_text("def heat")
    window.keyboard.press("Escape")


def ready(selector: str) -> Callable[[Page], None]:
    return lambda window: expect(window.locator(selector).first).to_be_visible()


LOOKS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "nothing asked": ("search", ready(".example")),
    "results": ("search", with_results),
    "file": ("search", with_a_file_open),
    "callers": ("search", with_a_side("Callers", "Cart.total")),
    "tests": ("search", with_a_side("Tests", "test_cart.py")),
    "impact": ("search", with_a_side("Impact", "Directly")),
    "history": ("search", with_a_side("History", "There is no commit here")),
    "no results": ("search", without_results),
    "docs": ("search", with_docs),
    "keys": ("search", with_keys),
    "projects": ("projects", ready(".rows li")),
    "project": ("project", with_skips),
    "question": ("project", with_a_question),
    "map": ("map", ready(".legend")),
    "imports": ("map", with_relations),
    "dependencies": ("dependencies", with_a_package),
    "activity": ("activity", ready(".asked-item")),
    "all projects": ("search?project=all", ready(".start")),
}


@pytest.fixture
def states(visit: Visit, axe: str) -> Callable[..., Page]:
    """Opens an address, waits for what tells its state, and checks it at these sizes and in these colours."""

    def check(at: str | Page, *selectors: str, looks: Looks = SOME_LOOKS) -> Page:
        window = visit(at, expect_errors=True, bypass_csp=True) if isinstance(at, str) else at
        for selector in selectors:
            expect(window.locator(selector).first).to_be_visible()
        for (width, height), checks in looks.items():
            window.set_viewport_size({"width": width, "height": height})
            assert window.evaluate("document.documentElement.scrollWidth") <= width, (selectors, width)
            assert hidden_controls(window) == [], (selectors, width)
            for kind in checks:
                assert violations(window, axe, kind) == [], (selectors, width, kind)
        window.set_viewport_size({"width": 1280, "height": 800})
        return window

    return check


@pytest.mark.parametrize("look", LOOKS)
def test_pages(visit: Visit, page: Served, states: Callable[..., Page], look: str) -> None:
    section, prepare = LOOKS[look]
    window = visit(f"{page.address}#/{section}", bypass_csp=True)
    prepare(window)
    states(window, "h1", looks=EVERY_LOOK)


def test_nothing_indexed(states: Callable[..., Page], tmp_path: Path) -> None:
    home, root = Home(tmp_path), make_project(tmp_path / "shop")
    (tmp_path / "empty").mkdir()
    with serving(home, tmp_path / "empty") as served:
        for section in ("map", "dependencies", "activity"):
            states(f"{served.address}#/{section}", ".state")
        for section in ("search", "projects"):
            states(f"{served.address}#/{section}", '.state h2:text("Nothing is indexed yet")')
    with serving(home, root) as served:
        for section in ("search", "project"):
            states(f"{served.address}#/{section}", ".state .primary")


def test_indexing_stopped_and_damaged(
    states: Callable[..., Page], indexed: tuple[Home, Path], tmp_path: Path
) -> None:
    home, root = indexed[0].copied(tmp_path), indexed[1]
    (folder,) = (home.folder / "home" / "indexes").iterdir()
    with serving(home, root) as served:
        with being_indexed(folder):
            for section in ("search", "projects", "project"):
                window = states(f"{served.address}#/{section}", "progress")
        expect(window.locator(".pill").first).to_have_text("Ready")
        window = states(served.address, ':text("all on this machine")')
        served.stop()
        window.locator("[data-search]").fill("x")
        states(window, "#offline")
        expect(window.locator("#offline")).to_contain_text("Start it again with findspot ui")
        window.goto(f"{window.url.partition('#')[0]}#/activity")
        expect(window.get_by_role("link", name="Activity")).to_have_attribute("aria-current", "page")
        expect(window.get_by_text("Findspot does not answer")).to_have_count(1)
    (folder / "index.sqlite").write_bytes(b"nonsense" * 1000)
    with serving(home, root) as served:
        states(served.address, ':text("shop has a damaged index")')
        window = states(f"{served.address}#/project", ".state.error")
        expect(window.get_by_role("alert").last).to_contain_text("The index cannot be read.")
