"""Secrets in the text of files: private keys and tokens that services issue.

Only what a service marks as its own (a prefix, a length, an alphabet) counts, so that a match is
a secret and not a hash or an identifier. Placeholders are told apart by how little varies in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKENS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("AWS access key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}\b"),
    ("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,251}\b"),
    ("GitHub token", ("github_pat_",), r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    ("GitLab token", ("glpat-",), r"[\w-]{20,64}(?![\w-])"),
    ("Slack token", ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), r"(?:\d{8,14}-){1,3}[A-Za-z0-9]{18,40}\b"),
    ("Slack webhook", ("hooks.slack.com/services/",), r"T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24}\b"),
    ("Google API key", ("AIza",), r"[\w-]{35}(?![\w-])"),
    ("Google OAuth secret", ("GOCSPX-",), r"[\w-]{28}(?![\w-])"),
    ("Stripe key", ("sk_live_", "rk_live_"), r"[A-Za-z0-9]{24,110}\b"),
    ("OpenAI key", ("sk-",), r"(?:[a-z]+-)?[\w-]{20,90}T3BlbkFJ[\w-]{20,90}(?![\w-])"),
    ("Anthropic key", ("sk-ant-",), r"[a-z]+\d\d-[\w-]{80,110}(?![\w-])"),
    ("npm token", ("npm_",), r"[A-Za-z0-9]{36}\b"),
    ("PyPI token", ("pypi-AgEIcHlwaS5vcmc",), r"[\w-]{50,250}(?![\w-])"),
    ("SendGrid key", ("SG.",), r"[\w-]{22}\.[\w-]{43}(?![\w-])"),
    ("DigitalOcean token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}\b"),
    ("Hugging Face token", ("hf_",), r"[A-Za-z]{34}\b"),
    ("Databricks token", ("dapi",), r"[0-9a-f]{32}(?:-\d)?\b"),
    ("Azure storage key", ("AccountKey=",), r"[A-Za-z0-9+/]{86}=="),
    ("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-fA-F]{32}\b"),
)
"""Kind, what the token begins with, and what follows that."""

_AFTER = tuple((kind, starts, re.compile(rest)) for kind, starts, rest in _TOKENS)

_KEY_MARK = "PRIVATE KEY"
_KEY = re.compile(
    r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>(?:(?!-----)[\s\S]){64,20000})"
    r"-----END (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----"
)
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{32,}")
"""A key is base64 between its two marks; code that only speaks of the marks is none."""

_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|dummy|redacted|your[_-]|changeme|x{6}|\*{4}|\.{3}", re.I
)
_MIN_DISTINCT = 9
"""Fewer different characters than this are no random token: `ghp_aaaa…`, `AKIA0000…`."""

MASK = "*"
_VISIBLE = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text, and what it is."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text, in order and apart from each other."""
    found = [*_keys(text), *_tokens(text)]
    found.sort(key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in found:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def _keys(text: str) -> Iterator[Secret]:
    if _KEY_MARK in text:
        for match in _KEY.finditer(text):
            if _KEY_LINE.search(match["body"]) and not _is_placeholder(match["body"]):
                yield Secret(match.start(), match.end(), "private key")


def _tokens(text: str) -> Iterator[Secret]:
    """Found by their beginnings: a plain search is far faster than one pattern for all."""
    for kind, starts, after in _AFTER:
        for start in starts:
            at = text.find(start)
            while at >= 0:
                match = after.match(text, at + len(start))
                inside_word = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
                if match and not inside_word and not _is_placeholder(match[0]):
                    yield Secret(at, match.end(), kind)
                at = text.find(start, at + 1)


def masked(text: str) -> str:
    """The text with its secrets struck out; no line is lost, so that places stay what they are."""
    parts: list[str] = []
    last = 0
    for secret in find_secrets(text):
        parts += text[last : secret.start], _VISIBLE.sub(MASK, text[secret.start : secret.end])
        last = secret.end
    return "".join((*parts, text[last:]))


def _is_placeholder(secret: str) -> bool:
    return len(set(secret)) < _MIN_DISTINCT or _PLACEHOLDER.search(secret) is not None
