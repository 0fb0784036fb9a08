"""Who may ask a team's server, and about which projects.

A tokens file holds hashes, not tokens, each with projects by path, id or repository address:
`{"tokens": [{"name": "ci", "sha256": "…", "projects": ["/srv/shop"]}]}`; `"*"` instead of the list
means every project. With `"oidc"`, the tokens of an OpenID Connect issuer are accepted too; it lists the
projects of each group of users. Edits apply to the next request.

Of an issuer's tokens only asymmetric algorithms are accepted, so that a public key can never serve as the
secret of an HMAC. Keys are fetched when they are first needed, again when a token names an unknown one, and
every hour; while the issuer is away, the last ones are used. PyJWT is used here alone.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError
from pydantic.alias_generators import to_camel

from findspot.core.config import is_loopback
from findspot.core.errors import FindspotError, InvalidArgumentError, PathNotFoundError
from findspot.core.files import read_json, state_of
from findspot.core.log import get_logger
from findspot.core.model import IndexStatus
from findspot.core.paths import LEGACY_INDEX_HASH_CHARS, expanded, index_key, project_root
from findspot.discover.checkouts import repository_address
from findspot.engine import Engine
from findspot.index_folders import covering_root
from findspot.project import Project
from findspot.serve.mcp.sdk import Context
from findspot.workspace import Workspace

if TYPE_CHECKING:
    import jwt


_log = get_logger("access")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
FETCH_S = 5.0
KEYS_S = 3_600.0
"""How long keys are used before they are fetched again."""
PAUSE_S = 10.0
"""Between two fetches, however many unknown keys clients name, and however often the issuer fails."""
SKEW_S = 60
"""How far the clocks of the issuer and of this machine may differ."""

_DISCOVERY = "/.well-known/openid-configuration"
_WELL_KNOWN = "/.well-known/oauth-protected-resource"


class TokenRefusedError(Exception):
    """A token that is not accepted; the message is for its holder."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.UNAUTHORIZED) -> None:
        super().__init__(message)
        self.status = status


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

    def identity(self, token: bytes) -> Identity:
        """Return who a token is for; raise if it is not valid, or cannot be checked."""
        import jwt  # takes long, and most servers have no issuer

        try:
            key = self._keys.get_signing_key(jwt.get_unverified_header(token).get("kid", ""))
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWKClientConnectionError as error:
            why = f"tokens cannot be checked: {self.settings.issuer}: {error}"
            raise TokenRefusedError(why, HTTPStatus.SERVICE_UNAVAILABLE) from None
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise TokenRefusedError(str(error)) from None
        return Identity(claims["sub"], _groups(claims, self.settings.groups_claim))


def _published_keys(issuer: str) -> jwt.PyJWKClient:
    """Return the keys of an issuer, fetched when they are needed; the last ones if it is away then."""
    import jwt

    class PublishedKeys(jwt.PyJWKClient):
        last: jwt.PyJWKSet | None = None
        failure: tuple[float, object] = (float("-inf"), "")

        def fetch_data(self) -> jwt.PyJWKSet:
            if time.monotonic() - self.failure[0] > PAUSE_S:
                try:
                    self.last = jwt.PyJWKSet.from_dict(_fetched(_keys_address(issuer)))
                except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
                    self.failure = time.monotonic(), error
                    _log.error("the keys of %s cannot be fetched: %s", issuer, error)
            if self.last is None:
                raise jwt.PyJWKClientConnectionError(self.failure[1])
            return self.last

    return PublishedKeys(issuer, lifespan=KEYS_S, cooldown_duration=PAUSE_S)


def _keys_address(issuer: str) -> str:
    """Return where an issuer publishes its keys, as its metadata say."""
    metadata = _fetched(issuer.rstrip("/") + _DISCOVERY)
    if metadata.get("issuer") != issuer:
        raise ValueError("its metadata names another issuer")
    address = str(metadata.get("jwks_uri"))
    if not _is_safe(address) or (_is_local(address) > _is_local(issuer)):
        raise ValueError("its metadata names no https address of keys")
    return address


