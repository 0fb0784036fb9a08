"""Passages that hand on names defined elsewhere."""

from __future__ import annotations

import pytest

from findspot.rank.roles import re_exports


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/response/mod.rs", "use a::B;\npub use core::response::{\n    Answer, Body,\n};"),
        ("src/lib.rs", "pub(crate) use self::answer::Answer;"),
        ("src/index.ts", "export { Question, Answer } from './answer';"),
        ("pkg/__init__.py", "from pkg.answer import Answer, Question"),
        ("pkg/__init__.py", "from .answer import (\n    Question,\n    Answer,\n)"),
    ],
)
def test_names_handed_on(path: str, text: str) -> None:
    assert re_exports(path, text, "Answer")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/response/mod.rs", "use core::response::Answer;\npub use core::Body;"),
        ("src/index.ts", "import { Answer } from './answer';\nexport { Question };"),
        ("src/index.ts", "export { Answers } from './answer';"),
        ("pkg/views.py", "from pkg.answer import Answer"),
        ("pkg/__init__.py", "from pkg import views  # Answer is made there"),
    ],
)
def test_names_only_used(path: str, text: str) -> None:
    assert not re_exports(path, text, "Answer")
