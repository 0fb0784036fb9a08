"""Words that say nothing about what is looked for."""

from __future__ import annotations

_LISTED = (
    "a an and are as at be been but by can could did do does doing for from had has have how i if in into is "
    "it its itself me my not of off on or our should so some such than that the their them then there these "
    "they this those to us using used uses via was we were what when where which while who why will with "
    "within without would you your"
)

STOP_WORDS = frozenset(_LISTED.split())
