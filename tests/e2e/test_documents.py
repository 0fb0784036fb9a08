"""The named full-text indexes through a real client: every field, default, limit and error text."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e.conftest import Connect
from e2e.harness import Connection, text_of

CONTENT = "Rate limiting protects APIs from abuse by throttling request frequency."


@pytest.fixture(scope="module")
def server(connect: Connect, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A server of these tools alone, with little memory for indexes."""
    folder = tmp_path_factory.mktemp("documents")
    settings = {"FINDSPOT_TOOLSETS": "documents", "FINDSPOT_DOCUMENTS_MAX_MEMORY": "8MB"}
    with connect(folder, home=folder / "home", env=settings) as connection:
        yield connection


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, server: Connection) -> str:
    """A new index of either backend."""
    name = f"index-{uuid.uuid4().hex[:8]}"
    made = server.values("search_create_index", index_name=name, backend=request.param)
    assert made == {"status": "created", "index_name": name, "backend": request.param}
    return name


@pytest.fixture
def add(server: Connection, index: str) -> Callable[..., dict[str, Any]]:
    def add_one(doc_id: str, content: str, **metadata: Any) -> dict[str, Any]:
        given = {"metadata": metadata} if metadata else {}
        return server.values("search_add_document", doc_id=doc_id, content=content, index_name=index, **given)

    return add_one


Add = Callable[..., dict[str, Any]]


def error(server: Connection, name: str, /, **arguments: Any) -> str:
    """The text of a call that must fail: one field, structured and as text alike."""
    result = server.call(name, **arguments)
    assert result.is_error
    assert isinstance(result.structured_content, dict)
    assert list(result.structured_content) == ["error"]
    message = result.structured_content["error"]
    assert f'"error": "{message[:20]}' in text_of(result).replace('\\"', '"')
    return str(message)


def ids(answer: dict[str, Any]) -> list[str]:
    return [found["doc_id"] for found in answer["results"]]


def test_only_these_tools_are_offered_in_order(server: Connection) -> None:
    assert list(server.tools) == ["search_index", "search_add_document", "search_create_index"]
    for tool in server.tools.values():
        assert all((tool.title, tool.description, tool.icons))
        assert "required" not in (tool.output_schema or {})
    search, add, create = (server.tools[name] for name in server.tools)
    assert search.input_schema["required"] == ["query"]
    assert search.input_schema["properties"]["k"]["default"] == 10
    assert search.input_schema["properties"]["index_name"]["default"] == "default"
    assert add.input_schema["required"] == ["doc_id", "content"]
    assert add.input_schema["properties"]["index_name"]["default"] == "default"
    assert create.input_schema["required"] == ["index_name"]
    assert create.input_schema["properties"]["backend"]["default"] == "memory"
    config = create.input_schema["properties"]["tokenizer_config"]["properties"]
    assert (config["lowercase"]["default"], config["min_length"]["default"]) == (True, 2)
    hints = [tool.annotations for tool in (search, add, create)]
    assert [hint.read_only_hint for hint in hints if hint] == [True, False, False]
    assert [hint.idempotent_hint for hint in hints if hint] == [True, True, False]


def test_the_default_index_needs_no_name(server: Connection) -> None:
    answer = server.values(
        "search_add_document", doc_id="readme", content=CONTENT, metadata={"type": "readme"}
    )
    assert answer == {"status": "indexed", "doc_id": "readme", "token_count": 10}
    found = server.values("search_index", query="throttling")
    assert ids(found) == ["readme"]
    assert server.values("search_index", query="throttling", index_name="default") == found


