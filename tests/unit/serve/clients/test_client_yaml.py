"""YAML as Goose and Continue keep it: lines more, or a line changed, and nothing else."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from findspot.serve.cli import table_edit
from findspot.text.jsonc import MalformedError

KEYS = ("extensions", "findspot")
ENTRY = {"type": "stdio", "cmd": "/opt/bin/findspot", "args": ["serve"]}
LISTED = ("mcpServers", "findspot")
ITEM = {"command": "/opt/bin/findspot", "args": ["serve"]}

MAPPINGS = {
    "empty": "",
    "a comment": "# mine\n",
    "settings": "# mine\nGOOSE_MODEL: a # b\n",
    "a document": "---\na: 1\n",
    "another server": "extensions:\n  git:\n    cmd: uvx # fast\n",
    "no newline at the end": "a: 1\nextensions:\n  git:\n    cmd: uvx",
    "more below": "extensions:\n  git:\n    cmd: uvx\n\n# after\nb: 2\n",
    "deep indentation": "extensions:\n      git:\n          cmd: uvx\nb: 2\n",
    "text on many lines": "extensions:\n  git:\n    note: |\n      # no comment\n      findspot:\n\nb: 2\n",
    "empty braces": "extensions: {}\n",
    "no value": "extensions:\nb: 2\n",
}
LISTS = {
    "no list": "name: a\nversion: 1\n",
    "a list": "mcpServers:\n  - name: git # g\n    command: uvx\n# after\nb: 2\n",
    "a list without indentation": "mcpServers:\n- name: git\n  command: uvx\nb: 2\n",
    "a reference": "mcpServers:\n  - uses: a/b\n",
    "empty brackets": "mcpServers: []\n",
    "no value": "mcpServers:\nb: 2\n",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", MAPPINGS)
def test_a_mapping_gets_a_member(name: str, newline: str) -> None:
    before = MAPPINGS[name].replace("\n", newline)
    after = table_edit.put(before, "yaml", KEYS, ENTRY)
    values = yaml.safe_load(after)
    assert values["extensions"].pop("findspot") == ENTRY
    wanted = yaml.safe_load(before) or {}
    assert values == wanted | {"extensions": wanted.get("extensions") or {}}
    assert table_edit.put(after, "yaml", KEYS, ENTRY) == after
    assert after.count("\n") == after.count(newline if before else "\n")
    assert [line for line in before.replace(" {}", "").split(newline) if line not in after] == []


@pytest.mark.parametrize("name", LISTS)
def test_a_list_gets_an_item(name: str) -> None:
    before = LISTS[name]
    after = table_edit.put(before, "yaml list", LISTED, ITEM)
    assert yaml.safe_load(after)["mcpServers"][-1] == {"name": "findspot", **ITEM}
    assert table_edit.put(after, "yaml list", LISTED, ITEM) == after
    assert yaml.safe_load(table_edit.take_out(after, "yaml list", LISTED)) == {"mcpServers": []} | {
        key: value or [] for key, value in yaml.safe_load(before).items()
    }


@pytest.mark.parametrize("name", sorted(set(MAPPINGS) - {"empty", "a comment", "settings", "a document"}))
def test_taking_it_out_leaves_the_rest(name: str) -> None:
    before = MAPPINGS[name]
    out = table_edit.take_out(table_edit.put(before, "yaml", KEYS, ENTRY), "yaml", KEYS)
    assert out.rstrip() == before.replace("extensions:\nb", "extensions: {}\nb").rstrip()
    assert table_edit.take_out("other: 1\n", "yaml", KEYS) == "other: 1\n"


notes = st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=6)


@given(st.sampled_from(["another server", "more below", "deep indentation"]), notes)
def test_every_comment_around_the_entry_stays(name: str, noted: list[tuple[int, bool]]) -> None:
    lines = table_edit.put(MAPPINGS[name], "yaml", KEYS, ENTRY).splitlines()
    for number, (place, own_line) in enumerate(noted):
        first = next(at for at, line in enumerate(lines) if "findspot:" in line)
        outside = [at for at in range(len(lines)) if not first <= at <= first + 3]
        at = outside[place % len(outside)]
        if own_line and at != first + 4:
            lines.insert(at, f"# note {number}")
        else:
            lines[at] += f" # note {number}"
    out = table_edit.take_out("\n".join(lines) + "\n", "yaml", KEYS)
    assert comments(out) == comments("\n".join(lines))
    assert yaml.safe_load(out) == yaml.safe_load(MAPPINGS[name])


def comments(text: str) -> list[str]:
    return sorted(part.strip() for line in text.splitlines() for part in line.split("#")[1:])


def test_texts_that_look_like_other_values_are_quoted() -> None:
    entry = {"cmd": "yes", "args": ["1", "a: b", "C:\\x"]}
    assert yaml.safe_load(table_edit.put("", "yaml", KEYS, entry))["extensions"]["findspot"] == entry


def test_an_old_entry_is_brought_up_to_date_where_it_is() -> None:
    before = (
        "extensions:\n  findspot:\n    cmd: /old\n    timeout: 5\n    args:\n      - x\n  # about b\n  b: 1\n"
    )
    after = table_edit.put(before, "yaml", KEYS, ENTRY)
    assert after == (
        'extensions:\n  findspot:\n    cmd: "/opt/bin/findspot"\n    timeout: 5\n'
        '    args: ["serve"]\n    type: "stdio"\n  # about b\n  b: 1\n'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: b: c\n", "not valid YAML at line 1"),
        ("a: 1\nb: [\n", "line 3"),
        ("a: \x01\n", "not valid YAML"),
        ("extensions: 3\n", "cannot be changed safely"),
        ("extensions: [a]\n", "cannot be changed safely"),
        ("- a\n", "cannot be changed safely"),
        ("x: &x {a: 1}\nextensions: *x\n", "an alias at line 2"),
        ("extensions: {git: {cmd: uvx}}\n", "cannot be changed safely"),
        ("a: 1\n---\nb: 2\n", "line 2"),
    ],
)
def test_what_cannot_be_changed_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedError) as refused:
        table_edit.put(text, "yaml", KEYS, ENTRY)
    assert reason in str(refused.value)
