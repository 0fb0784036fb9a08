"""The one glob of the product."""

from __future__ import annotations

import pytest

from findspot.core.errors import InvalidPatternError
from findspot.core.globs import MAX_PATTERN_CHARS, Globs, compile_glob

MATCHES = [
    ("*.py", "a.py"),
    ("*.py", "deep/er/a.py"),
    ("*.py", ".py"),
    ("**/*.py", "a.py"),
    ("**/*.py", "x/y/a.py"),
    ("src/*.py", "src/a.py"),
    ("src/**", "src/a/b"),
    ("src/**/*.py", "src/a.py"),
    ("src/**/*.py", "src/a/b/c.py"),
    ("**/test_*/**/x?y.py", "a/test_q/r/s/xzy.py"),
    ("**/a/**/b", "x/a/c/a/b"),
    ("/README.md", "README.md"),
    ("./README.md", "README.md"),
    ("docs/", "docs/a.md"),
    ("docs/", "x/docs/y/a.md"),
    ("/docs/", "docs/a.md"),
    ("a/b/", "a/b/c/d"),
    ("**/", "a/b"),
    ("*.{ts,tsx}", "src/x.tsx"),
    ("{src,lib}/**/*.{js,ts}", "lib/a/b.js"),
    ("{a,{b,c}}.py", "c.py"),
    ("{a,}b", "b"),
    ("a{b/c,d}/e", "ab/c/e"),
    ("{x}.py", "{x}.py"),
    ("{x}.{py,go}", "{x}.go"),
    ("a}.py", "a}.py"),
    ("[ab].py", "b.py"),
    ("[a-c]?.py", "bz.py"),
    ("[!a].py", "b.py"),
    ("[^a].py", "b.py"),
    ("[]].py", "].py"),
    ("[!]].py", "a.py"),
    ("[a-].py", "-.py"),
    ("[\\]].py", "].py"),
    ("[[:digit:]x].py", "7.py"),
    ("pages/[[]id].tsx", "pages/[id].tsx"),
    ("[{,}].py", "{.py"),
    ("\\*.py", "*.py"),
    ("\\!x", "!x"),
    ("a*b*c", "aXbYbZc"),
    ("a*bc*c", "abcbc"),
    ("**", "any/thing"),
    ("*", ".hidden/file"),
    ("**/.github/**", ".github/workflows/ci.yml"),
    ("caf\u00e9/*", "caf\u00e9/x"),
    ("cafe\u0301/*", "caf\u00e9/x"),
    ("line*end", "line\nend"),
    ("**/**/**/a.py", "a.py"),
    ("***.py", "a/b.py"),
]

MISSES = [
    ("*.py", "a.pyc"),
    ("*.py", "a.py/b"),
    ("src/*.py", "src/a/b.py"),
    ("src/*.py", "lib/src/a.py"),
    ("src/**", "src"),
    ("/a.py", "b/a.py"),
    ("./a.py", "b/a.py"),
    ("docs/", "docs"),
    ("docs/", "mydocs/a"),
    ("a/b/", "x/a/b/c"),
    ("?.py", "/.py"),
    ("a?b", "a/b"),
    ("a[!x]b", "a/b"),
    ("[!a].py", "a.py"),
    ("*.{ts,tsx}", "a.js"),
    ("A.py", "a.py"),
    ("*a*a*a*b", "aaaaaaaa"),
    ("a/*", "a/"),
]


@pytest.mark.parametrize(("pattern", "path"), MATCHES)
def test_matches(pattern: str, path: str) -> None:
    assert compile_glob(pattern).match(path)
    assert Globs([pattern]).matches(path)


@pytest.mark.parametrize(("pattern", "path"), MISSES)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not compile_glob(pattern).match(path)
    assert not Globs([pattern]).matches(path)


@pytest.mark.parametrize(
    ("pattern", "folder", "matches"),
    [
        ("gen", "x/gen/", True),
        ("gen/", "gen/", True),
        ("gen/**", "gen/", True),
        ("gen/*", "gen/", False),
        ("gen/*.py", "gen/", False),
        ("*.d", "x.d/", True),
        ("**", "x/", True),
    ],
)
def test_a_folder_matches_when_all_in_it_does(pattern: str, folder: str, matches: bool) -> None:
    assert Globs([pattern]).matches(folder) is matches


def test_any_of_several_patterns_is_enough() -> None:
    globs = Globs(["*.md", "src/**", "*.txt"])
    assert [path for path in ("a.md", "src/x", "b.txt", "c.py") if globs.matches(path)] == [
        "a.md",
        "src/x",
        "b.txt",
    ]
    assert not Globs([])
    assert not Globs([]).matches("a")


@pytest.mark.parametrize(
    ("pattern", "detail"),
    [
        ("", "empty"),
        ("/", "empty"),
        ("[ab", "never closed"),
        ("{a,b", "never closed"),
        ("[z-a]", "backwards"),
        ("[[:nope:]]", "unknown character class"),
        ("a\\", "escapes nothing"),
        ("[a\\", "escapes nothing"),
        ("!a", "negated"),
        ("../a", "leave the project"),
        ("a/../b", "leave the project"),
        ("a\0b", "NUL"),
        ("a" * (MAX_PATTERN_CHARS + 1), "longer"),
        ("{a,b}" * 12, "alternatives"),
        ("{" + "," * 900 + "}" + "x" * 90, "alternatives"),
    ],
)
def test_a_bad_pattern_says_what_is_wrong(pattern: str, detail: str) -> None:
    with pytest.raises(InvalidPatternError) as caught:
        compile_glob(pattern)
    assert detail in caught.value.developer_message


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 490 + "b",
        "**/" * 330 + "x",
        "**/a/" * 190 + "x",
        "**/*a" * 190 + "b",
        "{a,b}" * 8 + "c",
        "{" * 240 + "a" + ",b}" * 240,
        "?*" * 490 + "b",
        "[a-z]*" * 160 + "0",
    ],
)
def test_no_pattern_hangs(pattern: str) -> None:
    """A matcher that backtracks would not come back from any of these."""
    regex = compile_glob(pattern)
    assert not any(map(regex.match, ("a" * 4_000, "a/" * 2_000 + "d", "aaaa/" * 800 + "c")))
