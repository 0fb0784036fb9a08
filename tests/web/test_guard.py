"""Who is let in: nobody without the token, and no page but our own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .served import Home, Served, serving

HOST = "127.0.0.1"

PROJECTS = "/api/projects"


def test_without_the_token_nothing_is_given(page: Served) -> None:
    for path in ("/", "/?token=wrong", "/assets/app.js", PROJECTS, "/nothing"):
        response = page.request("GET", path)
        assert response.status == 403, path
        assert "token" in response.read().decode()
        assert response.headers["Set-Cookie"] is None


def test_the_token_in_the_address_gives_a_cookie(page: Served) -> None:
    """security 19: the cookie is for a path that only this page has, and so for no other port."""
    response = page.request("GET", f"/?token={page.token}")
    assert response.status == 303
    below = response.headers["Location"]
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert f"Path={below};" in cookie
    assert len(below) > 20
    carried = {"Cookie": cookie.partition(";")[0]}
    assert page.request("GET", below).status == 200
    assert page.request("GET", f"{below}assets/app.js").status == 200
    assert page.request("GET", f"{below}api/projects", **carried).status == 200
    assert page.request("GET", f"{below}api/projects").status == 403
    assert page.request("GET", f"{below}x/../api/projects").status in (403, 404)
    assert page.request("GET", "/another-path/").status == 403


def test_the_token_in_another_address_is_none(page: Served) -> None:
    assert page.request("GET", f"{PROJECTS}?token={page.token}").status == 403


@pytest.mark.parametrize("cookie", ["", "findspot=", "findspot_1=x", "a=\x01", "; ;=;"])
def test_other_cookies_are_none(page: Served, cookie: str) -> None:
    assert page.request("GET", PROJECTS, Cookie=cookie).status == 403


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
    bearer = {"Authorization": f"Bearer {page.token}"}
    assert page.request("GET", PROJECTS, **bearer).status == 200
    assert page.request("GET", PROJECTS, **bearer, **headers).status == 403
    assert page.request("POST", f"{PROJECTS}/x/index", **bearer, **headers).status == 403


def test_only_our_own_page_may_change_something(page: Served, tmp_path: Path) -> None:
    """A browser that lets a foreign page send the cookie along is told apart by the origin that it names."""
    response = page.request("GET", f"/?token={page.token}")
    below, cookie = response.headers["Location"], response.headers["Set-Cookie"].partition(";")[0]
    for path in (f"api/projects?path={tmp_path}", "api/projects/x/delete", "api/activity/clear"):
        for headers in ({}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "http://evil.example"}):
            assert page.request("POST", below + path, Cookie=cookie, **headers).status == 403, (path, headers)
        assert page.request("POST", below + path, Origin=page.origin).status == 403, "without the cookie"
        assert page.request("GET", below + path, Cookie=cookie).status in (200, 404, 405)
    asked = page.request("POST", f"{below}api/projects?path=relative", Cookie=cookie, Origin=page.origin)
    assert asked.status == 400


@pytest.mark.parametrize("path", ["", "  ", "src", "/", "~", "/no/such/folder", "/etc/passwd"])
def test_only_folders_of_projects_are_indexed(page: Served, path: str) -> None:
    status, told = page.ask("projects", "POST", path=path)
    assert status in (400, 404), told
    assert told["userMessage"]


def test_path_and_token_are_of_one_run(indexed: tuple[Home, Path]) -> None:
    home, root = indexed
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    seen = []
    for _ in range(2):
        with serving(home, root, "--port", str(port)) as served:
            seen.append((served.request("GET", f"/?token={served.token}").headers["Location"], served.token))
            old = {"Cookie": f"findspot_{port}={seen[0][1]}"}
            status = served.request("GET", f"{seen[-1][0]}api/projects", **old).status
            assert status == (200 if len(seen) == 1 else 403)
    assert not set(seen[0]) & set(seen[1])


def test_our_own_page_is_let_in(page: Served) -> None:
    bearer = {"Authorization": f"Bearer {page.token}"}
    ours = {"Origin": page.origin, "Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}
    assert page.request("GET", PROJECTS, **bearer, **ours).status == 200
    clicked = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert page.request("GET", f"/?token={page.token}", **clicked).status == 303


def test_only_our_own_files_may_run(page: Served) -> None:
    for path in (f"/?token={page.token}", "/"):
        headers = page.request("GET", path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert "require-trusted-types-for 'script'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["../routes.py", "..%2froutes.py", "%2e%2e/guard.py", "/etc/passwd", ""])
def test_nothing_but_the_pages_files_is_served(page: Served, name: str) -> None:
    response = page.request("GET", f"/assets/{name}", Authorization=f"Bearer {page.token}")
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
