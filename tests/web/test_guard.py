"""Who is let in: nobody without the token, and no page but our own."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from .served import PATIENCE_S, Home, Served

PROJECTS = "/api/projects"


def test_without_the_token_nothing_is_given(page: Served) -> None:
    """security 19: no cookie holds it, so no other server of this machine is sent it."""
    asked = http.client.HTTPConnection(urlsplit(page.origin).netloc, timeout=PATIENCE_S)
    for path in ("", f"?token={page.token}", "wrong/", "assets/app.js", "api/projects", f"x/{page.token}/"):
        asked.request("GET", f"/{path}")
        response = asked.getresponse()
        assert response.status == 403, path
        assert "token" in response.read().decode()
    for path in ("/", "/assets/app.js", PROJECTS):
        response = page.request("GET", path)
        assert (response.status, response.headers["Set-Cookie"]) == (200, None)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
    ],
)
def test_other_hosts_and_pages_are_not_let_in(page: Served, headers: dict[str, str]) -> None:
    assert page.request("GET", PROJECTS).status == 200
    assert page.request("GET", PROJECTS, **headers).status == 403
    assert page.request("POST", f"{PROJECTS}/x/index", **{"Origin": page.origin} | headers).status == 403


def test_only_our_own_page_may_change_something(page: Served, tmp_path: Path) -> None:
    """A foreign page that learned the address is told apart by the origin that the browser names."""
    for path in (f"projects?path={tmp_path}", "projects/x/delete", "activity/clear"):
        for headers in ({}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "http://evil.example"}):
            assert page.request("POST", f"/api/{path}", **headers).status == 403, (path, headers)
    assert page.request("POST", f"{PROJECTS}?path=relative", Origin=page.origin).status == 400


@pytest.mark.parametrize("path", ["", "  ", "src", "/", "~", "/no/such/folder", "/etc/passwd"])
def test_only_folders_of_projects_are_indexed(page: Served, path: str) -> None:
    status, told = page.ask("projects", "POST", path=path)
    assert status in (400, 404), told
    assert told["userMessage"]


def test_our_own_page_is_let_in(page: Served) -> None:
    ours = {"Origin": page.origin, "Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}
    assert page.request("GET", PROJECTS, **ours).status == 200
    assert page.request("GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200


def test_only_our_own_files_may_run(page: Served) -> None:
    headers = page.request("GET", "/").headers
    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert "require-trusted-types-for 'script'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["../routes.py", "..%2froutes.py", "%2e%2e/guard.py", "/etc/passwd", ""])
def test_nothing_but_the_pages_files_is_served(page: Served, name: str) -> None:
    response = page.request("GET", f"/assets/{name}")
    assert response.status == 404
    assert "starlette" not in response.read().decode()


def test_a_port_that_is_taken_is_told(page: Served, indexed: tuple[Home, Path]) -> None:
    home, root = indexed
    port = page.origin.rpartition(":")[2]
    command = [sys.executable, "-m", "findspot", "ui", "--no-open", "--port", port]
    ended = subprocess.run(
        command, cwd=root, env=home.environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    assert f"Another program uses port {port} of 127.0.0.1" in ended.stderr
