"""TOML as Codex keeps it: a table more, or a line changed, and nothing else."""

from __future__ import annotations

import tomllib

import pytest

from findspot.serve.cli import table_edit
from findspot.text.jsonc import MalformedError

KEYS = ("mcp_servers", "findspot")
ENTRY = {"command": "/opt/bin/findspot", "args": ["serve"]}
TABLE = '[mcp_servers.findspot]\ncommand = "/opt/bin/findspot"\nargs = ["serve"]\n'

FILES = {
    "empty": "",
    "settings": '# mine\nmodel = "o3"\n',
    "another server": '[mcp_servers.git]\ncommand = "uvx" # fast\n',
    "no newline at the end": '[mcp_servers.git]\ncommand = "uvx"',
    "a server's environment": '[mcp_servers.git]\ncommand = "x"\n\n[mcp_servers.git.env]\nTOKEN = "a"\n',
    "arrays of tables": '[[profiles]]\nname = "a"\n\n[[profiles]]\nname = "b"\n',
    "the table of servers": "[mcp_servers]\n",
    "other ends of lines": 'a = "x" # one\u2028two\u0085three\n',
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", FILES)
def test_a_table_is_appended(name: str, newline: str) -> None:
    before = FILES[name].replace("\n", newline)
    after = table_edit.put(before, "toml", KEYS, ENTRY)
    assert after.startswith(before)
    assert after.endswith(TABLE.replace("\n", newline) if before else TABLE)
    values = tomllib.loads(after)
    assert values["mcp_servers"].pop("findspot") == ENTRY
    assert values == {"mcp_servers": {}} | tomllib.loads(before)
    assert table_edit.put(after, "toml", KEYS, ENTRY) == after


@pytest.mark.parametrize("name", FILES)
def test_taking_it_out_leaves_the_values(name: str) -> None:
    out = table_edit.take_out(table_edit.put(FILES[name], "toml", KEYS, ENTRY), "toml", KEYS)
    assert tomllib.loads(out) == tomllib.loads(FILES[name])
    assert out.rstrip() == FILES[name].rstrip()


def test_the_tables_below_go_with_it() -> None:
    text = f'{TABLE}\n[mcp_servers.findspot.env]\nA = "b"\n\n[other]\nx = 1\n'
    assert table_edit.take_out(text, "toml", KEYS) == "[other]\nx = 1\n"
    assert table_edit.take_out("[other]\n", "toml", KEYS) == "[other]\n"


@pytest.mark.parametrize("before", ["", "# about a\n[a] # one\nb = 1 # two\n# three\n\n"])
def test_comments_around_the_table_stay(before: str) -> None:
    """code-review B2: the comment above the next table went with ours."""
    after = '# profile for work, never delete: see wiki\n[profiles.work]\nmodel = "a"\n'
    assert table_edit.take_out(before + TABLE + after, "toml", KEYS) == before + after


def test_an_old_entry_is_brought_up_to_date_where_it_is() -> None:
    before = '# a\n[ mcp_servers . "findspot" ]\ncommand = "/old"\nargs = [\n "x",\n]\nnote = 1\n# z\n[z]\n'
    after = (
        '# a\n[mcp_servers.findspot]\ncommand = "/opt/bin/findspot"\nargs = ["serve"]\nnote = 1\n# z\n[z]\n'
    )
    assert table_edit.put(before, "toml", KEYS, ENTRY) == after
    with_env = TABLE + '\n[mcp_servers.findspot.env]\nA = "b"\n'
    assert tomllib.loads(table_edit.put(with_env, "toml", KEYS, {"args": []}))["mcp_servers"]["findspot"] == {
        "command": "/opt/bin/findspot",
        "args": [],
        "env": {"A": "b"},
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model = \n", "line 1: Invalid value"),
        ('a = 1\n\nb = "x\n', "line 3: Illegal character '\\n'"),
        ('mcp_servers = {git = {command = "x"}}\n', "cannot be changed safely"),
        ('mcp_servers.findspot.command = "/old" # a\n', "cannot be changed safely"),
        ("mcp_servers = 3\n", "cannot be changed safely"),
        ('[mcp_servers]\nfindspot = "x"\n', "cannot be changed safely"),
    ],
)
def test_what_cannot_be_changed_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedError) as refused:
        table_edit.put(text, "toml", KEYS, ENTRY)
    assert reason in str(refused.value)
