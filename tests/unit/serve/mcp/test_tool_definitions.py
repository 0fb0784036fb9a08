"""What a model reads of the tools: short, found by everyday requests, complete in the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.catalogue.catalogue import BuildOptions, Catalogue
from findspot.embed.provider_registry import IN_THE_BOX, open_embedder
from findspot.serve.mcp.tool import sent_schema, wire_tool
from findspot.serve.mcp.tools import all_tools

REQUESTS = [
    ("who calls a function", "code_research"),
    ("find the callers of this method", "code_research"),
    ("find all implementations of an interface", "code_research"),
    ("what imports this module", "code_research"),
    ("where is this function used", "code_research"),
    ("what code to change for this issue and stack trace", "code_context"),
    ("search the code for where passwords are checked", "search_code"),
    ("find code that does something similar to this passage", "search_code"),
    ("grep the codebase for an identifier", "search_code"),
    ("search the code by meaning", "search_code"),
    ("what does the documentation say about configuration", "search_docs"),
    ("search the README and guides for a topic", "search_docs"),
    ("find files by name", "search_by_path"),
    ("list the typescript files whose path matches a pattern", "search_by_path"),
    ("index this repository so that I can search it", "index_codebase"),
    ("create the search index of this project", "create_index"),
    ("is the index of this project up to date", "get_index_status"),
    ("how many files were skipped while indexing", "get_index_status"),
    ("which projects are indexed", "list_projects"),
    ("I edited one file, update it", "reindex_file"),
    ("the index is damaged, rebuild it from scratch", "reindex_project"),
    ("delete the index of this project", "delete_index"),
    ("search by tag and chunk type", "cortex_search"),
    ("store a note so that I can find it later", "search_add_document"),
    ("search my stored documents for a phrase", "search_index"),
    ("create a new full-text index on disk", "search_create_index"),
    ("find a tool of another server", "search_tools"),
    ("show the input schema of a tool", "get_tool"),
    ("run a tool of another server", "call_tool"),
]


@pytest.fixture(scope="module")
def own_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    """The catalogue of Findspot's own tools, as `findspot tools index` makes it."""
    folder = tmp_path_factory.mktemp("tools")
    sent = [wire_tool(tool, enhanced=False).model_dump(by_alias=True, mode="json") for tool in all_tools()]
    listed = folder / "findspot.json"
    listed.write_text(json.dumps({"tools": sent}), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "home", lambda: folder / "user")
        catalogue = Catalogue(folder, folder / "home", open_embedder)
    catalogue.indexer.index([listed], BuildOptions(), provider=IN_THE_BOX, agree=list)
    yield catalogue
    catalogue.close()


@pytest.mark.parametrize(("request_text", "tool"), REQUESTS)
def test_a_request_finds_its_tool_first(own_tools: Catalogue, request_text: str, tool: str) -> None:
    names = [reference.name for reference in own_tools.search(request_text).tools]
    assert names[:1] == [f"findspot__{tool}"]


def test_every_tool_has_a_request() -> None:
    assert {tool for _, tool in REQUESTS} == {tool.name for tool in all_tools()}


def test_the_documentation_says_more_than_a_model_reads() -> None:
    for tool in all_tools():
        sent = sent_schema(tool.input_schema)
        assert list(sent["properties"]) == list(tool.input_schema["properties"])
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("$comment") or schema.get("description"), (tool.name, name)
            assert not {"$comment", "minLength", "title", "anyOf"} & set(sent["properties"][name])
