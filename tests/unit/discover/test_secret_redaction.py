"""What goes into errors and differences has no secrets; the rest can still be read."""

from __future__ import annotations

import pytest

from findspot.discover.secrets import redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2", "password=*"),
        ("db_password: 'hunter2',", "db_password: '*',"),
        ('"API_KEY": "short",', '"API_KEY": "*",'),
        ("Authorization: Bearer abc.def", "Authorization: Bearer *"),
        ('"Authorization": "token abc"', '"Authorization": "*"'),
        ("aws_secret_access_key = abc/def+1", "aws_secret_access_key = *"),
        ("https://me:pw@host/x", "https://me:*@host/x"),
        ('"args": ["--token", "abc"]', '"args": ["--token", "*"]'),
        ("serve --token abc --http", "serve --token * --http"),
    ],
)
def test_a_value_named_like_a_secret_goes(text: str, shown: str) -> None:
    """security 19."""
    assert redacted(text, "*") == shown
    assert redacted(shown, "*") == shown


@pytest.mark.parametrize(
    "text",
    [
        "indexed 12 files in 3 s",
        '"command": "findspot", "args": ["serve"]',
        "https://example.com/a?b=c",
        "token: true",
        "maxTokens is 8000",
        "the password is kept elsewhere",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redacted(text) == text
