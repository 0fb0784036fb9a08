"""An OpenID Connect issuer on a loopback port, whose keys are made by the test that runs it.

with OidcIssuer(audience) as issuer:
    issuer.token("alice", ["shop-developers"])      # as a person gets it
    issuer.rotate()                                 # new tokens have another key
"""

from __future__ import annotations

import json
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from remote_server import RemoteServer

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"


def new_key(algorithm: str) -> Any:
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


@dataclass
class OidcIssuer(RemoteServer):
    """Signs tokens, publishes its keys, and lets MCP clients log in as `user`."""

    audience: str = "findspot"
    algorithm: str = "RS256"
    user: tuple[str, list[str]] = ("carol", [])
    serial: int = 1
    published: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key = new_key(self.algorithm)
        self._publish()

    def rotate(self) -> None:
        """Sign with a new key; the old one is published no more."""
        self.serial += 1
        self.key = new_key(self.algorithm)
        self.published.clear()
        self._publish()

    def _publish(self) -> None:
        public = get_default_algorithms()[self.algorithm].to_jwk(self.key.public_key())
        self.published[self.key_id] = json.loads(public) | {
            "kid": self.key_id,
            "use": "sig",
            "alg": self.algorithm,
        }

    @property
    def key_id(self) -> str:
        return f"key-{self.serial}"

    def claims(self, subject: str, groups: list[str], **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        made = {"iss": self.origin, "aud": self.audience, "sub": subject, "groups": groups, "iat": now}
        made |= {"exp": now + 3600, **changed}
        return {name: value for name, value in made.items() if value is not None}

    def token(self, subject: str, groups: list[str], **changed: Any) -> str:
        claims = self.claims(subject, groups, **changed)
        return jwt.encode(claims, self.key, self.algorithm, {"kid": self.key_id})

    def metadata(self) -> dict[str, Any]:
        return super().metadata() | {"jwks_uri": f"{self.origin}{KEYS}", "scopes_supported": ["openid"]}

    def _oauth(self, request: Request, form: dict[str, str]) -> Response:
        match request.url.path:
            case path if path == DISCOVERY:
                return JSONResponse(self.metadata())
            case path if path == KEYS:
                return JSONResponse({"keys": list(self.published.values())})
            case "/token":
                subject, groups = self.user
                access = self.token(subject, groups, aud=form["resource"])
                return JSONResponse({"access_token": access, "token_type": "bearer", "expires_in": 3600})
            case "/authorize":
                asked = dict(request.query_params)
                back = urllib.parse.urlencode({"code": "code", "state": asked["state"], "iss": self.origin})
                return RedirectResponse(f"{asked['redirect_uri']}?{back}", 302)
        return super()._oauth(request, form)
