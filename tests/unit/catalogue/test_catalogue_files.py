"""`index.json` and the sources of tools: every field, every form that is read, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.indexfile import fields, searchable_text, token_counts
from findspot.catalogue.server_sources import MissingVariableError, ServerSpec, existing, read_sources
from findspot.catalogue.tool_record import (
    CatalogueCorruptError,
    SearchMode,
    ToolDefinition,
    ToolSearchOptions,
)
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.embed.provider_registry import open_embedder

from .conftest import TOOLS, Write, index

Open = Callable[[], Catalogue]


def stored(catalogue: Catalogue) -> dict[str, Any]:
    assert catalogue.project_index is not None
    value: dict[str, Any] = json.loads(catalogue.project_index.read_text("utf-8"))
    return value


def test_the_fields_of_the_file(catalogue: Catalogue) -> None:
    value = stored(catalogue)
    model = open_embedder("local:static")
    assert value["version"] == "1.0.0"
    assert value["createdAt"].endswith("Z")
    assert value["updatedAt"] >= value["createdAt"]
    assert value["embeddingProvider"] == "local:static"
    assert value["embeddingDimensions"] == model.dimensions
    assert (value["totalTools"], value["hasEmbeddings"]) == (3, True)
    assert set(value["servers"]) == {"filesystem", "mail", "weather"}
    assert all(set(about) == {"fingerprint", "tools", "updatedAt"} for about in value["servers"].values())
    assert catalogue.project_index is not None
    lines = catalogue.project_index.read_text("utf-8").splitlines()
    assert sum('"searchableText"' in line for line in lines) == 3, "a line is a tool"


def test_the_example_of_the_specification(catalogue: Catalogue) -> None:
    entry = stored(catalogue)["tools"][0]
    assert entry["tool"] == {
        "name": "filesystem__read_file",
        "title": "Read File",
        "description": "Read contents of a file",
        "inputSchema": {},
    }
    assert entry["searchableText"] == "read_file Read File Read contents of a file"
    assert entry["tokens"] == ["read", "file", "contents"]
    assert entry["serverName"] == "filesystem"
    assert len(entry["embedding"]) == open_embedder("local:static").dimensions
    assert sum(number * number for number in entry["embedding"]) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("dtype", "decimals"), [("fp32", 7), ("fp16", 4), ("q8", 3), (None, 4)])
def test_dtype_is_the_precision_of_the_vectors(
    open_catalogue: Open, write: Write, dtype: str | None, decimals: int
) -> None:
    opened = open_catalogue()
    index(opened, write("tools.json", TOOLS), dtype=dtype)
    numbers = stored(opened)["tools"][0]["embedding"]
    assert all(number == round(number, decimals) for number in numbers)
    assert any(number != round(number, decimals - 1) for number in numbers)
    assert opened.search("read a file", ToolSearchOptions(SearchMode.EMBEDDING)).tools


def test_the_text_of_a_tool_is_everything_that_is_said_of_it() -> None:
    tool = ToolDefinition(
        "mail__send", "mail", "Send  it.\nNow.", "Send", input_schema=TOOLS[1]["inputSchema"]
    )
    assert searchable_text(fields(tool)) == (
        "send Send Send it. Now. recipient priority attachments encoding "
        "Who gets it urgent normal How it is packed"
    )
    assert list(token_counts("HTTPServer reads the_file")) == ["http", "server", "reads", "file"]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "object"}, "x"),
        ({"properties": 3}, "x"),
        ({"properties": {"a": 7, "b": None}}, "x a b"),
        ({"properties": {"a": {"description": 3, "enum": "no list"}}}, "x a"),
        ({"properties": {"a": {"enum": ["red", 2, 0.5, None, ["no"]]}}}, "x a red 2 0.5"),
        ({"properties": {"a": {"items": {"properties": {"b": {"description": "deep"}}}}}}, "x a b deep"),
        ({"a": {"type": "string"}, "b": {"type": "integer"}}, "x a b"),
        ({"a": {"type": "string"}, "b": "not a parameter"}, "x"),
    ],
)
def test_odd_schemas_are_read(schema: dict[str, Any], text: str) -> None:
    assert searchable_text(fields(ToolDefinition("x", "", input_schema=schema))) == text


def test_a_schema_that_goes_on_for_ever_is_read_to_a_depth() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    assert searchable_text(fields(ToolDefinition("x", "", input_schema=schema))) == "x again"


@pytest.mark.parametrize(
    "value",
    [
        TOOLS,
        {"tools": TOOLS},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": TOOLS}},
        [{"type": "function", "function": tool, "serverName": tool["serverName"]} for tool in TOOLS],
    ],
)
def test_lists_of_tools_in_every_form(write: Write, value: Any) -> None:
    read = read_sources([write("list.json", value)])
    assert [tool.name for listed in read.lists for tool in listed.tools] == [
        "filesystem__read_file", "mail__send_email", "weather__get_forecast",
    ]  # fmt: skip
    assert read.lists[1].tools[0].input_schema == TOOLS[1]["inputSchema"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ('{"a": 1}', "is neither a client's configuration nor a list of tools"),
        ("[1]", r"tools\[0\] is not an object"),
        ('[{"title": "x"}]', r"tools\[0\] has no name"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_source_that_cannot_be_used_is_named(write: Write, content: str, message: str) -> None:
    path = write("bad.json", content)
    with pytest.raises(InvalidArgumentError, match=message) as error:
        read_sources([path])
    assert str(path) in error.value.user_message


def test_a_source_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PathNotFoundError, match=r"^File does not exist: .*gone\.json$"):
        existing([str(tmp_path / "gone.json")])
    with pytest.raises(InvalidArgumentError, match="is not a regular file"):
        read_sources([tmp_path])


def test_variables_are_expanded() -> None:
    spec = ServerSpec(
        "a", command="${BIN}/run", args=("${env:ARG}", "${NONE:-else}", "$ARG"), env={"K": "${ARG}"}
    )
    done = spec.expanded({"BIN": "/bin", "ARG": "${BIN}"})
    assert (done.command, done.args, done.env) == ("/bin/run", ("${BIN}", "else", "$ARG"), {"K": "${BIN}"})
    with pytest.raises(MissingVariableError, match="the environment variable ARG is not set"):
        spec.expanded({"BIN": "x"})


def test_a_fingerprint_is_of_what_is_started_without_values() -> None:
    one = ServerSpec("a", url="https://x", headers={"Authorization": "one"}, env={"K": "1"})
    two = replace(one, headers={"Authorization": "two"}, env={"K": "2"})
    assert one.fingerprint == two.fingerprint
    assert one.launch != two.launch
    others = [replace(one, url="https://y"), replace(one, env={}), replace(one, args=("y",))]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_a_server_starts_in_the_folder_of_its_configuration(tmp_path: Path) -> None:
    for name in (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".please/mcp.json"):
        spec = ServerSpec("a", command="x", source=tmp_path / name)
        assert spec.working_folder == tmp_path, name
        assert replace(spec, cwd="sub").working_folder == tmp_path / "sub"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda _: "", "cannot be read"),
        (lambda _: "[]", "not an object with a list of 'tools'"),
        (lambda text: text.replace('"1.0.0"', '"2.0.0"'), "its version 2.0.0 is not 1.0.0"),
        (lambda text: text.replace('"name":"mail__send_email",', ""), r"tools\[1\] has no name"),
        (lambda text: text.replace('"embeddingDimensions": ', '"embeddingDimensions": 9'), "has not 9"),
        (lambda text: text.replace('"local:static"', '{"a": 1}'), "'embeddingProvider' is not a text"),
        (
            lambda text: text.replace('"embeddingDimensions": ', '"embeddingDimensions": "9", "x": '),
            "not a number",
        ),
    ],
)
def test_a_damaged_index_says_what_is_wrong(
    catalogue: Catalogue, write: Write, damage: Callable[[str], str], message: str
) -> None:
    path = catalogue.project_index
    assert path is not None
    path.write_text(damage(path.read_text("utf-8")), "utf-8")
    with pytest.raises(CatalogueCorruptError, match=message) as error:
        catalogue.search("read")
    assert str(path) in error.value.user_message
    assert "findspot tools index --force" in error.value.hint
    source = write("tools.json", TOOLS)
    with pytest.raises(CatalogueCorruptError):
        index(catalogue, source)
    index(catalogue, source, force=True)
    assert catalogue.search("read").tools


def test_the_other_index_goes_on_when_one_is_damaged(catalogue: Catalogue, write: Write) -> None:
    index(catalogue, write("own.json", [{"name": "own_tool"}]), user_wide=True)
    assert catalogue.project_index is not None
    catalogue.project_index.write_text("{")
    results = catalogue.search("own tool")
    assert [tool.name for tool in results.tools] == ["own__own_tool"]
    assert results.warning
    assert str(catalogue.project_index) in results.warning


def test_the_project_comes_before_the_user(catalogue: Catalogue, write: Write) -> None:
    mine = [{"name": "read_file", "description": "mine", "serverName": "filesystem"}, {"name": "zip"}]
    index(catalogue, write("own.json", mine), user_wide=True)
    assert catalogue.get("filesystem__read_file").description == "Read contents of a file"
    assert catalogue.get("own__zip").server_name == "own"
    assert catalogue.search("zip").total_indexed == 4


def test_vectors_of_two_models_never_meet(catalogue: Catalogue, write: Write) -> None:
    index(catalogue, write("own.json", [{"name": "zip_file", "description": "Zip a file"}]), user_wide=True)
    revision = open_embedder("local:static").revision
    catalogue.user_index.write_text(catalogue.user_index.read_text().replace(revision, "another"))
    results = catalogue.search("zip a file", ToolSearchOptions(SearchMode.HYBRID))
    assert (
        results.warning
        == f"{catalogue.user_index} was made with another model; its tools are found by words only."
    )
    assert "own__zip_file" in [tool.name for tool in results.tools]


def test_an_index_of_the_specification_alone_is_read(open_catalogue: Open, root: Path) -> None:
    value = {
        "version": "1.0.0",
        "createdAt": "2024-01-15T10:30:00Z",
        "tools": [
            {"tool": {"name": "fs__read", "description": "Read it"}, "serverName": "fs"},
            {"tool": {"name": "filesystem__list"}},
            {"tool": {"name": "plain"}},
        ],
    }
    path = root / ".please" / "mcp" / "index.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(value))
    opened = open_catalogue()
    assert [tool.name for tool in opened.search("read").tools] == ["fs__read"]
    assert opened.tools().servers == ["fs", "filesystem", ""], "mcp-gateway leaves `serverName` empty"
