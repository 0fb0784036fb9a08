"""Configurations as clients and people write them: changed in one place, kept in all others."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.catalogue.server_sources import named, parse_config, value_at
from findspot.serve.cli import table_edit
from findspot.text.jsonc import MalformedError, parse

PLAIN = {"command": "/opt/bin/findspot", "args": ["serve"]}
TABLE = '[mcp_servers.findspot]\ncommand = "/opt/bin/findspot"\nargs = ["serve"]\n'
KINDS: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "json": (("mcpServers", "findspot"), PLAIN),
    "toml": (("mcp_servers", "findspot"), PLAIN),
    "yaml": (("extensions", "findspot"), {"type": "stdio", "cmd": "/opt/bin/findspot", "args": ["serve"]}),
    "yaml list": (("mcpServers", "findspot"), PLAIN),
}
"""Format → the keys of the entry, and the entry."""

FILES = {
    "json": {
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
        "line comments": '// mine\n{\n  // all\n  "mcpServers": {\n    "git": {"a": "x"} // keep\n  }\n}\n',
        "trailing commas": '{\n  "mcpServers": {\n    "git": {"command": "uvx",},\n  },\n}\n',
        "comma, then comment": '{\n  "mcpServers": {\n    "git": {"command": "x"}, // a, b\n  }, // c\n}\n',
        "block comments": '/* a\n * b\n */\n{ /* c */\n  "mcpServers": { /* none, yet */ }\n}\n',
        "comment at the end": '{\n  "mcpServers": {\n    "git": {"a": "uvx"}\n    // "old": {}\n  }\n}\n',
        "only comments in it": '{\n  "mcpServers": {\n    // "git": {"command": "uvx"},\n  }\n}\n',
        "comments only": "// Zed settings\n//\n// see the documentation\n",
        "comment without newline": "// Zed settings",
        "marks in strings": '{\n  "a": "// no } comment, /* here",\n  "b": "\\" }"\n}\n',
        "closing brace on the line": '{\n  "mcpServers": {\n    "git": {"command": "uvx"} } }',
        "not ascii": '{\n  "Größe": "日本",\n  "mcpServers": {"gît": {"command": "x"}}\n}\n',
        "a name twice": '{\n  "mcpServers": 1,\n  "mcpServers": {"git": {"command": "uvx"}}\n}\n',
    },
    "toml": {
        "empty": "",
        "settings": '# mine\nmodel = "o3"\n',
        "another server": '[mcp_servers.git]\ncommand = "uvx" # fast\n',
        "no newline at the end": '[mcp_servers.git]\ncommand = "uvx"',
        "a server's environment": '[mcp_servers.git]\ncommand = "x"\n\n[mcp_servers.git.env]\nTOKEN = "a"\n',
        "arrays of tables": '[[profiles]]\nname = "a"\n\n[[profiles]]\nname = "b"\n',
        "the table of servers": "[mcp_servers]\n",
        "other ends of lines": 'a = "x" # one\u2028two\u0085three\n',
    },
    "yaml": {
        "empty": "",
        "a comment": "# mine\n",
        "settings": "# mine\nGOOSE_MODEL: a # b\n",
        "a document": "---\na: 1\n",
        "another server": "extensions:\n  git:\n    cmd: uvx # fast\n",
        "no newline at the end": "a: 1\nextensions:\n  git:\n    cmd: uvx",
        "more below": "extensions:\n  git:\n    cmd: uvx\n\n# after\nb: 2\n",
        "deep indentation": "extensions:\n      git:\n          cmd: uvx\nb: 2\n",
        "text on many lines": "extensions:\n  git:\n    a: |\n      # no comment\n      findspot:\n\nb: 2\n",
        "empty braces": "extensions: {}\n",
        "no value": "extensions:\nb: 2\n",
    },
    "yaml list": {
        "no list": "name: a\nversion: 1\n",
        "a list": "mcpServers:\n  - name: git # g\n    command: uvx\n# after\nb: 2\n",
        "a list without indentation": "mcpServers:\n- name: git\n  command: uvx\nb: 2\n",
        "a reference": "mcpServers:\n  - uses: a/b\n",
        "empty brackets": "mcpServers: []\n",
        "no value": "mcpServers:\nb: 2\n",
    },
}


def put(text: str, kind: str = "json", entry: dict[str, Any] | None = None) -> str:
    keys, usual = KINDS[kind]
    return table_edit.put(text, kind, keys, usual if entry is None else entry)


def take_out(text: str, kind: str = "json") -> str:
    return table_edit.take_out(text, kind, KINDS[kind][0])


def without_entry(text: str, kind: str) -> Any:
    """The values of a file; a table of servers that is missing is empty."""
    (table, name), _ = KINDS[kind]
    values = parse_config(text, kind) or {}
    held = values.get(table) or ([] if kind == "yaml list" else {})
    rest = [item for item in held if item.get("name") != name] if isinstance(held, list) else held
    return values | {table: rest if isinstance(rest, list) else {k: v for k, v in rest.items() if k != name}}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, files in FILES.items() for name in files])
def test_the_entry_is_put_and_taken_out_and_the_rest_stays(kind: str, name: str, newline: str) -> None:
    """Every visible character of the file is still there, in order: some were only put between."""
    text = FILES[kind][name].replace("\n", newline)
    after = put(text, kind)
    keys, entry = KINDS[kind]
    listed = {"name": keys[-1]} if kind == "yaml list" else {}
    assert value_at(parse_config(after, kind), keys) == listed | entry
    assert without_entry(after, kind) == without_entry(text, kind)
    characters = iter(after)
    kept = re.sub(r": (\{\}|\[\])", ":", text) if kind.startswith("yaml") else text
    assert all(character in characters for character in "".join(kept.split()))
    assert put(after, kind) == after, "a second time changes nothing"
    assert after.count("\n") == after.count(newline if "\n" in text else "\n")
    out = take_out(after, kind)
    assert keys[-1] not in named(value_at(parse_config(out, kind), keys[:-1]))
    assert without_entry(out, kind) == without_entry(text, kind)
    assert take_out(out, kind) == out


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("json", name) for name in ("another server", "tabs", "comma, then comment", "trailing commas")),
        *(("toml", name) for name in FILES["toml"]),
        *(("yaml", name) for name in FILES["yaml"] if "extensions:\n " in FILES["yaml"][name]),
    ],
)
def test_taking_it_out_restores_the_text(kind: str, name: str) -> None:
    before, out = FILES[kind][name], take_out(put(FILES[kind][name], kind), kind)
    assert out == before or (kind != "json" and out.rstrip() == before.rstrip())


def test_comments_stay_with_what_they_are_about() -> None:
    assert put(FILES["json"]["comma, then comment"]) == (
        '{\n  "mcpServers": {\n'
        '    "findspot": {\n      "command": "/opt/bin/findspot",\n      "args": [\n        "serve"\n'
        '      ]\n    },\n    "git": {"command": "x"}, // a, b\n  }, // c\n}\n'
    )


def test_a_remark_stays_on_its_own_line() -> None:
    """code-review B2: a trailing remark moved onto the parent's line."""
    text = '{\n  "mcpServers": {\n    "findspot": {} // mine\n  }\n}\n'
    assert take_out(text) == '{\n  "mcpServers": {\n    // mine\n  }\n}\n'


