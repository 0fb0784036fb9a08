"""Bearer tokens of an OpenID Connect issuer: which keys sign them, and what they say about their holder.

This is the one module that uses PyJWT, which the MCP SDK brings. Only asymmetric algorithms are accepted, so
that a public key can never serve as the secret of an HMAC. Keys are fetched when they are first needed, again
when a token names an unknown one, and every hour; while the issuer is away, the last ones are used.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from findspot.core.config import is_loopback
from findspot.core.http_client import Address, RequestFailedError
from findspot.core.log import get_logger

if TYPE_CHECKING:
    import jwt

_log = get_logger("access")

ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
MAX_TOKEN_BYTES = 16_384
FETCH_S = 5.0
MAX_FETCHED_BYTES = 1 << 20
MAX_KEYS = 100
KEYS_S = 3_600.0
"""How long keys are used before they are fetched again."""
FETCHES, FETCHES_S = 5, 60.0
"""Fetches that a stretch of seconds may have, however many unknown keys clients name."""
SKEW_S = 60
"""How far the clocks of the issuer and of this machine may differ."""

_DISCOVERY = "/.well-known/openid-configuration"
_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_MAX_SUBJECT_CHARS = 255


class TokenRefusedError(Exception):
    """A token that is not accepted; `code` is for the log, the message for its holder."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class IssuerUnavailableError(Exception):
    """No token can be checked now, because the issuer's keys are not known."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The issuer whose tokens are accepted, and what clients learn about it."""

    issuer: str
    audiences: tuple[str, ...]
    groups_claim: str
    resource: str
    """The address at which clients reach the server."""
    scopes: tuple[str, ...] = ()

    @property
    def metadata_address(self) -> str:
        """Where clients find the metadata of the protected resource (RFC 9728)."""
        parts = urlsplit(self.resource)
        return f"{parts.scheme}://{parts.netloc}{_WELL_KNOWN}{parts.path.rstrip('/')}"

    @property
    def metadata(self) -> dict[str, Any]:
        scopes = {"scopes_supported": list(self.scopes)} if self.scopes else {}
        return {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Findspot",
            **scopes,
        }


@dataclass(frozen=True, slots=True)
class Identity:
    """Who holds a token, and the groups that the issuer says they are in."""

    subject: str
    groups: frozenset[str]


def is_metadata_path(path: str) -> bool:
    """Return whether a path is one of those at which clients look for the metadata."""
    return path == _WELL_KNOWN or path.startswith(f"{_WELL_KNOWN}/")


def read_settings(fields: Any) -> OidcSettings:
    """Return the settings that a file has; ValueError, saying what is wrong, where they are none."""
    if not isinstance(fields, dict):
        raise ValueError("'oidc' is not an object")
    known = {"issuer", "audience", "groupsClaim", "groups", "resource", "scopes"}
    if unknown := sorted(map(str, set(fields) - known)):
        raise ValueError(f"'oidc' has no field '{unknown[0][:40]}'")
    issuer, claim = fields.get("issuer"), fields.get("groupsClaim", "groups")
    if not isinstance(issuer, str) or not _is_safe(issuer) or "?" in issuer:
        raise ValueError("the issuer of 'oidc' must be an https address (http only on this machine)")
    if not isinstance(claim, str) or not claim:
        raise ValueError("the groupsClaim of 'oidc' must be the name of a claim")
    audiences = _texts(fields.get("audience"), "audience")
    if not audiences:
        raise ValueError("'oidc' needs an audience: the one that tokens for this server are issued for")
    resource = fields.get("resource", audiences[0])
    if not isinstance(resource, str) or not _is_safe(resource):
        raise ValueError("'oidc' needs a resource: the https address at which clients reach this server")
    return OidcSettings(issuer, audiences, claim, resource, _texts(fields.get("scopes", []), "scopes"))


def _texts(value: Any, name: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) and text for text in listed):
        raise ValueError(f"the {name} of 'oidc' must be a text or a list of texts")
    return tuple(listed)


def _is_safe(address: str) -> bool:
    """Return whether an address is https, or http on this machine, and can be shown to clients."""
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    plain = address.isascii() and address.isprintable() and not set(address) & set(' "#\\')
    return named and plain and (parts.scheme == "https" or _is_local(address))


def _is_local(address: str) -> bool:
    return address.startswith("http://") and is_loopback(address)


