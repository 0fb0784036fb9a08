"""What a query is, told from its shape."""

from __future__ import annotations

import pytest

from findspot.rank.intent import SEMANTIC_WEIGHT, Intent, read_query

TRACE_PYTHON = 'Traceback (most recent call last):\n  File "app.py", line 3, in main\nValueError: no'
TRACE_JAVA = "it fails\n    at shop.OrderRepository.orders(OrderRepository.java:17)"
TRACE_RUST = "thread 'main' panicked at src/main.rs:4:5"
TRACE_NATIVE = "#1  0x00007f2 in main ()"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("verify_password", Intent.SYMBOL),
        ("HTTPServer", Intent.SYMBOL),
        ("load", Intent.SYMBOL),
        ("_private", Intent.SYMBOL),
        ("$scope", Intent.SYMBOL),
        ("main()", Intent.SYMBOL),
        ("empty?", Intent.SYMBOL),
        ("save!", Intent.SYMBOL),
        ("SessionStore.load", Intent.SYMBOL),
        ("std::vector", Intent.SYMBOL),
        ("this->items", Intent.SYMBOL),
        ("Array#map", Intent.SYMBOL),
        ("Array.map", Intent.SYMBOL),
        ("app.run", Intent.SYMBOL),
        ("os.path", Intent.SYMBOL),
        ("UserRepository findById", Intent.SYMBOL),
        ("  padded_name\n", Intent.SYMBOL),
        ("src/auth/login.py", Intent.PATH),
        ("./src/auth/login.py", Intent.PATH),
        ("login.py", Intent.PATH),
        ("web\\src\\client.ts", Intent.PATH),
        ("/etc/app-config/", Intent.PATH),
        ("node-modules/left-pad", Intent.PATH),
        ("string.h", Intent.PATH),
        ("README.md", Intent.PATH),
        ("where are passwords hashed", Intent.QUESTION),
        ("how does CartStore work", Intent.NAMING),
        ("password", Intent.SYMBOL),
        ("session store", Intent.QUESTION),
        ("foo bar baz", Intent.QUESTION),
        ("what is 42", Intent.QUESTION),
        ("?!", Intent.QUESTION),
        ("", Intent.QUESTION),
        (TRACE_PYTHON, Intent.ERROR),
        (TRACE_JAVA, Intent.ERROR),
        (TRACE_RUST, Intent.ERROR),
        (TRACE_NATIVE, Intent.ERROR),
        ("KeyError: 'customer'", Intent.ERROR),
        ("fails:\nshop.errors.CartError: lost", Intent.ERROR),
        ("what raises BadRequestKeyError: when a form key is missing", Intent.NAMING),
        ("where is panic: caught", Intent.QUESTION),
        ("Fatal error: Index out of range", Intent.ERROR),
        ('Exception in thread "main"', Intent.ERROR),
        ("error handling in the parser", Intent.QUESTION),
        ("the word " * 30 + "more", Intent.REPORT),
        ("the word " * 30, Intent.QUESTION),
        ("session store\nclosed", Intent.QUESTION),
        ("main.map", Intent.SYMBOL),
        ("a.c", Intent.PATH),
        ("lib/x.map", Intent.PATH),
    ],
)
def test_intent(text: str, intent: Intent) -> None:
    assert read_query(text).intent is intent


