"""Pasted messages, over small real projects: the place that holds the words comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from contents import indexed_project
from findspot import Project, Query
from findspot.core.model import Hit, Mode, Strength
from findspot.rank.signals import WORDING

MakeProject = Callable[..., Project]

TREE = b"""package gin

func (n *node) insertChild(path string, fullPath string, handlers HandlersChain) {
	for {
		wildcard, i, valid := findWildcard(path)
		if i < 0 {
			break
		}
		if !valid {
			panic("only one wildcard per path segment is allowed, has: '" +
				wildcard + "' in path '" + fullPath + "'")
		}
		if len(wildcard) < 2 {
			panic("wildcards must be named with a non-empty name in path '" + fullPath + "'")
		}
		n.priority++
	}
	n.handlers = handlers
}
"""
PATHS = b"""package gin

// cleanPath allows only one slash per path segment: it is the URL version of path.Clean for a path.
func cleanPath(path string) string {
	return path
}

// wildcardPath is a path with one wildcard segment. Only one is allowed per path.
func wildcardPath(path string) string {
	return path
}
"""
TEST = b"""package gin

func TestPathWildcard(t *testing.T) {
	assertPanics(t, "only one wildcard per path segment is allowed", wildcardPath)
	assertPanics(t, "only one wildcard per path segment is allowed, has: ':a:b' in path '/x'", wildcardPath)
}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(
        tmp_path_factory.mktemp("messages"), {"tree.go": TREE, "path.go": PATHS, "path_test.go": TEST}
    ) as project:
        yield project


def first(project: Project, text: str, mode: Mode = Mode.HYBRID) -> Hit:
    return project.search(Query(text, mode=mode)).hits[0]


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD])
@pytest.mark.parametrize(
    "message",
    [
        "only one wildcard per path segment is allowed",
        "one wildcard per path segment is",
        "only one wildcard per path segment is allowed, has: ':id:name' in path '/users/:id:name'",
        "wildcards must be named with a non-empty name in path '/users/:'",
        "RuntimeError: only one wildcard per path segment is allowed",
        'panic: wildcards must be named with a non-empty name in path "/users"',
    ],
)
def test_the_place_that_holds_a_message_comes_first(project: Project, message: str, mode: Mode) -> None:
    hit = first(project, message, mode)
    assert (hit.path, hit.strength) == ("tree.go", Strength.STRONG)


def test_a_test_that_alone_holds_a_message_comes_first(make_project: MakeProject) -> None:
    project = make_project({"path.go": PATHS, "path_test.go": TEST})
    project.update()
    assert first(project, "only one wildcard per path segment is allowed").path == "path_test.go"


def test_what_was_found_by_its_wording_says_so(project: Project) -> None:
    hits = project.search(Query("only one wildcard per path segment is allowed", explain=True)).hits
    assert hits[0].why is not None
    assert hits[0].why["wording"] == WORDING
    asked = project.search(Query("which function cleans a path of slashes", explain=True)).hits
    assert all("wording" not in (hit.why or {}) for hit in asked)


@pytest.mark.parametrize(
    "text", ["x" * 30_000, "a " * 59, "'" * 200, "%s %s %s %s %s", "\\n \\n \\n \\n \\n"]
)
def test_any_text_gets_an_answer(project: Project, text: str) -> None:
    assert text.startswith(project.search(Query(text)).query)
