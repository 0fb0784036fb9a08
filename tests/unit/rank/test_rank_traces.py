"""Stack traces and error messages of many languages."""

from __future__ import annotations

import pytest

from findspot.rank.traces import Frame, TraceReader

PYTHON = """
Traceback (most recent call last):
  File "/home/ann/shop/cli.py", line 12, in main
    run(sys.argv)
    ~~~^^^^^^^^^^
  File "/usr/lib/python3/site-packages/shop/cart.py", line 40, in Cart.add
    raise CartError(item)
shop.errors.CartError: no such item: 'tea'
"""
CHAINED = """
Traceback (most recent call last):
  File "a.py", line 1, in first
    second()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in third
    raise ValueError("y") from error
ValueError: y
"""
IPYTHON = """
---------------------------------------------------------------------------
TypeError                                 Traceback (most recent call last)
Cell In[3], line 1
----> 1 frame.plot()

File ~/env/lib/python3.10/site-packages/plots/axes.py:77, in Axes.plot(self, data)
     75     if data is None:
---> 77         data.draw()
     78     return self

TypeError: nothing to draw
"""
PYTEST = """
    def test_sum():
>       assert total([1, 2]) == 4
E       assert 3 == 4

tests/test_sum.py:5: AssertionError
"""
NODE = """
TypeError: Cannot read properties of undefined (reading 'map')
    at Object.render (/srv/app/node_modules/views/lib/render.js:50:67)
    at async Promise.all (index 0)
    at new Page (file:///srv/app/src/page.ts:12:3)
    at /srv/app/src/server.js:9:1
    at processTicksAndRejections (node:internal/process/task_queues:95:5)
"""
JAVA = """
Exception in thread "main" java.lang.IllegalStateException: closed
\tat org.shop.cart.Cart.add(Cart.java:17)
\tat java.base/java.lang.Thread.run(Thread.java:834)
Caused by: java.io.IOException: disk full
\tat org.shop.cart.CartFileKt.write$default(CartFile.kt:8)
\t... 23 more
"""
GO = """
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x28 pc=0x1385f7c]

goroutine 1 [running]:
example.com/ann/shop.(*Cart).Add(0xc000228000, 0xa1)
\t/go/src/example.com/ann/shop/cart.go:76 +0x19c
main.main()
\t/go/src/example.com/ann/shop/cmd/main.go:38 +0x26
"""
RUBY = """
app/models/cart.rb:10:in `add': undefined method `price' for nil:NilClass (NoMethodError)
\tfrom app/controllers/carts_controller.rb:22:in `block in create'
\tfrom shop (1.2.3) lib/shop/runner.rb:5:in 'Shop::Runner#run'
"""
PHP = """
PHP Fatal error:  Uncaught InvalidArgumentException: no item in /srv/src/Cart.php:12
Stack trace:
#0 /srv/src/Controller.php(33): Shop\\Cart->add(NULL)
#1 [internal function]: Shop\\Controller->run()
#2 {main}
  thrown in /srv/src/Cart.php on line 12
"""
CSHARP = """
Unhandled exception. System.NullReferenceException: Object reference not set.
   at Shop.Cart.Add(Item item) in C:\\src\\Shop\\Cart.cs:line 42
   at Shop.Program.Main(String[] args) in C:\\src\\Shop\\Program.cs:line 9
"""
RUST = """
thread 'main' panicked at src/cart.rs:12:9:
index out of bounds: the len is 0 but the index is 1
stack backtrace:
   0: rust_begin_unwind
             at /rustc/f1edd0429582dd29cccacaf50fd134b05593bd9c/library/std/src/panicking.rs:645:5
   1: shop::cart::Cart::add::h7dd136d787f51397
             at ./src/cart.rs:12:9
   2: shop::main
             at ./src/main.rs:4:5
note: run with `RUST_BACKTRACE=full`
"""
GDB = """
Program received signal SIGSEGV, Segmentation fault.
#0  0x00007ffff7aca8a0 in cart_add (cart=0x0, item=0x1) at src/cart.c:100
#1  main (argc=1, argv=0x7ffe) at src/main.c:20
#2  0x00007ffff7aca8a1 in __libc_start_main () from /lib/libc.so.6
"""
ASAN = """
==64198==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60200000ea12 at pc 0x41167a
READ of size 1 at 0x60200000ea12 thread T0
    #0 0x548e14 in shop::Cart::read(std::basic_ifstream<char>&) /home/ann/shop/src/cart.cpp:90:53
    #1 0x51f553 in main /home/ann/shop/src/main.cpp:85:17
    #2 0x7f70317d283f in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x2083f)
"""
DART = "#0      Cart.add (package:shop/cart.dart:12:3)\n#1      main (file:///srv/bin/main.dart:4:1)\n"
ELIXIR = """
** (KeyError) key :price not found in: %{}
    (shop 0.1.0) lib/shop/cart.ex:12: Shop.Cart.add/2
    (elixir 1.14.0) lib/enum.ex:2468: Enum.reduce/3
"""


def _read(text: str) -> TraceReader:
    reader, lines, at = TraceReader(), text.expandtabs(4).split("\n"), 0
    while at < len(lines):
        at += reader.read(lines, at, fenced=True) or 1
    reader.close()
    return reader


def _frames(text: str) -> list[tuple[str, int | None, str]]:
    return [(frame.path, frame.line, frame.function) for frame in _read(text).frames]


