"""The page in a real browser: searching, looking, and what it shows when there is nothing to show."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from .conftest import Visit
from .served import FILES, HOSTILE, Home, Served, make_project, serving

pytestmark = pytest.mark.programs


def answered(window: Page, query: str) -> None:
    expect(window.locator("#results")).to_have_attribute("data-query", query)


def search(window: Page, query: str) -> None:
    expect(window.locator("[data-search]")).to_be_focused()
    window.keyboard.type(query)
    answered(window, query)


def chosen(window: Page) -> str:
    return window.locator('#results [aria-selected="true"] .path').text_content() or ""


def box_of(part: Locator) -> FloatRect:
    box = part.bounding_box()
    assert box is not None
    return box


def with_garden(home: Home, folder: Path, name: str) -> Home:
    """Return a copy of a home that has a second project, a garden."""
    copied, garden = home.copied(folder), folder / name
    garden.mkdir()
    (garden / "beds.py").write_text("def discounted_flowers():\n    return 'tulip'\n")
    copied.program(garden).make_index(garden)
    return copied


class TestSearch:
    def test_results_come_while_typing(self, visit: Visit) -> None:
        window = visit()
        search(window, "price")
        window.keyboard.type(" after a discount")
        answered(window, "price after a discount")
        first = window.locator(".hit").first
        expect(first.locator(".path")).to_contain_text("prices.py")
        expect(first.locator("mark").first).to_have_text(re.compile("discount|price", re.I))
        expect(first.locator(".tk-keyword", has_text="return").first).to_be_visible()

    def test_the_chosen_result_has_its_lines_reasons_and_links(
        self, visit: Visit, indexed: tuple[Home, Path]
    ) -> None:
        window = visit()
        search(window, "price after a discount")
        code = window.get_by_role("region", name=re.compile("^Lines .* of .*prices.py"))
        expect(code.locator("[data-line='1']")).to_contain_text("What articles cost")
        expect(code.locator(".within").first).to_be_visible()
        bars = window.get_by_label("Why this rank")
        expect(bars).to_contain_text("Meaning")
        expect(bars).to_contain_text("Its words")
        pane = window.locator(".pane")
        place = re.compile(rf"^vscode://file{indexed[1]}/src/shop/prices\.py:\d+$")
        expect(pane.get_by_role("link", name="Open in VS Code")).to_have_attribute("href", place)
        expect(pane.locator(".crumb")).to_contain_text("prices.py")
        window.get_by_role("button", name="More like this").click()
        expect(window.locator(".summary")).to_contain_text("Like src/shop/prices.py")

    def test_filters_narrow_and_are_kept_in_the_address(self, visit: Visit) -> None:
        window = visit()
        search(window, "total")
        window.get_by_label("Language", exact=True).select_option("javascript")
        expect(window.locator(".hit")).to_have_count(1)
        expect(window.locator(".hit .path")).to_have_text("web/basket.js:1–4")
        expect(window).to_have_url(re.compile("q=total.*languages=javascript"))
        window.reload()
        answered(window, "total")
        expect(window.locator(".hit")).to_have_count(1)
        window.get_by_label("Path glob").fill("nowhere/**")
        expect(window.get_by_role("heading", name="Nothing found")).to_be_visible()
        window.get_by_role("button", name="Clear filters").click()
        expect(window.locator(".hit").nth(2)).to_be_visible()

    def test_a_wrong_pattern_says_so(self, visit: Visit) -> None:
        window = visit(expect_errors=True)
        window.get_by_label("Match by").select_option("regex")
        window.get_by_role("combobox", name="Search").fill("tot(al")
        state = window.locator(".state")
        expect(state).to_contain_text("The search pattern 'tot(al' is invalid")
        expect(state).to_contain_text("Wrong at character 4: unclosed group.")
        expect(state).not_to_contain_text("rg:")


class TestHistory:
    """first-impression B8: the address names what is shown, and Back goes to what was shown before."""

    def test_back_and_forward_through_questions_and_files(self, visit: Visit, page: Served) -> None:
        window = visit()
        field, viewer = window.locator("[data-search]"), window.get_by_role("dialog")
        search(window, "price")
        window.keyboard.press("ArrowDown")
        expect(window).to_have_url(re.compile(r"project=[0-9a-f]{32}.*q=price.*result=\w"))
        second = chosen(window)
        field.fill("total of a cart")
        answered(window, "total of a cart")
        expect(window).to_have_url(re.compile("q=total"))
        window.keyboard.press("Enter")
        expect(viewer).to_be_visible()
        expect(window).to_have_url(re.compile(r"open=src%2Fshop%2F\w+\.py%3A\d+"))
        window.go_back()
        expect(viewer).to_be_hidden()
        expect(field).to_have_value("total of a cart")
        window.go_back()
        answered(window, "price")
        assert chosen(window) == second
        window.go_forward()
        answered(window, "total of a cart")
        window.go_forward()
        expect(viewer).to_be_visible()

    def test_a_file_has_an_address_with_its_line(self, visit: Visit, page: Served) -> None:
        window = visit()
        search(window, "price after a discount")
        window.keyboard.press("Enter")
        viewer = window.get_by_role("dialog")
        line = viewer.locator(".row[data-line='3']")
        line.click(position={"x": 8, "y": 8})
        expect(viewer.locator(".within")).to_have_count(1)
        expect(window).to_have_url(re.compile("open=src%2Fshop%2Fprices.py%3A3"))
        again = visit(page.address)
        expect(again.locator(':text("all on this machine")').first).to_be_visible()
        again.goto(window.url)
        expect(again.get_by_role("dialog").locator(".within")).to_have_attribute("data-line", "3")
        again.keyboard.press("Escape")
        expect(again).to_have_url(re.compile("q=price\\+after\\+a\\+discount$"))
        answered(again, "price after a discount")

    def test_on_a_phone_a_tap_opens_the_file(self, visit: Visit) -> None:
        """first-impression B7."""
        window = visit()
        window.set_viewport_size({"width": 390, "height": 844})
        search(window, "price after a discount")
        expect(window.locator(".pane")).to_be_hidden()
        window.locator(".hit .path").first.click()
        expect(window.get_by_role("dialog")).to_contain_text("def discounted")
        window.go_back()
        expect(window.locator(".hit").first).to_be_visible()
        window.get_by_role("button", name="Filters").click()
        expect(window.get_by_label("Path glob")).to_be_visible()


class TestKeyboard:
    def test_a_walk_without_a_mouse(self, visit: Visit) -> None:
        window = visit()
        search(window, "price")
        first = chosen(window)
        window.keyboard.press("ArrowDown")
        assert chosen(window) != first
        expect(window.locator("[data-search]")).to_have_attribute("aria-activedescendant", "hit-1")
        window.keyboard.press("ArrowUp")
        assert chosen(window) == first
        window.keyboard.press("Enter")
        viewer = window.get_by_role("dialog")
        expect(viewer.get_by_role("region")).to_be_focused()
        expect(viewer.locator(".within").first).to_be_in_viewport()
        window.keyboard.press("Escape")
        expect(viewer).to_be_hidden()
        expect(window.locator("[data-search]")).to_be_focused()
        window.keyboard.press("Alt+2")
        expect(window.get_by_role("button", name="Docs", exact=True)).to_have_attribute(
            "aria-pressed", "true"
        )
        window.keyboard.press("Escape")
        expect(window.locator("[data-search]")).to_have_value("")

    def test_everything_is_reached_with_the_tab_key(self, visit: Visit) -> None:
        window = visit()
        search(window, "price after a discount")
        expect(window.locator(".pane .code [data-line='1']")).to_be_attached()
        seen = []
        for _ in range(30):
            window.keyboard.press("Tab")
            label = window.evaluate(
                "(e => e.getAttribute('aria-label') || e.innerText || e.id)(document.activeElement)"
            )
            seen.append(label)
        for wanted in ("Code", "Docs", "Language", "Path glob", "Match by", "Tests", "Projects"):
            assert wanted in seen, (wanted, seen)
        assert any(label.startswith("Open file") for label in seen)
        assert any(label.startswith("Lines") for label in seen)
        assert any(label.startswith("Theme") for label in seen)

    def test_going_places(self, visit: Visit) -> None:
        window = visit()
        expect(window.locator("[data-search]")).to_be_focused()
        window.locator("main").focus()
        window.keyboard.press("?")
        expect(window.get_by_role("dialog")).to_contain_text("Choose a result")
        window.keyboard.press("Escape")
        window.keyboard.press("g")
        window.keyboard.press("p")
        card = window.get_by_role("link", name="shop")
        expect(card).to_be_visible()
        card.focus()
        window.keyboard.press("Enter")
        expect(window.get_by_role("heading", name="shop", level=1)).to_be_visible()
        window.keyboard.press("/")
        expect(window.locator("[data-search]")).to_be_focused()


class TestSafety:
    def test_hostile_text_is_text(self, visit: Visit) -> None:
        window = visit()
        search(window, "hostile_banner")
        window.keyboard.press("Enter")
        shown = window.get_by_role("dialog").locator(".code")
        expect(shown).to_contain_text("<script>window.pwned = 1</script>")
        expect(shown).to_contain_text("</code></pre><h1>broken out</h1>")
        expect(shown.locator(".spelled")).to_have_text(["U+202E", "U+202C", "U+200B"])
        assert window.evaluate("window.pwned") is None
        assert window.locator("img, h1:has-text('broken')").count() == 0
        assert "\u202e" not in window.locator("main").inner_text()
        assert "\u202e" in HOSTILE

    def test_markup_cannot_be_made_of_text(self, visit: Visit) -> None:
        window = visit(expect_errors=True)
        refused = window.evaluate(
            "() => { try { document.body.innerHTML = '<b>x</b>'; return ''; } catch (e) { return e.name; } }"
        )
        assert refused == "TypeError"

    def test_an_old_page_says_what_to_do(self, visit: Visit) -> None:
        window = visit(expect_errors=True)
        expect(window.locator(':text("all on this machine")').first).to_be_visible()
        window.evaluate("history.replaceState(null, '', '/a-token-of-another-run/')")
        window.keyboard.type("x")
        expect(window.locator("#offline")).to_contain_text("not let in since Findspot was started")


class TestStates:
    def test_from_nothing_to_an_answer_and_to_what_changed(self, visit: Visit, tmp_path: Path) -> None:
        root = make_project(tmp_path / "shop")
        with serving(Home(tmp_path), root) as served:
            window = visit(served.address, expect_errors=True)
            window.get_by_role("button", name="Index now").click()
            expect(window.locator(".notice.good")).to_contain_text(f"{len(FILES) - 4} files indexed")
            window.get_by_role("link", name="Search", exact=True).first.click()
            expect(window.locator(':text("all on this machine")').first).to_be_visible()
            search(window, "cart")
            expect(window.locator(".hit").first).to_be_visible()

            (root / "new.py").write_text("def new():\n    return 1\n")
            window.goto(f"{served.address}#/project")
            expect(window.locator(".warned")).to_have_text("1 file changed since")
            window.get_by_role("button", name="Update").click()
            expect(window.locator(".notice.good")).to_contain_text("1 file indexed")
            expect(window.locator(".fine")).to_be_visible()

    def test_another_folder_is_indexed_and_deleted(self, visit: Visit, tmp_path: Path) -> None:
        """first-impression A13: the list of projects offered nothing to do."""
        root, other = make_project(tmp_path / "shop"), make_project(tmp_path / "other")
        with serving(Home(tmp_path), root) as served:
            window = visit(f"{served.address}#/projects", expect_errors=True)
            folder = window.get_by_label("Folder to index")
            folder.fill("relative/path")
            window.keyboard.press("Enter")
            expect(window.get_by_role("alert").last).to_contain_text("not a whole path")
            folder.fill(str(other))
            window.keyboard.press("Enter")
            expect(window.get_by_role("heading", name="other", level=1)).to_be_visible()
            expect(window.locator("#project")).to_have_value(re.compile("[0-9a-f]{32}"))
            expect(window.locator(".notice.good")).to_contain_text("files indexed")
            window.get_by_role("button", name="Delete", exact=True).click()
            window.get_by_role("dialog").get_by_role("button", name="Cancel").click()
            expect(window.get_by_role("heading", name="other", level=1)).to_be_visible()
            window.get_by_role("button", name="Delete", exact=True).click()
            window.get_by_role("button", name="Delete the index").click()
            expect(window.locator(".rows li")).to_have_count(1)
            assert (other / "src/shop/cart.py").exists()

    def test_all_projects_are_searched_at_once(
        self, visit: Visit, indexed: tuple[Home, Path], tmp_path: Path
    ) -> None:
        home = with_garden(indexed[0], tmp_path, "garden-of-the-northern-town-hall")
        with serving(home, indexed[1]) as served:
            window = visit(served.address)
            window.get_by_label("Project").select_option("all")
            expect(window.get_by_role("heading", name="Search all 2 projects")).to_be_visible()
            search(window, "discounted")
            expect(window.locator(".hit .pill", has_text="garden")).to_be_visible()
            expect(window.locator(".hit .pill", has_text="shop").first).to_be_visible()
            window.locator(".hit", has_text="beds.py").click()
            expect(window.locator(".pane .crumb")).to_contain_text("beds.py")
            window.keyboard.press("Enter")
            expect(window.get_by_role("dialog")).to_contain_text("tulip")
            window.keyboard.press("Escape")
            for width in (721, 768, 1001, 1024):  # a long name leaves the buttons beside it alone
                window.set_viewport_size({"width": width, "height": 1024})
                ends = window.locator(".top-end > *, .sections" if width > 1000 else ".top-end > *")
                boxes = sorted((box["x"], box["x"] + box["width"]) for box in map(box_of, ends.all()))
                assert all(before[1] <= after[0] for before, after in pairwise(boxes)), (width, boxes)
                chooser = box_of(window.locator("#project"))
                assert chooser["width"] >= 60
                assert chooser["x"] + chooser["width"] <= box_of(window.locator("#keys-button"))["x"], width

    def test_a_workspace_is_asked_as_one(self, visit: Visit, tmp_path: Path) -> None:
        home, town = Home(tmp_path), tmp_path / "town"
        for name, text in (("bakery", "def bread_price():\n    return 3\n"), ("dairy", "MILK_PRICE = 2\n")):
            (town / name).mkdir(parents=True)
            (town / name / "prices.py").write_text(text)
            subprocess.run(["git", "init", "--quiet", town / name], check=True)
        assert home.program(town)("index", "--yes").code == 0
        with serving(home, town) as served:
            window = visit(served.address)
            expect(window.get_by_role("heading", name="Search town")).to_be_visible()
            search(window, "price")
            expect(window.locator(".hit .pill", has_text="bakery")).to_be_visible()
            expect(window.locator(".hit .pill", has_text="dairy")).to_be_visible()
            chooser = window.locator("#project")
            chooser.select_option("dairy")
            answered(window, "price")
            expect(window.locator(".hit .pill")).to_have_count(0)
            chooser.select_option("town, 2 projects")
            expect(window.locator(".hit .pill", has_text="bakery")).to_be_visible()
            window.keyboard.press("Enter")
            expect(window.get_by_role("dialog")).to_contain_text("prices.py")

    def test_projects_are_listed_by_last_use_and_filtered(
        self, visit: Visit, indexed: tuple[Home, Path], tmp_path: Path
    ) -> None:
        home = with_garden(indexed[0], tmp_path, "garden")
        with serving(home, indexed[1]) as served:
            window = visit(f"{served.address}#/projects")
            names = window.locator(".rows h2")
            expect(names).to_have_text(["garden", "shop"])
            window.keyboard.press("/")
            window.keyboard.type("javascript")
            expect(names).to_have_text(["shop"])
            window.get_by_label("Filter projects").fill("nothing like it")
            expect(window.get_by_text("No project fits the filter.")).to_be_visible()

    def test_the_first_view_leads_to_what_was_asked(self, visit: Visit, page: Served) -> None:
        window = visit(page.address)
        expect(window.locator(".starts h3")).to_have_text(["Asked last"])
        window.get_by_role("link", name="price after a discount").click()
        answered(window, "price after a discount")
        assert chosen(window).startswith("src/shop/prices.py:11")

    def test_what_assistants_asked(self, visit: Visit, page: Served) -> None:
        """first-impression M7."""
        window = visit(f"{page.address}#/activity")
        items = window.locator(".asked-item")
        window.get_by_label("Client").select_option("cursor")
        expect(items).to_have_count(1)
        expect(items.first).to_contain_text("cursor")
        window.get_by_label("Client").select_option("claude-code")
        expect(items).to_have_count(1)
        items.get_by_role("link", name=re.compile("prices.py")).click()
        expect(window.get_by_role("dialog")).to_contain_text("def discounted")
        window.go_back()
        expect(window.get_by_role("dialog")).to_be_hidden()
        window.get_by_role("link", name="price after a discount").click()
        answered(window, "price after a discount")

    def test_an_address_that_names_an_unknown_project(self, visit: Visit, page: Served) -> None:
        unknown = "0" * 32
        for view in (
            f"project/{unknown}",
            f"search?project={unknown}&q=price",
            f"dependencies?project={unknown}",
        ):
            window = visit(f"{page.address}#/{view}")
            expect(window.get_by_role("heading", name="No such project")).to_be_visible()
            expect(window.locator("main")).not_to_contain_text("Nothing is indexed yet")
            expect(window.locator(".hit")).to_have_count(0)
            window.locator("main").get_by_role("link", name="Projects").click()
            expect(window.get_by_role("link", name="shop")).to_be_visible()


class TestProject:
    def test_what_the_index_holds_and_what_not(self, visit: Visit, page: Served) -> None:
        window = visit(f"{page.address}#/project")
        expect(window.locator(".fine")).to_have_text("the index matches the files")
        expect(window.get_by_label("Files by language")).to_contain_text("python34")
        expect(window.get_by_label("Parts of the index")).to_contain_text("vectors")
        window.get_by_role("button", name="denied").click()
        expect(window.get_by_role("region", name="Files left out")).to_contain_text(".env")

    def test_the_map_shows_what_imports_what(self, visit: Visit, page: Served) -> None:
        window = visit(f"{page.address}#/map")
        cart, prices = (window.locator(f"[data-path='src/shop/{name}.py']") for name in ("cart", "prices"))
        expect(cart).to_have_attribute("data-layer", "top")
        expect(prices).to_have_attribute("data-layer", "base")
        expect(window.locator(".legend dd")).to_have_text(["cart.py", "prices.py", re.compile("hostile.py")])
        cart.focus()
        expect(window.locator(".cell.imported")).to_have_attribute("data-path", "src/shop/prices.py")
        expect(window.locator(".links")).to_contain_text("prices.py")
        cart.press("Enter")
        expect(window.get_by_role("dialog")).to_contain_text("The cart of a customer")
        window.keyboard.press("Escape")
        window.get_by_role("button", name="shop", exact=True).first.press("Enter")
        expect(window.locator("[data-path='tests']")).to_have_attribute("data-layer", "tests")
        expect(window).to_have_url(re.compile("under=%2F"))
        window.locator("[data-path='src']").press("Enter")
        expect(prices).to_be_visible()
        window.go_back()
        expect(window.locator("[data-path='tests']")).to_be_visible()

    def test_a_result_is_followed_from_side_to_side(self, visit: Visit) -> None:
        window = visit()
        search(window, "price_of")
        pane, viewer = window.locator(".pane"), window.get_by_role("dialog")
        pane.get_by_role("tab", name="Callers").click()
        callers = pane.get_by_role("region", name="Called by")
        expect(callers).to_contain_text("Cart.total")
        window.keyboard.press("ArrowRight")
        expect(pane.get_by_role("tab", name="Tests")).to_be_focused()
        expect(pane.get_by_role("tabpanel")).to_contain_text("test_cart.py")
        window.keyboard.press("4")
        expect(pane.get_by_role("region", name="Directly")).to_contain_text("Cart.total")
        expect(pane.get_by_role("region", name="Tests")).to_contain_text("test_total")
        window.keyboard.press("5")
        expect(pane.get_by_role("tabpanel", name="History")).to_contain_text("There is no commit here")
        window.keyboard.press("2")
        callers.get_by_role("button", name="Cart.total").click()
        expect(viewer.get_by_role("tab", name="Callers")).to_have_attribute("aria-selected", "true")
        expect(viewer.get_by_role("region", name="Calls", exact=True)).to_contain_text("price_of")
        expect(viewer.get_by_role("region", name="Called by")).to_contain_text("test_total")
        expect(window).to_have_url(re.compile("cart.py%3A16-18&tab=callers"))
        viewer.get_by_role("region", name="Calls", exact=True).get_by_role("button", name="price_of").click()
        expect(viewer.get_by_role("heading", level=2)).to_contain_text("prices.py")
        window.go_back()
        expect(viewer.get_by_role("heading", level=2)).to_contain_text("cart.py")
        window.keyboard.press("1")
        expect(viewer.locator(".within").first).to_contain_text("def total")
        window.keyboard.press("Escape")
        expect(viewer).to_be_hidden()

    def test_each_side_is_of_the_result(self, visit: Visit) -> None:
        """A chunk may hold several definitions: the result names the one that answers."""
        window = visit()
        with window.expect_response(lambda answer: "q=discounted" in answer.url) as answers:
            search(window, "discounted")
        first = answers.value.json()["results"][0]
        assert (first["symbol"], first["symbols"][0]) == ("discounted", "PRICES")
        for side, route in (
            ("Callers", "relation=callers"),
            ("Tests", "relation=tests"),
            ("Impact", "relation=impact"),
        ):
            with window.expect_response(re.compile(re.escape(route))) as said:
                window.locator(".pane").get_by_role("tab", name=side).click()
            assert said.value.json()["subject"] == "discounted"

    def test_the_theme_is_kept(self, visit: Visit) -> None:
        window = visit(color_scheme="light")
        grounds = [window.evaluate("getComputedStyle(document.body).backgroundColor")]
        window.get_by_label("Theme: auto").click()
        window.get_by_label("Theme: light").click()
        expect(window.get_by_label("Theme: dark")).to_be_visible()
        window.reload()
        grounds.append(window.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert grounds[0] != grounds[1]
