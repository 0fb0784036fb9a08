"""What a release publishes: metadata, the registry's entry, the desktop bundle, the image, the workflows."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

import findspot
from findspot.core.settings import KEYS
from findspot.serve.cli.server_commands import serve
from findspot.serve.mcp.http_server import HEALTH

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "fixtures" / "schemas"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def script(name: str) -> ModuleType:
    """Load a program of the folder `release`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def manifests() -> ModuleType:
    return script("manifests")


def check(name: str, value: Any) -> None:
    """Check a value against one of the schemas, including its formats."""
    schema = json.loads((SCHEMAS / name).read_text("utf-8"))
    jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(value)


def test_the_metadata_are_complete() -> None:
    """first-impression A14: addresses, authors, and a classifier per Python version of the test matrix."""
    assert PROJECT["version"] == findspot.__version__
    assert {"Homepage", "Source", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    assert PROJECT["authors"]
    stated = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line}
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]["strategy"]
    assert stated == set(matrix["matrix"]["python"])
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in stated


def test_the_library_does_not_pin_what_it_depends_on() -> None:
    """first-impression A14: a library states ranges; only development pins."""
    extras = PROJECT["optional-dependencies"]
    for requirement in [*PROJECT["dependencies"], *extras["languages"], *extras["lance"], *extras["minilm"]]:
        assert "==" not in requirement
        assert "<" in requirement, f"{requirement}: no upper bound"


def test_generated_files_are_up_to_date(manifests: ModuleType) -> None:
    """Run `python release/manifests.py` after a change of pyproject.toml."""
    for path, text in manifests.files().items():
        assert path.read_text("utf-8") == text, path.relative_to(ROOT)


def test_the_registry_accepts_server_json(manifests: ModuleType) -> None:
    """The schema, and what the registry checks beyond it: the name in the README and in the image."""
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    check("server-2025-12-11.json", entry)
    assert len(entry["description"]) <= 100
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert f'io.modelcontextprotocol.server.name="{entry["name"]}"' in (ROOT / "Dockerfile").read_text()
    with pytest.raises(jsonschema.ValidationError):
        check("server-2025-12-11.json", entry | {"name": "findspot"})


def test_the_bundle_is_valid_and_holds_what_it_names(manifests: ModuleType, tmp_path: Path) -> None:
    """The schema of manifest 0.4; the same source always gives the same bytes."""
    bundle = manifests.pack(tmp_path)
    first = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        assert archive.namelist() == ["manifest.json", "pyproject.toml", "src/server.py"]
        manifest = json.loads(archive.read("manifest.json"))
        inner = tomllib.loads(archive.read("pyproject.toml").decode())
    check("mcpb-manifest-0.4.json", manifest)
    assert manifest["server"]["entry_point"] == "src/server.py"
    assert inner["project"]["dependencies"] == [f"findspot=={PROJECT['version']}"]
    assert manifests.pack(tmp_path).read_bytes() == first
    with pytest.raises(jsonschema.ValidationError):
        check("mcpb-manifest-0.4.json", manifest | {"server": {"type": "uv"}})


def test_the_image_runs_as_an_ordinary_user_and_keeps_its_index_in_a_volume() -> None:
    """first-impression M5: nobody needs root, and only /index is written."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    words = [line.split(maxsplit=1) for line in lines if re.match(r"[A-Z]+ ", line)]
    final = words[[i for i, (word, _) in enumerate(words) if word == "FROM"][-1] :]
    given = dict(final)
    assert given["USER"] == "findspot"
    assert given["VOLUME"] == '["/index"]'
    assert given["ENTRYPOINT"] == '["findspot"]'
    assert any("FINDSPOT_HOME=/index" in line for line in lines)
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]
    assert all((ROOT / name).exists() for name in allowed)
    assert {"src", "pyproject.toml", "hatch_build.py", "README.md"} <= set(allowed)


def test_the_kubernetes_example_is_locked_down_and_probes_what_there_is() -> None:
    """A read-only root file system, no rights, and probes of addresses that the server has."""
    documents = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text()))
    kinds = {document["kind"]: document for document in documents}
    deployment, service, budget = (kinds[kind] for kind in ("Deployment", "Service", "PodDisruptionBudget"))
    pod = deployment["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert str(pod["securityContext"]["runAsUser"]) in (ROOT / "Dockerfile").read_text()
    for container in (server, *pod["initContainers"]):
        locked = container["securityContext"]
        assert locked["readOnlyRootFilesystem"] is True
        assert locked["allowPrivilegeEscalation"] is False
        assert locked["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]
        mounted = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        writable = {path for path, mount in mounted.items() if not mount.get("readOnly")}
        environment = {variable["name"]: variable["value"] for variable in container["env"]}
        assert writable == {environment["FINDSPOT_HOME"], environment["HOME"]}
        assert {mount["name"] for mount in mounted.values()} <= {volume["name"] for volume in pod["volumes"]}
        known = {key.variable for key in KEYS} | {"HOME", "FINDSPOT_HOME", "PROJECTS"}
        assert set(environment) <= known
    probes = {name: server[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {probe["path"] for probe in probes.values()} == {HEALTH}
    command, *options = server["args"]
    assert command == "serve"
    given = serve.make_context("serve", options).params
    assert given["read_only"]
    assert str(server["ports"][0]["containerPort"]) in given["http"]
    assert Path(given["tokens"]).parent == Path("/etc/findspot")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == budget["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["ports"][0]["targetPort"] == server["ports"][0]["name"]


def test_the_units_of_systemd_start_what_there_is() -> None:
    lines = (ROOT / "deploy/findspot.service").read_text().splitlines()
    (start,) = [line.split("=", 1)[1] for line in lines if line.startswith("ExecStart=")]
    assert serve.make_context("serve", start.split()[2:]).params["read_only"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_their_actions_and_grant_little(path: Path) -> None:
    """Every action has a version, and only jobs that need more than reading say so."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        for step in job["steps"]:
            used = step.get("uses", "")
            assert not used or re.search(r"@v\d+(\.\d+)*$", used), f"{name}: {used}"


def test_the_matrix_covers_three_systems_and_four_versions() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]["strategy"]
    systems = matrix["matrix"]["system"]
    assert {"ubuntu-latest", "macos-latest", "windows-latest"} <= set(systems)
    assert matrix["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_a_release_is_refused_unless_everything_agrees(tmp_path: Path) -> None:
    """The address in the metadata must be that of the repository that publishes."""
    problems = script("check_tag").problems
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nversion = "1.2.3"\n[project.urls]\nSource = "https://github.com/ann/shop"\n'
    )
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3 (2026-01-31)\n")
    assert problems("v1.2.3", "ann/shop", tmp_path) == []
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3 (unreleased)\n")
    assert len(problems("v1.2.4", "bob/shop", tmp_path)) == 3


def test_publishing_needs_no_password_and_attests() -> None:
    """Trusted publishing: the job proves who it is, and attests what it built."""
    text = (ROOT / ".github/workflows/release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["build"]["permissions"]["attestations"] == "write"
    assert "secrets." not in text
    assert "password" not in jobs["publish"]["steps"][-1]["with"]