class Issuer:
    """An issuer whose tokens are accepted; for use by one event loop."""

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._keys: dict[str | None, Mapping[str, Any]] = {}
        self._fetched_at = float("-inf")
        self._attempts: deque[float] = deque(maxlen=FETCHES)
        self._failure = "its keys were not fetched yet"
        self._fetching: asyncio.Future[None] | None = None

    async def identity(self, token: bytes) -> Identity:
        """Return who a token is for; raise if it is not valid, or cannot be checked."""
        import jwt  # takes long, and most servers have no issuer

        if len(token) > MAX_TOKEN_BYTES:
            raise TokenRefusedError("size", "the token is too large")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise TokenRefusedError("format", "the token cannot be read") from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise TokenRefusedError("algorithm", "the token is signed in a way that is not accepted")
        key = await self._key(key_id, algorithm)
        return self._checked(token, key, algorithm)

    def _checked(self, token: bytes, key: jwt.PyJWK, algorithm: str) -> Identity:
        import jwt

        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self.settings.audiences,
                issuer=self.settings.issuer,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
        except jwt.ExpiredSignatureError:
            raise TokenRefusedError("expired", "the token has expired") from None
        except jwt.ImmatureSignatureError:
            raise TokenRefusedError("early", "the token is not valid yet") from None
        except jwt.InvalidAudienceError:
            raise TokenRefusedError("audience", "the token is for another server") from None
        except jwt.InvalidIssuerError:
            raise TokenRefusedError("issuer", "the token is of another issuer") from None
        except jwt.MissingRequiredClaimError as error:
            raise TokenRefusedError("claims", f"the token has no claim {error.claim}") from None
        except (jwt.PyJWTError, ValueError, TypeError):
            raise TokenRefusedError("signature", "the token's signature is not valid") from None
        subject = claims["sub"]
        if (
            not isinstance(subject, str)
            or not 0 < len(subject) <= _MAX_SUBJECT_CHARS
            or not subject.isprintable()
        ):
            raise TokenRefusedError("claims", "the token's claim sub is not a name")
        return Identity(subject, _groups(claims, self.settings.groups_claim))

    async def _key(self, key_id: str | None, algorithm: str) -> jwt.PyJWK:
        import jwt

        if self._find(key_id) is None:
            is_joined = self._fetching is not None and not self._fetching.done()
            await asyncio.shield(self._fetch_once())
            if is_joined and self._find(key_id) is None:  # it may have begun before the key was published
                await asyncio.shield(self._fetch_once())
            if not self._keys:
                raise IssuerUnavailableError(f"{self.settings.issuer}: {self._failure}")
        elif self._clock() - self._fetched_at > KEYS_S:
            self._fetch_once()
        data = self._find(key_id)
        if data is None:
            raise TokenRefusedError("key", "the token is signed with a key that its issuer does not publish")
        if data.get("alg", algorithm) != algorithm:
            raise TokenRefusedError("algorithm", "the token is signed in a way that its key is not for")
        try:
            return jwt.PyJWK(dict(data), algorithm)
        except jwt.PyJWTError:
            raise TokenRefusedError("key", "the token's key is not for its algorithm") from None

    def _find(self, key_id: str | None) -> Mapping[str, Any] | None:
        """Return a key by its id; without an id, the only one that there is."""
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _fetch_once(self) -> asyncio.Future[None]:
        """Begin to fetch the keys; all who need them meanwhile wait for the same fetch."""
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.ensure_future(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        """Fetch the keys unless that was tried too often; keep those that there are if it fails."""
        now = self._clock()
        if len(self._attempts) == FETCHES and now - self._attempts[0] < FETCHES_S:
            return
        self._attempts.append(now)
        try:
            keys = await asyncio.to_thread(_fetch_keys, self.settings.issuer)
        except ValueError as error:
            self._failure = str(error)
            _log.error("the keys of %s cannot be fetched: %s", self.settings.issuer, error)
        else:
            self._keys, self._fetched_at = keys, self._clock()


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the groups of a claim; a name with dots may also lead into objects."""
    value: Any = claims
    for part in (name,) if name in claims else name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(group for group in listed if isinstance(group, str))


def _fetch_keys(issuer: str) -> dict[str | None, Mapping[str, Any]]:
    """Return the signing keys that an issuer publishes, by their ids; ValueError, saying why, if none."""
    metadata = _fetch_object(issuer.rstrip("/") + _DISCOVERY)
    if metadata.get("issuer") != issuer:
        raise ValueError("its metadata names another issuer")
    address = metadata.get("jwks_uri")
    if not isinstance(address, str) or not _is_safe(address) or (_is_local(address) > _is_local(issuer)):
        raise ValueError("its metadata names no https address of keys")
    listed = _fetch_object(address).get("keys")
    if not isinstance(listed, list):
        raise ValueError("its keys cannot be read")
    keys = [key for key in listed[:MAX_KEYS] if isinstance(key, dict) and _signs(key)]
    if not keys:
        raise ValueError("it publishes no key for an accepted algorithm")
    return {key.get("kid"): key for key in keys}


def _signs(key: Mapping[str, Any]) -> bool:
    """Return whether a key is public and may sign tokens."""
    return (
        key.get("kty") in ("RSA", "EC", "OKP")
        and "d" not in key
        and key.get("use", "sig") == "sig"
        and isinstance(key.get("kid"), str | None)
    )


def _fetch_object(address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    server = Address(f"{parts.scheme}://{parts.netloc}")
    try:
        answer = server.ask("GET", path or "/", timeout_s=FETCH_S, max_bytes=MAX_FETCHED_BYTES)
    except RequestFailedError as error:
        raise ValueError(str(error)) from None
    if answer.status != HTTPStatus.OK:
        raise ValueError(f"it answered with HTTP status {answer.status}")
    try:
        value = json.loads(answer.data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("its answer is not a JSON object")
    return value