def test_every_field_of_an_answer(server: Connection, index: str, add: Add) -> None:
    add("doc-001", "Python for machine learning, and more Python.", author="Smith", year=2026)
    add("doc-002", "Java for the web")
    answer = server.values("search_index", query='+python "machine learning"', index_name=index)
    idf = math.log(2 / 2) + 1
    assert answer == {
        "results": [
            {
                "doc_id": "doc-001",
                "score": pytest.approx(2 * idf + idf + idf),
                "highlights": [
                    "Python for machine learning, and mor...",
                    "...or machine learning, and more Python.",
                ],
                "metadata": {"author": "Smith", "year": 2026},
            }
        ],
        "total_matches": 1,
        "query_parsed": {"terms": [], "must": ["python"], "must_not": [], "phrases": ["machine learning"]},
    }
    answer = server.values("search_index", query="Web -Green", index_name=index)
    assert answer["query_parsed"] == {"terms": ["web"], "must": [], "must_not": ["green"], "phrases": []}
    assert [found["metadata"] for found in answer["results"]] == [{}]


def test_k_is_ten_and_bounded_and_ties_go_by_id(server: Connection, index: str, add: Add) -> None:
    for number in reversed(range(12)):
        add(f"d{number:02}", "same words")
    answer = server.values("search_index", query="words", index_name=index)
    assert ids(answer) == [f"d{number:02}" for number in range(10)]
    assert answer["total_matches"] == 12
    assert ids(server.values("search_index", query="words", index_name=index, k=1)) == ["d00"]
    assert len(ids(server.values("search_index", query="words", index_name=index, k="11"))) == 11
    above = server.values("search_index", query="words", index_name=index, k=1001)
    assert above["warning"] == "k was lowered from 1001 to its maximum of 1000."
    assert error(server, "search_index", query="words", index_name=index, k=0) == (
        "'k' must be a whole number from 1 to 1000, not 0."
    )


def test_adding_again_re_indexes(server: Connection, index: str, add: Add) -> None:
    assert add("a", "Python rate limiting with token buckets")["token_count"] == 6
    again = add("a", "Something else", v=2)
    assert again == {"status": "re-indexed", "doc_id": "a", "token_count": 2}
    assert server.values("search_index", query="python", index_name=index)["total_matches"] == 0
    (found,) = server.values("search_index", query="something", index_name=index)["results"]
    assert found["metadata"] == {"v": 2}
    for query in ("", "   \n"):
        answer = server.values("search_index", query=query, index_name=index)
        assert answer == {"results": [], "total_matches": 0}


def test_unknown_indexes(server: Connection) -> None:
    assert error(server, "search_index", query="x", index_name="nope") == "Index not found: nope"
    assert error(server, "search_index", query="", index_name="nope") == "Index not found: nope"
    assert error(server, "search_index", query="x", index_name="../nope") == "Index not found: ../nope"
    given = {"doc_id": "a", "content": "text", "index_name": "nope"}
    assert error(server, "search_add_document", **given) == "Index not found: nope"


@pytest.mark.parametrize(
    "given", [{"content": ""}, {"content": " \n"}, {}, {"content": None}, {"content": 5}]
)
def test_blank_or_missing_content(server: Connection, given: dict[str, Any]) -> None:
    assert error(server, "search_add_document", doc_id="a", **given) == "Content must be a non-empty string"


def test_names_must_be_new_and_safe(server: Connection, index: str) -> None:
    assert error(server, "search_create_index", index_name=index) == f"Index already exists: {index}"
    assert error(server, "search_create_index", index_name="default") == "Index already exists: default"
    for name in ("", "a b", "a/b", "..", "ü"):
        message = error(server, "search_create_index", index_name=name)
        assert message.startswith(f"Invalid index name: {name}.")
    assert error(server, "search_create_index", index_name="x", backend="cloud") == "Unknown backend: cloud"


def test_other_mistakes_are_told_in_the_same_field(server: Connection) -> None:
    assert error(server, "search_index") == "Missing required argument: query"
    assert "Known arguments: query, k, index_name" in error(server, "search_index", query="x", limit=3)
    assert (
        error(server, "search_add_document", doc_id=" ", content="x") == "doc_id must be a non-empty string"
    )
    wrong = error(server, "search_add_document", doc_id="a", content="x", metadata=[1])
    assert wrong == "'metadata' must be an object, not [1]."
