"""What went wrong with a table or its object store, told from lancedb's errors: they differ by texts only.

Damage is told only of objects that are missing or cut short, because an indexer drops a damaged index
and builds it anew. All else may be a service's bad day, and passes.
"""

from __future__ import annotations

import re
from pathlib import Path

from findspot.core.errors import (
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    PermissionDeniedError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.files import disk_full

_CONFLICTS = ("Incompatible transaction", "ommit conflict", "concurrent writers", "oncurrent modification")
_DAMAGED = ("Not found:", "no longer exists", "Invalid range", "too small", "Corrupt", "corrupt", "magic")

_CODE = re.compile(r"<Code>(\w+)</Code>")
"""The service's own name of the error, in its answer."""
_STATUS = re.compile(r"\bstatus(?: code)?: (?:StatusCode\()?(\d{3})\b")
_REFUSED = ("401", "403")
_BEYOND_END = "416"
"""The answer to whoever asks for a part that an object does not have."""

_RIGHTS = "Check the credentials (AWS_ACCESS_KEY_ID, …) and their rights to the bucket."
_UNKNOWN = "The service does not know these credentials: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
_EXPIRED = "The credentials have expired: renew them (AWS_SESSION_TOKEN, or your login), then try again."
_NONE = "No credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
_CLOCK = "The service's clock and this machine's differ too much: set the clock, then try again."
_BUSY = "The service asks for fewer requests. Nothing is lost: wait a minute, then try again."
_FAILED = "The service failed. Nothing is lost: try again later."
_BUCKET = "There is no such bucket: make it, or correct the address (`storeUri`)."

_REFUSALS = {
    "AccessDenied": _RIGHTS,
    "InvalidAccessKeyId": _UNKNOWN,
    "SignatureDoesNotMatch": _UNKNOWN,
    "ExpiredToken": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "InvalidToken": _EXPIRED,
    "RequestTimeTooSkewed": _CLOCK,
}
_FAILURES = {
    "NoSuchBucket": _BUCKET,
    "SlowDown": _BUSY,
    "429": _BUSY,
    "503": _BUSY,
    "500": _FAILED,
    "502": _FAILED,
}


class OvertakenError(IndexBusyError):
    """Someone else has written to a table meanwhile."""


def translation(error: Exception, place: str | Path) -> FindspotError:
    """Return the error of ours that one of lancedb's stands for."""
    text = f"{error}"
    if any(word in text for word in _CONFLICTS):
        return OvertakenError("another indexer")
    if not isinstance(place, Path):
        return _refusal(text, place) or _failure(text, place)
    if "os error 28" in text:
        return disk_full(place)
    return PermissionDeniedError(str(place)) if "os error 13" in text else IndexCorruptError(_shortened(text))


def _refusal(text: str, place: str) -> StoreRefusedError | None:
    code, status = _said(text)
    if code in _REFUSALS or status in _REFUSED:
        return StoreRefusedError(f"{place}: {status} {code}".strip(), hint=_REFUSALS.get(code, _RIGHTS))
    if "CredentialsNotLoaded" in text or "Failed to get AWS credentials" in text:
        return StoreRefusedError(f"{place}: no credentials", hint=_NONE)
    return None


def _failure(text: str, place: str) -> FindspotError:
    code, status = _said(text)
    if status and status != _BEYOND_END:
        hint = _FAILURES.get(code) or _FAILURES.get(status, "")
        return StoreUnavailableError(f"{place}: {status} {code}".strip(), hint=hint)
    if status or any(word in text for word in _DAMAGED):
        return IndexCorruptError(_shortened(text))
    return StoreUnavailableError(f"{place}: {_shortened(text)}")  # away or slow: the texts are the same


def _said(text: str) -> tuple[str, str]:
    """Return the error that the service named, and the status of its answer."""
    code, status = _CODE.search(text), _STATUS.search(text)
    return code[1] if code else "", status[1] if status else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:300] + "…"
