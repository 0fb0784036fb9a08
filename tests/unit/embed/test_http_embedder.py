"""`http` with a configured program: started when nobody answers, ended with its user."""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

import pytest

from findspot.core.errors import ProviderError
from findspot.core.settings import EmbedSettings
from findspot.embed.embedder import EmbedMode
from findspot.embed.provider_registry import open_embedder
from findspot.embed.services import HttpEmbedder, ServiceProgram

PROGRAM = Path(__file__).with_name("embedding_service.py")


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def command(*arguments: object) -> str:
    return shlex.join([sys.executable, *map(str, arguments)])


def test_the_program_is_started_and_ended(port: int) -> None:
    settings = EmbedSettings("http", endpoint=f"127.0.0.1:{port}", command=command(PROGRAM, port))
    embedder = open_embedder("http", settings)
    assert embedder.dimensions == 3
    assert embedder.embed(["a", "bc"], EmbedMode.PASSAGE).shape == (2, 3)
    embedder.close()
    embedder.close()
    with pytest.raises(ProviderError, match="refused"):
        HttpEmbedder(f"127.0.0.1:{port}").check()


def test_a_service_that_runs_already_is_left_alone(port: int) -> None:
    first = ServiceProgram(command(PROGRAM, port))
    first.ensure(HttpEmbedder(f"127.0.0.1:{port}").check)
    second = ServiceProgram("/nonexistent/program")
    second.ensure(HttpEmbedder(f"127.0.0.1:{port}").check)
    second.close()
    HttpEmbedder(f"127.0.0.1:{port}").check()
    first.close()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("/nonexistent/program", "cannot be started"),
        (command("-c", "raise SystemExit(3)"), "ended with status 3"),
    ],
)
def test_a_program_that_does_not_run(port: int, given: str, reason: str) -> None:
    program = ServiceProgram(given)
    with pytest.raises(ProviderError, match=reason) as caught:
        program.ensure(HttpEmbedder(f"127.0.0.1:{port}").check)
    assert "embedding.command" in caught.value.hint
    program.close()


def test_a_program_that_never_answers_is_given_up(port: int) -> None:
    idle = ServiceProgram(command("-c", "import threading; threading.Event().wait(60)"), start_timeout_s=0)
    with pytest.raises(ProviderError, match="refused") as caught:
        idle.ensure(HttpEmbedder(f"127.0.0.1:{port}").check)
    assert "Start the embedding service" in caught.value.hint
    idle.close()
