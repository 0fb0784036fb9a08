"""Servers that live as long as the tests of this folder, each with another kind of client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.stdio import stdio_client

import warm_start
from e2e.harness import Connection, Folders, Person, Pipe, connected, parameters
from e2e.sample import make_sample

Connect = Callable[..., AbstractContextManager[Connection]]


@pytest.fixture(scope="package")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="package")
def connect(portal: BlockingPortal, home: Path) -> Connect:
    """Start a server in a folder and connect a client to it."""

    @contextmanager
    def started(
        cwd: Path,
        *,
        mode: str = "legacy",
        home: Path = home,
        env: dict[str, str] | None = None,
        **callbacks: Any,
    ) -> Iterator[Connection]:
        transport = stdio_client(parameters(home, cwd, **(env or {})))
        with ExitStack() as opened:
            with warm_start.for_libraries():
                connection = opened.enter_context(connected(portal, transport, mode, **callbacks))
            yield connection

    return started


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project that `server` has indexed; tests leave it as it is."""
    return make_sample(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="package")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which no project can be detected."""
    return tmp_path_factory.mktemp("nowhere").resolve()


@pytest.fixture(scope="package")
def server(connect: Connect, shop: Path) -> Iterator[Connection]:
    """A client that cannot be asked anything, in the indexed sample project."""
    with connect(shop) as connection:
        assert connection.values("index_codebase", path=str(shop), confirm=True)["status"] == "success"
        yield connection


@pytest.fixture(scope="package")
def _talking(connect: Connect, empty_folder: Path) -> Iterator[tuple[Connection, Person]]:
    person = Person()
    with connect(empty_folder, elicitation_callback=person) as connection:
        yield connection, person


@pytest.fixture
def person(_talking: tuple[Connection, Person]) -> Person:
    """Who answers at `talking`; agrees unless told otherwise."""
    _, person = _talking
    person.action, person.content, person.asked = "accept", None, []
    return person


@pytest.fixture
def talking(_talking: tuple[Connection, Person], person: Person) -> Connection:
    """A client that can be asked, in a folder that is no project."""
    return _talking[0]


@pytest.fixture(scope="package")
def _rooted(connect: Connect, empty_folder: Path) -> Iterator[tuple[Connection, Folders]]:
    folders = Folders()
    with connect(empty_folder, list_roots_callback=folders) as connection:
        folders.tell = connection.tell_roots_changed
        yield connection, folders


@pytest.fixture
def folders(_rooted: tuple[Connection, Folders]) -> Folders:
    """The roots of `rooted`."""
    _rooted[1].paths = []
    return _rooted[1]


@pytest.fixture
def rooted(_rooted: tuple[Connection, Folders], folders: Folders) -> Connection:
    """A client with roots, in a folder that is no project."""
    return _rooted[0]


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A sample project of this test alone, not indexed."""
    return make_sample(tmp_path / "project")


@pytest.fixture
def pipe(home: Path, shop: Path) -> Iterator[Pipe]:
    """A bare connection, not initialized."""
    with Pipe(home, shop) as pipe:
        yield pipe
