"""`findspot tools call`: the same in a terminal."""

from __future__ import annotations

import signal
from pathlib import Path

from e2e.harness import until
from program import Program
from trust.test_gateway_calls import Gateway, gateway

__all__ = ["gateway"]


def test_a_tool_is_called_in_a_terminal(gateway: Gateway, tmp_path: Path, home: Path) -> None:
    """documents B1: `findspot tools call NAME --args JSON`."""
    done = gateway.run("call", "any__add", "--args", '{"a": 2, "b": 40}')
    assert (done.code, done.out, done.err) == (0, "42\n", "")
    file = tmp_path / "arguments.json"
    file.write_text('{"a": 1, "b": 1}')
    added = gateway.run("call", "add", "--args", '{"a": 1, "b": 1}', "--json").json
    assert added["structuredContent"]["status"] == 2
    with file.open() as given:
        assert gateway.run("call", "add", "--args", "-", stdin=given).out == "2\n"
    every = gateway.run("call", "any__everything")
    assert every.out == "a text\na note\n"
    assert "[image image/png 20 bytes; --json shows it]" in every.err
    failed = gateway.run("call", "any__fail")
    assert (failed.code, failed.out) == (1, "It did not work.\n")
    for given, expected in (
        ("[1]", "must be a JSON object"),
        ("{", "not valid JSON"),
    ):
        refused = gateway.run("call", "any__add", "--args", given)
        assert refused.code == 2
        assert expected in refused.err, refused.err

    refused = gateway.run("call", "any__erase", "--json")
    assert (refused.code, refused.json["status"]) == (2, "confirmation_required")
    assert gateway.run("call", "any__erase", "--yes").out == "erase {}\n"
    logged = gateway.run("log", "--json").json["calls"]
    assert [call["outcome"] for call in logged[:2]] == ["ok", "error"]
    assert {call["client"] for call in logged} == {"command line"}


def test_progress_and_ctrl_c(gateway: Gateway, findspot: Program) -> None:
    """documents B1: progress on a terminal, and Ctrl-C cancels the call at its server."""
    environment = {"HOME": str(gateway.user)}
    counted = findspot.on_terminal(
        "tools", "call", "any__count", answers={}, cwd=gateway.root, env=environment
    )
    assert "step 2 (2 of 3)" in counted.err
    assert gateway.run("call", "any__ask").out == "cancel None\n", "a server that asks is not answered"
    with findspot.start("tools", "call", "any__wait", cwd=gateway.root, env=environment) as running:
        until(lambda: "wait started" in gateway.calls())
        running.send_signal(signal.SIGINT)
        running.communicate()
    assert running.returncode == 130
    assert gateway.calls()[-1] == "wait cancelled"