def _fetched(address: str) -> dict[str, Any]:
    """Return the JSON object at an address, which leads nowhere else."""
    import jwt

    found: dict[str, Any] = jwt.PyJWKClient(address, cache_jwk_set=False, timeout=FETCH_S).fetch_data()
    return found


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the groups of a claim; a name with dots may also lead into objects."""
    value: Any = claims
    for part in (name,) if name in claims else name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(group for group in listed if isinstance(group, str))


IN_SCOPE = "findspot.grant"
"""Where a request carries the grant of its token."""

INDEX_ID = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{16})?")
"""The id of an index, in its long or its older short form."""
_SIGNED_IN = "oidc:"
"""Begins the names of those whose tokens an issuer signed, so that no name of the file is the same."""
_EXAMPLE = 'entries such as {"name": "ci", "sha256": "64 hex digits", "projects": ["/srv/shop"]}, or "*"'


@dataclass(frozen=True, slots=True)
class Terms:
    read_only: bool = False
    guarded: bool = False
    toolsets: tuple[str, ...] = ()
    """The toolsets to offer; those of the settings if empty."""


OPEN = Terms()


@dataclass(frozen=True, slots=True)
class Grant:
    """What one token allows; without a list of projects, everything."""

    name: str
    digest: bytes
    ids: frozenset[str] = frozenset()
    """Of the indexes of its projects, in every form."""
    repositories: frozenset[str] = frozenset()
    """Addresses of repositories; `located` says which projects they are."""
    everything: bool = False

    def allows(self, root: Path) -> bool:
        """Return whether this very folder is a granted project; nothing on disk is looked at."""
        return self.everything or not self.ids.isdisjoint(_ids_of(root))

    def located(self, repositories: Mapping[Path, str]) -> Grant:
        """Return the grant with the ids of its repositories, given the address of each project."""
        roots = (root for root, address in repositories.items() if address in self.repositories)
        return replace(self, ids=self.ids.union(*map(_ids_of, roots)))

    def covers(self, folder: Path) -> bool:
        """Return whether a folder is a granted project or inside one."""
        return any(self.allows(around) for around in (folder, *folder.parents))

    def knows(self, identity: str) -> bool:
        return self.everything or identity in self.ids


def granted_all(name: str, token: str) -> Grant:
    return Grant(name, _digest(token.encode()), everything=True)


def grant_of(context: Context) -> Grant | None:
    """Return the grant that a request came in with; None on a server without tokens."""
    grant: Grant | None = getattr(context.request, "scope", {}).get(IN_SCOPE)
    return grant


class _Token(BaseModel):
    name: Text
    sha256: Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")]
    projects: Projects


class _Listed(BaseModel):
    tokens: list[_Token] = []
    oidc: OidcSettings | None = None


@dataclass(frozen=True, slots=True)
class AccessFile:
    tokens: tuple[Grant, ...] = ()
    oidc: OidcSettings | None = None
    groups: Mapping[str, Grant] = field(default_factory=dict)


class Grants:
    def __init__(self, fixed: Sequence[Grant] = (), file: Path | None = None) -> None:
        self._fixed = tuple(fixed)
        self._file = file
        self._stamp = state_of(file) if file else None
        self._issuer: Issuer | None = None
        self._take(read_access(file) if file else AccessFile())

    def of(self, token: bytes) -> Grant | None:
        """Return the grant of a token; every known one is compared, in the same time whichever it is."""
        self._refresh()
        given, granted = _digest(token), None
        for grant in (*self._fixed, *self._listed.tokens):
            if hmac.compare_digest(grant.digest, given):
                granted = grant
        return granted if token else None  # whatever the file says, nothing is no token

    @property
    def issuer(self) -> Issuer | None:
        self._refresh()
        return self._issuer

    def of_identity(self, identity: Identity) -> Grant | None:
        """Return what the groups of somebody allow together; None if no group of theirs is listed."""
        groups = [grant for name, grant in self._listed.groups.items() if name in identity.groups]
        if not groups:
            return None
        return Grant(
            _SIGNED_IN + identity.subject,
            b"",
            frozenset().union(*(group.ids for group in groups)),
            frozenset().union(*(group.repositories for group in groups)),
            everything=any(group.everything for group in groups),
        )

    def _refresh(self) -> None:
        """Read the file again if it changed; while it cannot be read, none of its tokens is accepted."""
        if self._file is None or (stamp := state_of(self._file)) == self._stamp:
            return
        self._stamp = stamp
        try:
            self._take(read_access(self._file))
        except FindspotError as error:
            self._take(AccessFile())
            _log.error("no token of the file is accepted: %s", error.developer_message)

    def _take(self, listed: AccessFile) -> None:
        """Use what the file says; the keys of an issuer that stays the same are kept."""
        self._listed = listed
        if listed.oidc is None:
            self._issuer = None
        elif self._issuer is None or self._issuer.settings != listed.oidc:
            self._issuer = Issuer(listed.oidc)


def read_access(file: Path) -> AccessFile:
    """Return the tokens that a file lists, and the issuer and groups that it names."""
    try:
        content = read_json(file)
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(f"The tokens file {file} cannot be read.", str(error)) from None
    try:
        listed = _Listed.model_validate(content)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"])) or "the whole"
        raise _invalid(file, f"{where}: {wrong['msg']}") from None
    if "tokens" not in listed.model_fields_set and listed.oidc is None:
        raise _invalid(file, "it has no list 'tokens'")
    if len({token.name for token in listed.tokens}) < len(listed.tokens):
        raise _invalid(file, "two entries have the same name")
    if any(token.name.startswith(_SIGNED_IN) for token in listed.tokens):
        raise _invalid(file, f"the name of an entry begins with '{_SIGNED_IN}'")
    tokens = tuple(_grant(token.name, bytes.fromhex(token.sha256), token.projects) for token in listed.tokens)
    groups = listed.oidc.groups if listed.oidc else {}
    return AccessFile(tokens, listed.oidc, {name: _grant(name, b"", of) for name, of in groups.items()})


def _grant(name: str, digest: bytes, projects: Projects) -> Grant:
    if projects == "*":
        return Grant(name, digest, everything=True)
    ids, repositories = set[str](), set[str]()
    for project in projects:
        if INDEX_ID.fullmatch(project):
            ids.add(project)
        elif address := repository_address(project):
            repositories.add(address)
        else:  # as it is written, and as it is: links are followed once, when the file is read
            path = lexical(project)
            ids.update(_ids_of(path), _ids_of(path.resolve()))
    return Grant(name, digest, frozenset(ids), frozenset(repositories))


def lexical(path: str | Path) -> Path:
    """Return a path by its spelling alone."""
    return Path(os.path.abspath(expanded(path)))  # noqa: PTH100  pathlib's look at the disk


def _ids_of(path: Path) -> tuple[str, str]:
    key = index_key(path)
    return key, key[:LEGACY_INDEX_HASH_CHARS]


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _invalid(file: Path, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"The tokens file {file} is not valid: {what}.", hint=f"Write {_EXAMPLE}.")


class AllowedEngine:
    """The engine as a client sees it whose token is for some projects only.

    A project it has no rights to does not exist for it: paths are judged by their spelling before anything
    on disk is looked at, so that neither the answer nor the time it takes tells the two apart.
    """

    def __init__(self, engine: Engine, grant: Grant) -> None:
        self._engine = engine
        self._grant = grant

    def folder(self, path: str | Path) -> Path:
        """Return a folder of a granted project; a link that leads out of it leads nowhere."""
        named = lexical(path)
        if self._grant.covers(named) and self._grant.covers(found := project_root(named)):
            return found
        raise PathNotFoundError(str(path))

    def project(self, path: str | Path) -> Project:
        root = self.folder(path)
        if not self._grant.allows(root):
            raise PathNotFoundError(str(path))
        return self._engine.project(root)

    def indexed_root(self, folder: Path) -> Path | None:
        """Return the granted project around a folder; indexes in between are not seen."""
        return covering_root(folder, self._grant.allows)

    def with_id(self, identity: str) -> Project | None:
        return self._engine.with_id(identity) if self._grant.knows(identity) else None

    def workspace(self, start: str | Path = ".") -> Workspace | None:
        around = self._engine.workspace(start)
        return around and around.limited(self._grant.allows)

    def gathered(self, folder: Path, roots: Iterable[Path]) -> Workspace | None:
        return self._engine.gathered(folder, filter(self._grant.allows, roots))

    def named(self, wanted: str) -> Workspace | None:
        found = self._engine.named(wanted)
        return found and found.limited(self._grant.allows)

    def projects(self, wanted: Callable[[Path], bool] = lambda _: True) -> list[tuple[str, IndexStatus]]:
        return self._engine.projects(lambda root: self._grant.allows(root) and wanted(root))

    def repositories(self) -> Mapping[Path, str]:
        known = self._engine.repositories()
        return {root: address for root, address in known.items() if self._grant.allows(root)}

    def detect(self, start: str | Path = ".") -> Project:
        """Return the granted project around a folder, else the only one that is granted."""
        root = self.indexed_root(lexical(start))
        only = [Path(status.project_path) for _, status in self.projects()] if root is None else [root]
        if len(only) != 1:
            raise InvalidArgumentError(
                "Name the project: your token is for several, or for none.",
                hint="list_projects shows them.",
            )
        return self._engine.project(only[0])
