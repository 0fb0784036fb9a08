"""Bearer tokens of an OpenID Connect issuer: which keys sign them, and what they say about their holder.

This is the one module that uses PyJWT, which the MCP SDK brings. Only asymmetric algorithms are accepted, so
that a public key can never serve as the secret of an HMAC. Keys are fetched when they are first needed, again
when a token names an unknown one, and every hour; while the issuer is away, the last ones are used.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic.alias_generators import to_camel

from findspot.core.config import is_loopback
from findspot.core.http_client import Address, RequestFailedError
from findspot.core.log import get_logger

if TYPE_CHECKING:
    import jwt

_log = get_logger("access")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
MAX_TOKEN_BYTES = 16_384
FETCH_S = 5.0
MAX_FETCHED_BYTES = 1 << 20
MAX_KEYS = 100
KEYS_S = 3_600.0
"""How long keys are used before they are fetched again."""
PAUSE_S = 10.0
"""Between two fetches, however many unknown keys clients name, and however often the issuer fails."""
SKEW_S = 60
"""How far the clocks of the issuer and of this machine may differ."""

_DISCOVERY = "/.well-known/openid-configuration"
_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_MAX_SUBJECT_CHARS = 255


class TokenRefusedError(Exception):
    """A token that is not accepted; `code` is for the log, the message for its holder."""

    def __init__(self, code: str, message: str, status: HTTPStatus = HTTPStatus.UNAUTHORIZED) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class IssuerUnavailableError(TokenRefusedError):
    """No token can be checked now, because the issuer's keys are not known."""

    def __init__(self, why: str) -> None:
        message = f"tokens cannot be checked: {why}"
        super().__init__("issuer_unavailable", message, HTTPStatus.SERVICE_UNAVAILABLE)


def _require_safe(address: str) -> str:
    if not _is_safe(address):
        raise ValueError("it must be an https address (http only on this machine)")
    return address


SafeAddress = Annotated[str, AfterValidator(_require_safe)]
Projects = Literal["*"] | list[str]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[
    tuple[Text, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


class OidcSettings(BaseModel, frozen=True, extra="forbid", alias_generator=to_camel):
    """The issuer whose tokens are accepted, and what clients learn about it."""

    issuer: Annotated[SafeAddress, Field(pattern=r"^[^?]*$")]
    audience: Annotated[Texts, Field(min_length=1)]
    """The ones that tokens for this server are issued for."""
    groups: dict[str, Projects]
    groups_claim: Text = "groups"
    resource: SafeAddress = Field(
        default_factory=lambda read: next(iter(read.get("audience", ())), ""), validate_default=True
    )
    """The address at which clients reach the server."""
    scopes: Texts = ()

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
    return path == _WELL_KNOWN or path.startswith(f"{_WELL_KNOWN}/")


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
    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._keys = _published_keys(settings.issuer)

    async def identity(self, token: bytes) -> Identity:
        """Return who a token is for; raise if it is not valid, or cannot be checked."""
        if len(token) > MAX_TOKEN_BYTES:
            raise TokenRefusedError("size", "the token is too large")
        return await asyncio.to_thread(self._checked, token)

    def _checked(self, token: bytes) -> Identity:
        import jwt  # takes long, and most servers have no issuer

        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            if not isinstance(key_id, str):
                raise TokenRefusedError("key", "the token does not name its key")
            key = self._keys.get_signing_key(key_id)
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWKClientConnectionError as error:
            raise IssuerUnavailableError(f"{self.settings.issuer}: {error}") from None
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise TokenRefusedError(*_refusal(error)) from None
        subject = claims["sub"]
        if not 0 < len(subject) <= _MAX_SUBJECT_CHARS or not subject.isprintable():
            raise TokenRefusedError("claims", "the token's claim sub is not a name")
        return Identity(subject, _groups(claims, self.settings.groups_claim))


def _refusal(error: Exception) -> tuple[str, str]:
    import jwt

    known: dict[type[Exception], tuple[str, str]] = {
        jwt.ExpiredSignatureError: ("expired", "the token has expired"),
        jwt.ImmatureSignatureError: ("early", "the token is not valid yet"),
        jwt.InvalidAudienceError: ("audience", "the token is for another server"),
        jwt.InvalidIssuerError: ("issuer", "the token is of another issuer"),
        jwt.MissingRequiredClaimError: ("claims", f"the token lacks a claim: {error}"),
        jwt.InvalidAlgorithmError: ("algorithm", "the token is signed in a way that its key is not for"),
        jwt.InvalidSignatureError: ("signature", "the token's signature is not valid"),
    }
    if isinstance(error, jwt.PyJWKClientError | jwt.PyJWKSetError):
        return "key", "the token is signed with a key that its issuer does not publish"
    return known.get(type(error), ("format", "the token cannot be read"))


def _published_keys(issuer: str) -> jwt.PyJWKClient:
    """Return the keys of an issuer, fetched when they are needed; the last ones if it is away then."""
    import jwt

    class PublishedKeys(jwt.PyJWKClient):
        last: dict[str, Any] | None = None
        failure: tuple[float, str] = (float("-inf"), "")

        def fetch_data(self) -> dict[str, Any]:
            now = time.monotonic()
            if now - self.failure[0] > PAUSE_S:
                try:
                    self.last = {"keys": _fetch_keys(self.uri)}
                except ValueError as error:
                    self.failure = now, str(error)
                    _log.error("the keys of %s cannot be fetched: %s", issuer, error)
            if self.last is None:
                raise jwt.PyJWKClientConnectionError(self.failure[1])
            return self.last

    return PublishedKeys(issuer, lifespan=KEYS_S, cooldown_duration=PAUSE_S)


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the groups of a claim; a name with dots may also lead into objects."""
    value: Any = claims
    for part in (name,) if name in claims else name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(group for group in listed if isinstance(group, str))


def _fetch_keys(issuer: str) -> list[dict[str, Any]]:
    """Return the signing keys that an issuer publishes; ValueError, saying why, if there are none."""
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
    return keys


def _signs(key: Mapping[str, Any]) -> bool:
    """Return whether a key is public and may sign tokens."""
    return key.get("kty") in ("RSA", "EC", "OKP") and key.get("alg", "RS256") in ALGORITHMS and "d" not in key


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