@pytest.mark.parametrize("before", ["", "# about a\n[a] # one\nb = 1 # two\n# three\n\n"])
def test_comments_around_a_table_stay(before: str) -> None:
    """code-review B2: the comment above the next table went with ours; the tables below it go."""
    after = '# profile for work, never delete: see wiki\n[profiles.work]\nmodel = "a"\n'
    below = '\n[mcp_servers.findspot.env]\nA = "b"\n'
    assert take_out(before + TABLE + after, "toml") == take_out(before + TABLE + below + after, "toml")
    assert take_out(before + TABLE + after, "toml") == before + after


OLD = {
    "json": (
        '{"mcpServers": {\n  "findspot": {\n    "command": "/old",\n    "env": {}\n  }, // mine\n}}',
        (
            '{"mcpServers": {\n  "findspot": {\n    "command": "/opt/bin/findspot",\n    "env": {},\n'
            '    "args": [\n      "serve"\n    ]\n  }, // mine\n}}'
        ),
    ),
    "toml": (
        (
            '# a\n[ mcp_servers . "findspot" ]\ncommand = "/old"\nargs = [\n "x",\n]\n# e\n'
            '[mcp_servers.findspot.env]\nA = "b"\n\n# z\n[z]\n'
        ),
        f'# a\n{TABLE}env = {{A = "b"}}\n\n# z\n[z]\n',
    ),
    "yaml": (
        "extensions:\n  findspot:\n    cmd: /old\n    timeout: 5\n    args:\n      - x\n  # b\n  b: 1\n",
        (
            'extensions:\n  findspot:\n    cmd: "/opt/bin/findspot"\n    timeout: 5\n'
            '    args: ["serve"]\n    type: "stdio"\n  # b\n  b: 1\n'
        ),
    ),
}


@pytest.mark.parametrize("kind", OLD)
def test_an_old_entry_is_brought_up_to_date_where_it_is(kind: str) -> None:
    """What the user has added to it is kept."""
    before, after = OLD[kind]
    assert put(before, kind) == after