@pytest.mark.parametrize(
    "line",
    [
        "    at Object.onerror (/srv/lib/context.js:107:40)",
        "at async dispatch (/srv/koa-compose/index.js:42:32)",
        "at Cart.add [as put] (/srv/cart.js:1:2)",
        "    at /srv/lib/context.js:107:40",
        "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.main()",
        "panic: runtime error: index out of range [3] with length 3",
        "/srv/lib/foo.rb:12:in `bar'",
        "\tfrom /srv/lib/foo.rb:20:in '<main>'",
        "   at Shop.Cart.Add(Item item) in D:\\a\\Cart.cs:line 65",
        "#0 /app/src/Cart.php(120): Shop\\Cart->add(Array)",
        "\tat java.base/java.util.Objects.requireNonNull(Objects.java:209)",
        "at app//shop.Cart.add(Cart.java:12)",
        "#0  parse_string (item=0x55) at cart.c:790",
        "  * frame #0: 0x0000000100003f5c a.out`main at a.c:5:8",
        "#1      main (file:///tmp/x.dart:3:7)",
        "** (KeyError) key :a not found",
        "File ~/lib/cart.py:12, in Cart.add(self)",
    ],
)
def test_a_line_of_a_trace_makes_a_short_text_an_error(line: str) -> None:
    assert read_query(line).intent is Intent.ERROR
    assert read_query(f"adding fails\n\n{line}\nsince yesterday").intent is Intent.ERROR


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SessionStore.load", ("load", "SessionStore")),
        ("a::b::c", ("c", "b", "a")),
        ("main()", ("main",)),
        ("UserRepository findById", ("UserRepository", "findById")),
        ("where does CartStore keep its items", ("CartStore",)),
        ("what is `retry` in place_order", ("retry", "place_order")),
        ("why does `cart.add` join lines", ("cart", "add")),
        ("twice: parseCents and parseCents", ("parseCents",)),
        ("where are passwords hashed", ()),
        ("what calls authenticate() here", ("authenticate",)),
        ("what is the purpose of the Display struct?", ("Display",)),
        ("which struct is shown, and of what type", ()),
        ("login.py", ()),
    ],
)
def test_names(text: str, names: tuple[str, ...]) -> None:
    assert read_query(text).names == names


def test_files_that_a_trace_names_are_places_with_their_lines() -> None:
    assert ("app.py", 3) in read_query(TRACE_PYTHON).places
    assert ("OrderRepository.java", 17) in read_query(TRACE_JAVA).places
    assert ("src/main.rs", 4) in read_query(TRACE_RUST).places


def test_a_path_is_its_own_place() -> None:
    assert read_query("./src/auth/login.py").places == (("src/auth/login.py", None),)
    assert read_query("web\\client.ts").places == (("web/client.ts", None),)


def test_a_question_about_a_name_has_no_places() -> None:
    assert read_query("what does app.run do").places == ()


def test_places_are_bounded() -> None:
    text = TRACE_PYTHON + "\n".join(f'File "module_{n}.py", line {n}' for n in range(500))
    assert read_query(text).places[-1] == ("module_48.py", 48)
    assert len(read_query(text).places) == 50


def test_the_title_of_a_long_text_is_its_first_line() -> None:
    reading = read_query("Sessions end too early\n\n" + "word " * 100)
    assert reading.title == "Sessions end too early"
    assert reading.is_long
    assert not read_query("short question here").is_long
    assert read_query("short question here").title == ""


def test_a_title_is_cut_where_nobody_would_read_on() -> None:
    assert read_query("word " * 100).title == ("word " * 40)[:200]


def test_a_place_without_a_line_has_none() -> None:
    assert ("lib/app.py", None) in read_query(f"{TRACE_PYTHON}\nsee ./lib/app.py and so on").places


def test_every_intent_has_a_weight() -> None:
    assert set(SEMANTIC_WEIGHT) == set(Intent)
    assert all(0 < weight < 1 for weight in SEMANTIC_WEIGHT.values())


@pytest.mark.parametrize(
    "run",
    ["a", "/", "a.", "a/", "A_", "`", "at ", "at a ", ":1", "\n", "\n ", "#1 ", ") at ", "A::", "Error", " "],
)
def test_long_runs_are_read_at_once(run: str) -> None:
    assert read_query(run * 20_000).intent in Intent
    assert read_query(f"#1 {run * 20_000}x").intent in Intent
    assert read_query("word " * 61 + run * 20_000).intent is Intent.REPORT
