"""JSON of every kind that clients and people write: changed in one place, kept in all others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.serve.cli import table_edit
from findspot.text.jsonc import MalformedError, parse

KEYS = ("mcpServers", "findspot")
ENTRY = {"command": "/opt/bin/findspot", "args": ["serve"]}

FILES = {
    "empty": "",
    "blank": "\n\n",
    "braces": "{}",
    "braces and newline": "{}\n",
    "no servers": '{\n  "theme": "dark"\n}\n',
    "servers empty": '{\n  "mcpServers": {}\n}\n',
    "servers empty on two lines": '{\n  "mcpServers": {\n  }\n}\n',
    "another server": '{\n  "mcpServers": {\n    "git": {\n      "command": "uvx"\n    }\n  }\n}\n',
    "servers first": '{\n  "mcpServers": {\n    "git": {"command": "uvx"}\n  },\n  "theme": "dark"\n}\n',
    "one line": '{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}',
    "one line, no servers": '{"numStartups": 12, "tips": []}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"git": {\n\t\t\t"command": "uvx"\n\t\t}\n\t}\n}\n',
    "four spaces": '{\n    "mcpServers": {\n        "git": {"command": "uvx"}\n    }\n}\n',
    "crlf": '{\r\n  "mcpServers": {\r\n    "git": {\r\n      "command": "uvx"\r\n    }\r\n  }\r\n}\r\n',
    "line comments": '// mine\n{\n  // all\n  "mcpServers": {\n    "git": {"command": "x"} // keep\n  }\n}\n',
    "trailing commas": '{\n  "mcpServers": {\n    "git": {"command": "uvx",},\n  },\n}\n',
    "comma, then comment": '{\n  "mcpServers": {\n    "git": {"command": "x"}, // a, b\n  }, // c\n}\n',
    "block comments": '/* a\n * b\n */\n{ /* c */\n  "mcpServers": { /* none, yet */ }\n}\n',
    "comment at the end": '{\n  "mcpServers": {\n    "git": {"command": "uvx"}\n    // "old": {}\n  }\n}\n',
    "only comments in it": '{\n  "mcpServers": {\n    // "git": {"command": "uvx"},\n  }\n}\n',
    "comments only": "// Zed settings\n//\n// see the documentation\n",
    "comment without newline": "// Zed settings",
    "marks in strings": '{\n  "a": "// no } comment, /* here",\n  "b": "\\" }"\n}\n',
    "closing brace on the line": '{\n  "mcpServers": {\n    "git": {"command": "uvx"} } }',
    "not ascii": '{\n  "Größe": "日本",\n  "mcpServers": {"gît": {"command": "x"}}\n}\n',
    "a name twice": '{\n  "mcpServers": 1,\n  "mcpServers": {"git": {"command": "uvx"}}\n}\n',
}


def put(text: str, entry: dict[str, object] = ENTRY) -> str:
    return table_edit.put(text, "json", KEYS, entry)


def value(text: str) -> dict[str, object]:
    node = parse(text)
    return node.value if node else {}


@pytest.mark.parametrize("name", FILES)
def test_the_entry_is_put_and_taken_out_and_the_rest_stays(name: str) -> None:
    """Every visible character of the file is still there, in order: some were only put between."""
    text, after = FILES[name], put(FILES[name])
    values = value(after)
    assert values["mcpServers"].pop("findspot") == ENTRY
    assert values == {"mcpServers": {}} | value(text)
    characters = iter(after)
    assert all(character in characters for character in "".join(text.split()))
    assert put(after) == after, "a second time changes nothing"
    assert after.count("\r\n") in (0, after.count("\n"))
    assert ("\r\n" in after) == ("\r\n" in text)
    assert value(table_edit.take_out(after, "json", KEYS)) == {"mcpServers": {}} | value(text)


@pytest.mark.parametrize("name", ["another server", "tabs", "crlf", "comma, then comment", "trailing commas"])
def test_taking_it_out_restores_the_text(name: str) -> None:
    assert table_edit.take_out(put(FILES[name]), "json", KEYS) == FILES[name]


def test_comments_stay_with_what_they_are_about() -> None:
    assert put(FILES["comma, then comment"]) == (
        '{\n  "mcpServers": {\n'
        '    "findspot": {\n      "command": "/opt/bin/findspot",\n      "args": [\n        "serve"\n'
        '      ]\n    },\n    "git": {"command": "x"}, // a, b\n  }, // c\n}\n'
    )


def test_an_old_command_is_replaced_and_the_users_own_keys_are_kept() -> None:
    old = (
        '{"mcpServers": {\n  "findspot": {\n    "command": "/old",\n    "env": {"A": "b"}\n  }, // mine\n}}\n'
    )
    new = put(old)
    assert value(new)["mcpServers"]["findspot"] == ENTRY | {"env": {"A": "b"}}
    assert new.startswith('{"mcpServers": {\n  "findspot": {\n')
    assert new.endswith("\n  }, // mine\n}}\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: a `,` or a `}` is missing"),
        ('{\n  "a": ', "line 2: it ends too early"),
        ("{\n  a: 1\n}", "line 2: a name in quotes or a `}` is missing"),
        ('{"a" 1}', "line 1: a `:` is missing"),
        ('{"a": tru}', "line 1: there is no valid value at `t`"),
        ('{"a": 1e}', "line 1: `1e` is no value"),
        ("{} {}", "line 1: something follows after the end"),
        ("{ /* \n }", "line 1: a comment is not closed"),
        ('{"a": "\n"}', 'line 1: there is no valid value at `"`'),
        ("[" * 300, "line 1: nested too deep"),
        ("[]", "the file holds no object"),
        ('{"mcpServers": []}', "mcpServers holds no object"),
        ('{"mcpServers": {"findspot": "x"}}', "mcpServers.findspot holds no object"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(MalformedError) as refused:
        put(text)
    assert str(refused.value) == reason


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[\w.+-]+|[^\s\w]', re.DOTALL)


def comments(text: str) -> list[str]:
    return [found[0].rstrip() for found in TOKEN.finditer(text) if found[0][:2] in ("//", "/*")]


def bare(text: str) -> list[str]:
    """The text without space and comments."""
    return [found[0] for found in TOKEN.finditer(text) if found[0][:2] not in ("//", "/*")]


@given(
    st.sampled_from(sorted(name for name, text in FILES.items() if "mcpServers" in text)),
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=6),
)
def test_every_comment_of_the_user_stays(name: str, noted: list[tuple[int, bool]]) -> None:
    """Put, then any comments of the user around the entry, then take out leaves their edit alone."""
    edited = put(FILES[name])
    for number, (place, own_line) in enumerate(noted):
        holder = parse(edited).members["mcpServers"].node  # type: ignore[union-attr]
        entry = holder.members["findspot"]
        places = (found.start() for found in TOKEN.finditer(edited))
        starts = [at for at in places if not entry.start < at < entry.node.end]
        at = starts[place % len(starts)]
        edited = edited[:at] + (f"// note {number}\n" if own_line else f"/* note {number} */") + edited[at:]
    out = table_edit.take_out(edited, "json", KEYS)
    assert comments(out) == comments(edited)
    assert bare(out) == bare(FILES[name])


def test_a_remark_stays_on_its_own_line() -> None:
    """code-review B2: a trailing remark moved onto the parent's line."""
    text = '{\n  "mcpServers": {\n    "findspot": {} // mine\n  }\n}\n'
    assert table_edit.take_out(text, "json", KEYS) == '{\n  "mcpServers": {\n    // mine\n  }\n}\n'
