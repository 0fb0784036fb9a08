"""Read a query as a request for a tool: its sentences, the files it names, its verbs.

People name the wish and tools name the means. `everyday_words.txt` lists what people say for what tools call
by another name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from findspot.catalogue.tool_fields import query_terms
from findspot.text.tokens import stem

MAX_SENTENCES = 16
"""Of a pasted page, the first sentences say what is wanted."""

_LEAST_WORDS = 3
"""Shorter pieces (`Thank you.`) are like many tools by chance."""

_KINDS = {
    "markdown": "md markdown",
    "excel spreadsheet": "xls xlsx xlsm ods",
    "word document": "doc docx odt",
    "powerpoint presentation": "ppt pptx odp",
    "pdf document": "pdf",
    "image": "png jpg jpeg gif webp bmp svg tiff",
    "csv table": "csv tsv",
    "text": "txt log",
    "audio": "mp3 wav flac ogg m4a",
    "video": "mp4 mov avi mkv",
    "archive": "zip tar gz 7z",
}
_KIND_OF = {ending: kind for kind, endings in _KINDS.items() for ending in endings.split()}
_PLAIN = "json jsonl html htm xml yaml yml toml ini sql sqlite db py ts sh bib tex ipynb"
_ENDINGS = "|".join(sorted({*_KIND_OF, *_PLAIN.split()}, key=lambda ending: (-len(ending), ending)))

_PATH = re.compile(
    r"(?<![\w/\\:.@+-])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+-]+[/\\])*[\w.@+-]*\w[/\\]?"
    rf"|(?<![\w/\\@.-])[\w-]+\.(?:{_ENDINGS})\b"
)
"""`/srv/notes.md`, `C:\\data`, `report.pdf`; not the path of a web address, nor `and/or`."""

_BETWEEN = re.compile(r"(?<=[.!?;])\s|,\s(?:and|then|also)\s|\s(?:and then|and also|then)\s")


class Request(NamedTuple):
    text: str
    sentences: tuple[str, ...]
    """Empty if the text is a single sentence."""
    terms: tuple[str, ...]

    @property
    def in_tools_words(self) -> str:
        """The text followed by what tools call the things that it names; empty if it names none."""
        known = everyday_words().alternatives
        words = _LETTERS.findall(self.text.lower())
        others = [known.get(word) or known.get(word.rstrip("s")) for word in words]
        added = " ".join(other[0] for other in others if other)
        return f"{self.text} {added}" if added else ""


def read_request(query: str) -> Request:
    lines = [" ".join(_PATH.sub(_path_in_words, line).split()) for line in query.splitlines()]
    pieces = [piece for line in lines for piece in _BETWEEN.split(line)]
    sentences = [piece for piece in pieces if len(piece.split()) >= _LEAST_WORDS]
    text = " ".join(lines)
    several = tuple(sentences[:MAX_SENTENCES]) if sentences != [text] else ()
    return Request(text, several, tuple(query_terms(text)))


def _path_in_words(path: re.Match[str]) -> str:
    """Describe what a path names: `/srv/plan.xlsx` is a spreadsheet in a file."""
    name = re.split(r"[/\\]", path[0])[-1]
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    return f" {_KIND_OF.get(ending, ending)} file path "


_VERBS = (
    "open read view load", "write add insert append", "create make generate draw build produce",
    "find search look lookup query locate", "get show give fetch retrieve obtain",
    "delete remove erase drop", "change update edit modify", "convert transform turn",
    "send post submit", "calculate compute determine evaluate", "start launch run execute",
    "download save export", "check verify validate",
)  # fmt: skip
"""Verbs that people and tools use for the same act."""

_LETTERS = re.compile(r"[^\W\d_]+")


class EverydayWords(NamedTuple):
    alternatives: Mapping[str, tuple[str, ...]]
    """English word → what else its thing is called, the tools' words first."""
    synonyms: Mapping[str, frozenset[str]]
    """The same for stems, with the verbs of one act."""


@cache
def everyday_words() -> EverydayWords:
    text = files(__package__).joinpath("everyday_words.txt").read_text("utf-8")
    alternatives: dict[str, tuple[str, ...]] = {}
    for line in filter(lambda line: not line.startswith("#"), text.splitlines()):
        tools, everyday = (part.split() for part in line.split(":"))
        for word in (*tools, *everyday):
            others = (other for other in (*tools, *(everyday if word in tools else ())) if other != word)
            alternatives[word] = (*alternatives.get(word, ()), *others)
    return EverydayWords(alternatives, _synonyms(alternatives))


def _synonyms(alternatives: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    verbs = [verbs.split() for verbs in _VERBS]
    pairs = [(word, others) for word, others in alternatives.items()]
    pairs += [(verb, tuple(others)) for others in verbs for verb in others]
    synonyms: dict[str, frozenset[str]] = {}
    for word, others in pairs:
        own = stem(word)
        synonyms[own] = synonyms.get(own, frozenset()) | {stem(other) for other in others} - {own}
    return {word: others for word, others in synonyms.items() if others}
