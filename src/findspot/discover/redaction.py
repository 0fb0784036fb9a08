"""Take secrets out of what is shown or sent: logs, differences of settings, configuration.

Stricter than the scan of files: here the value of anything that is named like a secret goes, random or not.
"""

from __future__ import annotations

import re

from findspot.discover.secrets import find_secrets

REMOVED = "[removed]"

NAMES_OF_SECRETS = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
"""Names of settings and variables whose values are nobody else's business."""

_QUOTED = re.compile(
    r"(?P<name>[\"']?[\w.-]*(?:auth|bearer|cookie|credential|key|passw|pwd|secret|token)[\w.-]*[\"']?"
    r"[ \t]*[:=][ \t]*)(?P<quote>[\"'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)",
    re.IGNORECASE,
)
"""A quoted value whose name says that it is a secret: headers and variables of programs hold all kinds."""
_NAMED = re.compile(
    r"(?P<name>\b[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|credential)[\w-]*"
    r"[\"']?\s{0,3}[:=]\s{0,3})(?P<quote>[\"']?)(?P<value>(?(quote)[^\"'\n]+|[^\s\"',;&{}\[\]]+))",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z-]+[ \t]+)?)"
    r"(?P<value>[^\s\"',]+)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<name>://[^/\s:@]*:)(?P<value>[^/\s@]+)(?=@)")
_OPTION = re.compile(
    r"(?P<name>--?(?:token|password|api-key|secret|auth)(?:[ =]|[\"']\s*,\s*)[\"']?)(?P<value>[^\s\"',\]]+)",
    re.IGNORECASE,
)
_WORDS_THAT_TELL = frozenset({"true", "false", "null", "none", "0", "1", ""})


def redacted(text: str, mark: str = REMOVED) -> str:
    """Return a text with every secret in it replaced by a mark."""
    for secret in reversed(find_secrets(text)):
        text = text[: secret.start] + mark + text[secret.end :]
    for pattern in (_QUOTED, _AUTHORIZATION, _URL_PASSWORD, _OPTION, _NAMED):
        text = pattern.sub(lambda match: _replaced(match, mark), text)
    return text


def _replaced(match: re.Match[str], mark: str) -> str:
    value = match["value"]
    if value.lower() in _WORDS_THAT_TELL or value.startswith(mark):
        return match[0]
    return (
        match[0][: match.start("value") - match.start()]
        + mark
        + match[0][match.end("value") - match.start() :]
    )