@pytest.mark.parametrize(
    ("text", "innermost", "outermost"),
    [
        (
            PYTHON,
            ("/usr/lib/python3/site-packages/shop/cart.py", 40, "Cart.add"),
            ("/home/ann/shop/cli.py", 12, "main"),
        ),
        (NODE, ("/srv/app/node_modules/views/lib/render.js", 50, "Object.render"), None),
        (
            GO,
            ("/go/src/example.com/ann/shop/cart.go", 76, "example.com/ann/shop.(*Cart).Add"),
            ("/go/src/example.com/ann/shop/cmd/main.go", 38, "main.main"),
        ),
        (RUBY, ("app/models/cart.rb", 10, "add"), ("lib/shop/runner.rb", 5, "Shop::Runner#run")),
        (
            CSHARP,
            ("C:/src/Shop/Cart.cs", 42, "Shop.Cart.Add"),
            ("C:/src/Shop/Program.cs", 9, "Shop.Program.Main"),
        ),
        (GDB, ("src/cart.c", 100, "cart_add"), ("", None, "__libc_start_main")),
        (ASAN, ("/home/ann/shop/src/cart.cpp", 90, "shop::Cart::read"), ("", None, "__libc_start_main")),
        (DART, ("shop/cart.dart", 12, "Cart.add"), ("/srv/bin/main.dart", 4, "main")),
        (ELIXIR, ("lib/shop/cart.ex", 12, "Shop.Cart.add/2"), ("lib/enum.ex", 2468, "Enum.reduce/3")),
        (PYTEST, ("tests/test_sum.py", 5, ""), None),
    ],
    ids=["python", "node", "go", "ruby", "csharp", "gdb", "asan", "dart", "elixir", "pytest"],
)
def test_the_innermost_frame_comes_last(
    text: str, innermost: tuple[str, int | None, str], outermost: tuple[str, int | None, str] | None
) -> None:
    frames = _frames(text)
    assert frames[-1] == innermost
    assert outermost is None or frames[0] == outermost
    assert [frame.innermost for frame in _read(text).frames] == [False] * (len(frames) - 1) + [True]


def test_each_cause_is_a_trace_of_its_own() -> None:
    assert [(f.path, f.function, f.trace, f.innermost) for f in _read(JAVA).frames] == [
        ("java/lang/Thread.java", "java.lang.Thread.run", 0, False),
        ("org/shop/cart/Cart.java", "org.shop.cart.Cart.add", 0, True),
        ("org/shop/cart/CartFile.kt", "org.shop.cart.CartFileKt.write$default", 1, True),
    ]
    assert [(f.path, f.trace, f.innermost) for f in _read(CHAINED).frames] == [
        ("a.py", 0, True),
        ("b.py", 1, True),
    ]


def test_python_frames_show_their_code() -> None:
    assert [frame.source for frame in _read(PYTHON).frames] == ["run(sys.argv)", "raise CartError(item)"]


def test_a_notebook_s_frames_have_the_line_of_the_arrow() -> None:
    assert _read(IPYTHON).frames[-1] == Frame(
        "~/env/lib/python3.10/site-packages/plots/axes.py", 77, "Axes.plot", "data.draw()", 0, innermost=True
    )


def test_node_frames_without_a_file_keep_their_function() -> None:
    assert _frames(NODE)[::-1][1:4] == [
        ("", None, "Promise.all"),
        ("/srv/app/src/page.ts", 12, "Page"),
        ("/srv/app/src/server.js", 9, ""),
    ]


def test_a_panic_tells_its_place_and_the_runtime_is_left_out() -> None:
    assert [(f.path, f.line, f.function, f.innermost) for f in _read(RUST).frames] == [
        ("src/cart.rs", 12, "", True),
        ("src/main.rs", 4, "shop::main", False),
        ("src/cart.rs", 12, "shop::cart::Cart::add", True),
    ]


def test_php_tells_the_place_after_the_trace() -> None:
    frames = _read(PHP).frames
    assert [(f.path, f.line, f.function) for f in frames] == [
        ("", None, "Shop\\Controller->run"),
        ("/srv/src/Controller.php", 33, "Shop\\Cart->add"),
        ("/srv/src/Cart.php", 12, ""),
    ]
    assert frames[-1].innermost


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (PYTHON, ["shop.errors.CartError: no such item: 'tea'"]),
        (CHAINED, ["KeyError: 'x'", "ValueError: y"]),
        (IPYTHON, ["TypeError: nothing to draw"]),
        (
            JAVA,
            [
                'Exception in thread "main" java.lang.IllegalStateException: closed',
                "Caused by: java.io.IOException: disk full",
            ],
        ),
        (GO, ["panic: runtime error: invalid memory address or nil pointer dereference"]),
        (RUBY, ["undefined method `price' for nil:NilClass (NoMethodError)"]),
        (RUST, ["index out of bounds: the len is 0 but the index is 1"]),
        ("src/a.c:12:5: error: expected ';'", ["src/a.c:12:5: error: expected ';'"]),
        ("error[E0308]: mismatched types", ["error[E0308]: mismatched types"]),
        ("src/a.ts(3,4): error TS2322: no", ["src/a.ts(3,4): error TS2322: no"]),
        ("a.out: cart.c:3: main: Assertion `x' failed.", ["a.out: cart.c:3: main: Assertion `x' failed."]),
        (ELIXIR, ["** (KeyError) key :price not found in: %{}"]),
        ("The error handling is fine", []),
        ("Errors are shown", []),
    ],
)
def test_error_messages(text: str, errors: list[str]) -> None:
    assert list(_read(text).errors) == errors


@pytest.mark.parametrize(
    "line",
    [
        "at the moment (see below) nothing works",
        "#12 is related",
        "# Heading",
        "look at foo.py in the tests",
        "it fails at line 12",
        "File a bug: please, in the tracker",
        "1: first we open the file",
    ],
)
def test_sentences_are_no_frames(line: str) -> None:
    assert _read(line).frames == []
