"""What a query is, told from its shape."""

from __future__ import annotations

import pytest

from findspot.rank.intent import SEMANTIC_WEIGHT, Intent, read_query

TRACE_PYTHON = 'Traceback (most recent call last):\n  File "app.py", line 3, in main\nValueError: no'
TRACE_JAVA = "it fails\n    at shop.OrderRepository.orders(OrderRepository.java:17)"
TRACE_RUST = "thread 'main' panicked at src/main.rs:4:5"
TRACE_NATIVE = "#1  0x00007f2 in main ()"


INTENTS = {
    Intent.SYMBOL: [
        "verify_password", "HTTPServer", "load", "_private", "$scope", "main()", "empty?", "save!",
        "password", "SessionStore.load", "std::vector", "this->items", "Array#map", "Array.map", "app.run",
        "os.path", "UserRepository findById", "  padded_name\n", "main.map",
    ],
    Intent.PATH: [
        "src/auth/login.py", "./src/auth/login.py", "login.py", "web\\src\\client.ts", "/etc/app-config/",
        "node-modules/left-pad", "string.h", "README.md", "a.c", "lib/x.map",
    ],
    Intent.QUESTION: [
        "where are passwords hashed", "session store", "foo bar baz", "what is 42", "?!", "",
        "where is panic: caught", "error handling in the parser", "the word " * 30, "session store\nclosed",
    ],
    Intent.NAMING: [
        "how does CartStore work", "what raises BadRequestKeyError: when a form key is missing",
    ],
    Intent.ERROR: [
        TRACE_PYTHON, TRACE_JAVA, TRACE_RUST, TRACE_NATIVE, "KeyError: 'customer'",
        "fails:\nshop.errors.CartError: lost", "Fatal error: Index out of range",
        'Exception in thread "main"',
    ],
    Intent.REPORT: ["the word " * 30 + "more"],
}  # fmt: skip


@pytest.mark.parametrize(("intent", "text"), [(each, text) for each in INTENTS for text in INTENTS[each]])
def test_intent(intent: Intent, text: str) -> None:
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


def test_places() -> None:
    assert ("app.py", 3) in read_query(TRACE_PYTHON).places
    assert ("OrderRepository.java", 17) in read_query(TRACE_JAVA).places
    assert ("src/main.rs", 4) in read_query(TRACE_RUST).places
    assert read_query("./src/auth/login.py").places == (("src/auth/login.py", None),)
    assert read_query("web\\client.ts").places == (("web/client.ts", None),)
    assert read_query("what does app.run do").places == ()
    assert ("lib/app.py", None) in read_query(f"{TRACE_PYTHON}\nsee ./lib/app.py and so on").places
    text = TRACE_PYTHON + "\n".join(f'File "module_{n}.py", line {n}' for n in range(500))
    assert read_query(text).places[-1] == ("module_48.py", 48)
    assert len(read_query(text).places) == 50


def test_the_title_of_a_long_text_is_its_first_line() -> None:
    reading, short = (
        read_query("Sessions end too early\n\n" + "word " * 100),
        read_query("short question here"),
    )
    assert (reading.title, reading.is_long) == ("Sessions end too early", True)
    assert (short.title, short.is_long) == ("", False)
    assert read_query("word " * 100).title == ("word " * 40)[:200]


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