def test_texts_that_look_like_other_values_are_quoted() -> None:
    entry = {"cmd": "yes", "args": ["1", "a: b", "C:\\x"]}
    assert parse_config(put("", "yaml", entry), "yaml")["extensions"]["findspot"] == entry


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("json", '{\n  "a": 1\n  "b": 2\n}', "line 3: a `,` or a `}` is missing"),
        ("json", '{\n  "a": ', "line 2: it ends too early"),
        ("json", "{\n  a: 1\n}", "line 2: a name in quotes or a `}` is missing"),
        ("json", '{"a" 1}', "line 1: a `:` is missing"),
        ("json", '{"a": tru}', "line 1: there is no valid value at `t`"),
        ("json", '{"a": 1e}', "line 1: `1e` is no value"),
        ("json", "{} {}", "line 1: something follows after the end"),
        ("json", "{ /* \n }", "line 1: a comment is not closed"),
        ("json", '{"a": "\n"}', 'line 1: there is no valid value at `"`'),
        ("json", "[" * 300, "line 1: nested too deep"),
        ("json", "[]", "the file holds no object"),
        ("json", '{"mcpServers": []}', "mcpServers holds no object"),
        ("json", '{"mcpServers": {"findspot": "x"}}', "mcpServers.findspot holds no object"),
        ("toml", "model = \n", "line 1: Invalid value"),
        ("toml", 'a = 1\n\nb = "x\n', "line 3: Illegal character '\\n'"),
        ("toml", 'mcp_servers = {git = {command = "x"}}\n', "cannot be changed safely"),
        ("toml", 'mcp_servers.findspot.command = "/old" # a\n', "cannot be changed safely"),
        ("toml", "mcp_servers = 3\n", "cannot be changed safely"),
        ("toml", '[mcp_servers]\nfindspot = "x"\n', "cannot be changed safely"),
        ("yaml", "a: b: c\n", "not valid YAML at line 1"),
        ("yaml", "a: 1\nb: [\n", "line 3"),
        ("yaml", "a: \x01\n", "not valid YAML"),
        ("yaml", "extensions: 3\n", "cannot be changed safely"),
        ("yaml", "extensions: [a]\n", "cannot be changed safely"),
        ("yaml", "- a\n", "cannot be changed safely"),
        ("yaml", "x: &x {a: 1}\nextensions: *x\n", "an alias at line 2"),
        ("yaml", "extensions: {git: {cmd: uvx}}\n", "cannot be changed safely"),
        ("yaml", "a: 1\n---\nb: 2\n", "line 2"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_its_line(kind: str, text: str, reason: str) -> None:
    with pytest.raises(MalformedError) as refused:
        put(text, kind)
    assert str(refused.value) == reason if kind == "json" else reason in str(refused.value)


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[\w.+-]+|[^\s\w]', re.DOTALL)
notes = st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=6)


def tokens(text: str, *, comments: bool) -> list[str]:
    """The comments of a text, or what else is in it but space."""
    found = [token[0].rstrip() for token in TOKEN.finditer(text)]
    return [token for token in found if token.startswith(("//", "/*")) == comments]


@given(st.sampled_from(sorted(name for name, text in FILES["json"].items() if "mcpServers" in text)), notes)
def test_every_comment_in_json_stays(name: str, noted: list[tuple[int, bool]]) -> None:
    """Put, then any comments of the user around the entry, then take out leaves their edit alone."""
    edited = put(FILES["json"][name])
    for number, (place, own_line) in enumerate(noted):
        entry = parse(edited).members["mcpServers"].node.members["findspot"]  # type: ignore[union-attr]
        places = (found.start() for found in TOKEN.finditer(edited))
        starts = [at for at in places if not entry.start < at < entry.node.end]
        at = starts[place % len(starts)]
        edited = edited[:at] + (f"// note {number}\n" if own_line else f"/* note {number} */") + edited[at:]
    out = take_out(edited)
    assert tokens(out, comments=True) == tokens(edited, comments=True)
    assert tokens(out, comments=False) == tokens(FILES["json"][name], comments=False)


@given(st.sampled_from(["another server", "more below", "deep indentation"]), notes)
def test_every_comment_in_yaml_stays(name: str, noted: list[tuple[int, bool]]) -> None:
    lines = put(FILES["yaml"][name], "yaml").splitlines()
    for number, (place, own_line) in enumerate(noted):
        first = next(at for at, line in enumerate(lines) if "findspot:" in line)
        outside = [at for at in range(len(lines)) if not first <= at <= first + 3]
        at = outside[place % len(outside)]
        if own_line and at != first + 4:
            lines.insert(at, f"# note {number}")
        else:
            lines[at] += f" # note {number}"
    out = take_out("\n".join(lines) + "\n", "yaml")
    written = sorted(part.strip() for line in lines for part in line.split("#")[1:])
    assert sorted(part.strip() for line in out.splitlines() for part in line.split("#")[1:]) == written
    assert parse_config(out, "yaml") == parse_config(FILES["yaml"][name], "yaml")
