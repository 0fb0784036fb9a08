"""Tokens of an issuer: what is accepted, what is refused and why, and which keys are fetched when."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.responses import JSONResponse, Response

from findspot.core.errors import InvalidArgumentError
from findspot.serve.mcp import access
from findspot.serve.mcp.access import (
    Grants,
    Identity,
    Issuer,
    OidcSettings,
    TokenRefusedError,
    read_access,
)
from oidc_issuer import DISCOVERY, KEYS, OidcIssuer

AUDIENCE = "https://findspot.example.com/mcp"


@pytest.fixture(scope="module")
def issuer() -> Iterator[OidcIssuer]:
    with OidcIssuer(audience=AUDIENCE) as issuer:
        yield issuer


def settings(issuer: OidcIssuer, **changed: Any) -> OidcSettings:
    return OidcSettings.model_validate(
        {"issuer": issuer.origin, "audience": AUDIENCE, "groups": {}, **changed}
    )


def verify(checker: Issuer, token: str | bytes) -> Identity:
    return checker.identity(token.encode() if isinstance(token, str) else token)


def why(checker: Issuer, token: str | bytes, status: int = 401) -> str:
    with pytest.raises(TokenRefusedError) as refused:
        verify(checker, token)
    assert refused.value.status == status
    return str(refused.value)


def unsigned(claims: dict[str, Any], header: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


class TestTokens:
    @pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
    def test_every_common_algorithm_is_accepted(self, algorithm: str) -> None:
        with OidcIssuer(audience=AUDIENCE, algorithm=algorithm) as issuer:
            checker = Issuer(settings(issuer))
            assert verify(checker, issuer.token("alice", ["a", "b"])) == Identity("alice", frozenset("ab"))

    def test_claims_of_groups_may_be_nested_and_audiences_several(self, issuer: OidcIssuer) -> None:
        nested = Issuer(settings(issuer, groupsClaim="realm_access.roles", audience=["x", AUDIENCE],
                                 resource=AUDIENCE))  # fmt: skip
        token = issuer.token("alice", [], realm_access={"roles": ["dev", 7]}, aud=["other", AUDIENCE])
        assert verify(nested, token).groups == {"dev"}
        single = Issuer(settings(issuer, groupsClaim="https://example.com/team"))
        assert verify(single, issuer.token("a", [], **{"https://example.com/team": "dev"})).groups == {"dev"}

    def test_attacks_are_refused_and_say_why(self, issuer: OidcIssuer) -> None:
        """No signature, the public key as a secret, another key under a known id, changed claims."""
        checker, claims = Issuer(settings(issuer)), issuer.claims("mallory", ["admins"])
        good = issuer.token("alice", ["dev"])
        assert verify(checker, good).subject == "alice"
        for algorithm in ("none", "NONE", "HS256", "ES256K", "", 7, ["RS256"], {"RS256": 1}):
            assert "lg" in why(checker, unsigned(claims, {"alg": algorithm, "kid": issuer.key_id}))
        public = issuer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        signer = jwt.PyJWS()
        signer._algorithms["HS256"].prepare_key = lambda key: key  # type: ignore[method-assign]
        forged = signer.encode(json.dumps(claims).encode(), public, "HS256", {"kid": issuer.key_id})
        assert "alg value is not allowed" in why(checker, forged)
        with OidcIssuer(audience=AUDIENCE) as other:
            stolen = jwt.encode(claims, other.key, "RS256", {"kid": issuer.key_id})
            embedded = {"kid": issuer.key_id, "jwk": other.published["key-1"], "jku": f"{other.origin}{KEYS}"}
            led_away = jwt.encode(claims, other.key, "RS256", embedded)
            assert not other.seen
        head, _, signature = good.split(".")
        body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
        for changed in (stolen, led_away, f"{head}.{body}.{signature}", f"{head}.{body}."):
            assert "Signature verification failed" in why(checker, changed)
        other_way = jwt.encode(claims, issuer.key, "RS512", {"kid": issuer.key_id})
        assert "does not match the key's algorithm" in why(checker, other_way)
        assert why(checker, "a.b.c")
        assert why(checker, b"\xff.\xff.\xff")

    def test_claims_are_checked(self, issuer: OidcIssuer) -> None:
        checker, now = Issuer(settings(issuer)), int(time.time())
        refused: dict[str, dict[str, Any]] = {
            "Audience": {"aud": "https://other.example.com"},
            "issuer": {"iss": "https://evil.example.com"},
            "expired": {"exp": now - 3_600},
            "not yet valid": {"nbf": now + 3_600},
        }
        for reason, claims in refused.items():
            assert reason in why(checker, issuer.token("alice", [], **claims))
        for missing in ("aud", "iss", "exp", "sub"):
            assert f'missing the "{missing}" claim' in why(checker, issuer.token("a", [], **{missing: None}))
        odd: list[dict[str, Any]] = [{"exp": float("inf")}, {"exp": [1]}, {"nbf": {}}, {"sub": 7}]
        for claims in odd:
            read = json.dumps(issuer.claims("alice", []) | claims).encode()
            assert why(checker, jwt.PyJWS().encode(read, issuer.key, "RS256", {"kid": issuer.key_id}))
        verify(checker, issuer.token("alice", [], exp=now - 30, nbf=now + 30))  # clocks differ a little


UNKNOWN_KEY = "Unable to find a signing key"


class TestKeys:
    def test_a_new_key_is_fetched_and_an_old_one_forgotten(self) -> None:
        with OidcIssuer(audience=AUDIENCE) as issuer:
            checker, old = Issuer(settings(issuer)), issuer.token("alice", [])
            verify(checker, old)
            verify(checker, old)
            assert issuer.paths() == [DISCOVERY, KEYS]
            issuer.rotate()
            verify(checker, issuer.token("alice", []))
            assert UNKNOWN_KEY in why(checker, old)

    def test_unknown_keys_make_few_requests(self, issuer: OidcIssuer) -> None:
        checker = Issuer(settings(issuer))
        issuer.seen.clear()
        for key_id in ("", "key-1\0", *(f"http://127.0.0.1:1/{number}" for number in range(15))):
            guess = jwt.encode(issuer.claims("a", []), issuer.key, "RS256", {"kid": key_id})
            assert UNKNOWN_KEY in why(checker, guess)
        assert issuer.paths().count(KEYS) == 2
        verify(checker, issuer.token("alice", []))

    @pytest.mark.parametrize(
        "changed",
        [{"n": ""}, {"n": 7}, {"e": "Ag"}, {"n": "!"}, {"kty": "EC", "crv": "P-256"}],
    )
    def test_a_key_that_is_none_lets_nobody_in(self, changed: dict[str, Any]) -> None:
        with OidcIssuer(audience=AUDIENCE) as issuer:
            issuer.published["key-1"] |= changed
            with pytest.raises(TokenRefusedError):
                verify(Issuer(settings(issuer)), issuer.token("alice", []))

    def test_those_who_wait_together_start_one_fetch(self) -> None:
        with OidcIssuer(audience=AUDIENCE) as issuer:
            issuer.answers[DISCOVERY] = Response(status_code=500)
            checker, token = Issuer(settings(issuer)), issuer.token("alice", [])
            with ThreadPoolExecutor(20) as together:
                answers = list(together.map(lambda _: why(checker, token, 503), range(20)))
            assert all(issuer.origin in answer for answer in answers)
            assert issuer.paths() == [DISCOVERY]

    def test_known_keys_work_while_the_issuer_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(access, "KEYS_S", 1e-9)
        with OidcIssuer(audience=AUDIENCE) as issuer:
            checker, token = Issuer(settings(issuer)), issuer.token("alice", [])
            verify(checker, token)
            issuer.answers[KEYS] = JSONResponse({"keys": "many"})
            verify(checker, token)
        verify(checker, token)

    @pytest.mark.parametrize(
        ("path", "answer"),
        [
            (DISCOVERY, JSONResponse({"issuer": "https://other.example.com", "jwks_uri": "https://x/keys"})),
            (DISCOVERY, Response("no JSON")),
            (DISCOVERY, Response(status_code=302, headers={"Location": "https://other.example.com"})),
            (DISCOVERY, JSONResponse([])),
            (KEYS, JSONResponse({"keys": [7]})),
            (KEYS, Response(status_code=500)),
        ],
    )
    def test_what_an_issuer_may_not_answer(self, path: str, answer: Response) -> None:
        with OidcIssuer(audience=AUDIENCE) as issuer:
            issuer.answers[path] = answer
            assert issuer.origin in why(Issuer(settings(issuer)), issuer.token("alice", []), 503)

    def test_an_unsafe_address_of_keys_is_not_asked(self) -> None:
        with OidcIssuer(audience=AUDIENCE) as issuer:
            metadata = {"issuer": issuer.origin, "jwks_uri": "http://example.com/keys"}
            issuer.answers[DISCOVERY] = JSONResponse(metadata)
            assert "no https address" in why(Issuer(settings(issuer)), issuer.token("alice", []), 503)


class TestFile:
    def test_groups_allow_together(self, tmp_path: Path) -> None:
        file = tmp_path / "tokens.json"
        oidc: dict[str, Any] = {"issuer": "https://login.example.com", "audience": AUDIENCE}
        groups = {"shop": [str(tmp_path / "shop")], "docs": ["0" * 32], "ops": "*"}
        file.write_text(json.dumps({"oidc": oidc | {"groups": groups}}))
        grants = Grants(file=file)
        assert grants.of_identity(Identity("eve", frozenset({"other"}))) is None
        both = grants.of_identity(Identity("alice", frozenset({"shop", "docs"})))
        assert both is not None
        assert (both.name, both.everything) == ("oidc:alice", False)
        assert both.allows(tmp_path / "shop")
        assert both.knows("0" * 32)
        assert not both.allows(tmp_path / "other")
        everything = grants.of_identity(Identity("root", frozenset({"ops"})))
        assert everything is not None
        assert everything.everything
        assert grants.of(b"") is None

    @pytest.mark.parametrize(
        "oidc",
        [
            "https://login.example.com",
            {"issuer": "http://login.example.com", "audience": AUDIENCE, "groups": {}},
            {"issuer": "ftp://login.example.com", "audience": AUDIENCE, "groups": {}},
            {"issuer": "https://user:pass@login.example.com", "audience": AUDIENCE, "groups": {}},
            {"issuer": "https://login.example.com?a=1", "audience": AUDIENCE, "groups": {}},
            {"issuer": "https://löwe.example.com", "audience": AUDIENCE, "groups": {}},
            {"issuer": "https://login.example.com", "audience": f"{AUDIENCE}/é", "groups": {}},
            {"issuer": "https://login.example.com", "groups": {}},
            {"issuer": "https://login.example.com", "audience": "api://findspot", "groups": {}},
            {"issuer": "https://login.example.com", "audience": AUDIENCE},
            {"issuer": "https://login.example.com", "audience": AUDIENCE, "groups": {"a": "/srv"}},
            {"issuer": "https://login.example.com", "audience": AUDIENCE, "groups": {}, "algorithm": "HS256"},
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, tmp_path: Path, oidc: Any) -> None:
        file = tmp_path / "tokens.json"
        file.write_text(json.dumps({"tokens": [], "oidc": oidc}))
        with pytest.raises(InvalidArgumentError, match=r"tokens\.json is not valid"):
            read_access(file)

    def test_metadata_names_the_issuer(self) -> None:
        oidc = {"issuer": "https://login.example.com", "audience": "api://x", "resource": AUDIENCE}
        read = OidcSettings.model_validate(oidc | {"scopes": ["openid"], "groups": {}})
        assert read.metadata_address == (
            "https://findspot.example.com/.well-known/oauth-protected-resource/mcp"
        )
        assert read.metadata["authorization_servers"] == ["https://login.example.com"]
        assert read.metadata["scopes_supported"] == ["openid"]
