"""Secrets by content: found where they are real, and nowhere else. None of these was ever valid."""

from __future__ import annotations

import random
import string

import pytest

from findspot.discover.content import readable_text
from findspot.discover.secrets import find_secrets, masked

_LETTERS = string.ascii_letters + string.digits
_chance = random.Random(7)


def random_text(size: int, alphabet: str = _LETTERS) -> str:
    return "".join(_chance.choices(alphabet, k=size))


def private_key(kind: str = "RSA ") -> str:
    body = "\n".join(random_text(64, _LETTERS + "+/") for _ in range(12))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


SECRETS = {
    "AWS access key": "AKIA" + random_text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "GitHub token": "ghp_" + random_text(36),
    "GitLab token": "glpat-" + random_text(20),
    "Slack token": "xoxb-" + "123456789012-123456789013-" + random_text(24),
    "Google API key": "AIza" + random_text(35),
    "Stripe key": "sk_live_" + random_text(24),
    "OpenAI key": "sk-" + random_text(20) + "T3BlbkFJ" + random_text(20),
    "Anthropic key": "sk-ant-api03-" + random_text(93) + "AA",
    "npm token": "npm_" + random_text(36),
    "SendGrid key": "SG." + random_text(22) + "." + random_text(43),
    "Hugging Face token": "hf_" + random_text(34, string.ascii_letters),
    "Azure storage key": "AccountKey=" + random_text(86, _LETTERS + "+/") + "==",
    "private key": private_key(),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_found_and_struck_out(kind: str) -> None:
    text = f"before = 1\nvalue = '{SECRETS[kind]}'\nafter = 2\n"
    (found,) = find_secrets(text)
    assert found.kind == kind
    hidden = masked(text)
    assert len(hidden.split("\n")) == len(text.split("\n"))
    assert hidden.startswith("before = 1\nvalue = '***")
    assert hidden.endswith("'\nafter = 2\n")
    assert not find_secrets(hidden)
    skip = readable_text("a.py", text.encode(), "skip")
    assert not isinstance(skip, str)
    assert (skip.reason, skip.detail) == ("secret", f"it holds a {kind}")
    assert readable_text("a.py", text.encode(), "mask") == hidden
    assert readable_text("a.py", text.encode(), "off") == text


@pytest.mark.parametrize("kind", ["", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_private_keys_of_every_kind(kind: str) -> None:
    assert len(find_secrets(private_key(kind))) == 1
    assert len(find_secrets(private_key(kind).replace("\n", "\\n"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "if line == '-----BEGIN RSA PRIVATE KEY-----': ...",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + random_text(640) + "\n-----END CERTIFICATE-----",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_" + "a" * 36,
        "task-" + random_text(40),
        "sha256:" + random_text(64, "0123456789abcdef"),
        "AKIA" + random_text(30, string.ascii_uppercase),
        "commit " + random_text(40, "0123456789abcdef"),
        "data:image/png;base64," + random_text(400, _LETTERS + "+/"),
    ],
)
def test_what_only_looks_like_one_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert masked(text) == text
