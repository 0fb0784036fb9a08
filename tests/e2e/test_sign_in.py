"""Single sign-on: an MCP client finds the issuer, logs in there, and sees the projects of its groups."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from e2e.door import Door, opened, post, request
from e2e.harness import Connection, connected
from e2e.sample import make_sample
from e2e.test_team import entry
from oidc_issuer import OidcIssuer

ADMIN = "token-of-the-admin"


@dataclass
class Site:
    """A server that accepts a static token and those of an issuer."""

    door: Door
    issuer: OidcIssuer
    tokens: Path
    shop: Path
    secret: Path
    portal: BlockingPortal

    def join(self, token: str, mode: str = "legacy") -> AbstractContextManager[Connection]:
        carrier = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
        return connected(self.portal, streamable_http_client(self.door.address, http_client=carrier), mode)

    def write_tokens(self, groups: dict[str, Any]) -> None:
        oidc = {"issuer": self.issuer.origin, "audience": self.door.address, "groups": groups}
        self.tokens.write_text(json.dumps({"tokens": [entry(ADMIN, "*")], "oidc": oidc}))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("sign-in").resolve()
    shop, secret, home = make_sample(folder / "shop"), make_sample(folder / "secret"), folder / "home"
    home.mkdir()
    tokens = home / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [entry(ADMIN, "*")]}))
    limits = {"FINDSPOT_HTTP_REQUESTS_PER_SECOND": "500"}
    with OidcIssuer() as issuer, opened(home, folder, "--tokens", str(tokens), **limits) as door:
        issuer.audience = issuer.url = door.address
        site = Site(door, issuer, tokens, shop, secret, portal)
        site.write_tokens({"shop-developers": [str(shop)], "platform": "*"})
        with site.join(ADMIN) as admin:
            for project in (shop, secret):
                admin.values("index_codebase", path=str(project), confirm=True)
        yield site


class Memory(TokenStorage):
    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def login(site: Site) -> OAuthClientProvider:
    """The SDK's own login, with a browser that agrees to everything."""
    came_back: dict[str, str] = {}

    async def browse(address: str) -> None:
        try:
            urllib.request.build_opener(_NoRedirect).open(address, timeout=180)
        except urllib.error.HTTPError as redirect:
            query = urllib.parse.urlsplit(redirect.headers["Location"]).query
            came_back.update(urllib.parse.parse_qsl(query))

    async def result() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**came_back)

    client = OAuthClientMetadata(
        redirect_uris=[AnyUrl("http://127.0.0.1:1/callback")],
        client_name="test",
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(site.door.address, client, Memory(), browse, result)


def test_a_client_that_knows_only_the_address_logs_in(site: Site) -> None:
    """401, the metadata of the resource, the issuer's metadata, its login, and the answer."""
    site.issuer.user = ("carol", ["shop-developers"])
    carrier = create_mcp_http_client(auth=login(site))
    transport = streamable_http_client(site.door.address, http_client=carrier)
    with connected(site.portal, transport, "legacy") as client:
        listed = [found["path"] for found in client.values("list_projects")["projects"]]
        assert listed == [str(site.shop)]
        assert client.values("search_code", query="check a password", path=str(site.shop))["results"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_groups_decide_what_is_seen(site: Site, mode: str) -> None:
    with site.join(site.issuer.token("alice", ["shop-developers", "lunch"]), mode) as alice:
        assert alice.values("search_code", query="check a password", path=str(site.shop))["results"]
        assert alice.refusal("search_code", query="login", path=str(site.secret))[0] == "PATH_NOT_FOUND"
    with site.join(site.issuer.token("root", ["platform"]), mode) as root:
        assert root.values("list_projects")["total"] == 2
    with site.join(ADMIN, mode) as admin:
        assert admin.values("list_projects")["total"] == 2


def test_who_is_not_let_in_is_told_why(site: Site) -> None:
    """Attack tokens have unit tests; here is what a client gets over the wire, and what is counted."""
    challenge = post(site.door.address)
    metadata = challenge.headers["WWW-Authenticate"].split('resource_metadata="')[1].rstrip('"')
    assert challenge.status == 401
    assert metadata.startswith(site.door.address.removesuffix("/mcp"))
    described = json.load(request(site.door.address, "GET", path=urllib.parse.urlsplit(metadata).path))
    assert described["authorization_servers"] == [site.issuer.origin]
    assert described["resource"] == site.door.address

    def refused(token: str) -> tuple[int, str, str]:
        answer = post(site.door.address, Authorization=f"Bearer {token}")
        return answer.status, answer.headers.get("WWW-Authenticate", ""), json.load(answer)["error"]

    status, challenged, error = refused(site.issuer.token("alice", [], exp=1))
    assert (status, error) == (401, "Signature has expired")
    assert 'error="invalid_token"' in challenged
    assert refused(site.issuer.token("alice", ["shop-developers"], aud="https://other/mcp"))[0] == 401
    assert refused(site.issuer.token("alice", ["lunch"]))[::2] == (403, "your groups have no project here")
    head, claims, _ = site.issuer.token("alice", ["platform"]).split(".")
    assert refused(f"{head}.{claims}.")[0] == 401
    logs = "".join(file.read_text() for file in (site.tokens.parent / "logs").iterdir())
    for reason in ("Signature has expired", "Audience doesn", "your groups have", "Signature verification"):
        assert reason in logs
    assert claims not in logs


def test_a_session_belongs_to_the_person(site: Site) -> None:
    """A renewed token continues it; somebody else's does not, nor does a static one."""
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}

    def status(token: str, session: str) -> int:
        return post(
            site.door.address, listing, Authorization=f"Bearer {token}", Mcp_Session_Id=session
        ).status

    mine = site.issuer.token("alice", ["shop-developers"])
    session = post(site.door.address, Authorization=f"Bearer {mine}").headers["Mcp-Session-Id"]
    assert status(site.issuer.token("alice", ["shop-developers"], exp=4_000_000_000), session) == 200
    assert status(site.issuer.token("mallory", ["platform"]), session) == 404
    assert status(ADMIN, session) == 404


def test_keys_change_and_the_issuer_goes_away(site: Site) -> None:
    """A new key is found at once; edits of groups count at once; without the issuer, known keys work."""
    site.issuer.rotate()
    token = site.issuer.token("alice", ["late-group"])
    assert post(site.door.address, Authorization=f"Bearer {token}").status == 403
    site.write_tokens({"late-group": [str(site.secret)]})
    assert post(site.door.address, Authorization=f"Bearer {token}").status == 200
    site.issuer.__exit__()
    assert post(site.door.address, Authorization=f"Bearer {token}").status == 200
    oidc = {"issuer": site.issuer.origin, "audience": [site.door.address, "other"], "groups": {"g": "*"}}
    site.tokens.write_text(json.dumps({"tokens": [entry(ADMIN, "*")], "oidc": oidc}))
    answer = post(site.door.address, Authorization=f"Bearer {token}")
    assert answer.status == 503
    assert site.issuer.origin in json.load(answer)["error"]
    assert post(site.door.address, Authorization=f"Bearer {ADMIN}").status == 200
