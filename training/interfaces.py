"""Tool-like pairs out of machine-readable descriptions of web interfaces, as client libraries carry them.

What an operation is said to do asks for its name, its parameters and what they mean, which is how a
tool is described to a program that has to choose one.
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_PARAMETERS = 8
MAX_TEXT_CHARS = 1000

_TAG = re.compile(r"<[^<>]{1,200}>")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def interface_pairs(wheel: Path) -> Iterator[tuple[str, str]]:
    """Question and description of every operation in a wheel's service models."""
    seen: set[str] = set()
    with zipfile.ZipFile(wheel) as opened:
        for entry in sorted(opened.namelist(), reverse=True):  # the newest version of a service first
            if entry.endswith("service-2.json.gz"):
                pairs = _aws(json.loads(gzip.decompress(opened.read(entry))))
            elif "discovery_cache/documents/" in entry and entry.endswith(".json"):
                pairs = _google(json.loads(opened.read(entry)))
            else:
                continue
            for query, text in pairs:
                if query not in seen:
                    seen.add(query)
                    yield query, text


def _aws(model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    service = str(model.get("metadata", {}).get("serviceId", ""))
    for name, operation in sorted(model.get("operations", {}).items()):
        shape = model["shapes"].get(operation.get("input", {}).get("shape", ""), {})
        parameters = {
            key: str(about.get("documentation", "")) for key, about in shape.get("members", {}).items()
        }
        yield from _pairs(f"{service} {name}", str(operation.get("documentation", "")), parameters)


def _google(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for resource in document.get("resources", {}).values():
        yield from _google({"resources": resource.get("resources", {})})
        for method in resource.get("methods", {}).values():
            parameters = {
                key: str(about.get("description", "")) for key, about in method.get("parameters", {}).items()
            }
            yield from _pairs(str(method.get("id", "")), str(method.get("description", "")), parameters)


def _pairs(name: str, description: str, parameters: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The first sentence asks for the rest; where nothing else is said, for the name and parameters."""
    plain = " ".join(_TAG.sub(" ", description).split())
    sentence, *rest = _SENTENCE_END.split(plain)
    if not 4 <= len(sentence.split()) <= 40:
        return
    said = [
        f"{key} {_SENTENCE_END.split(' '.join(_TAG.sub(' ', text).split()))[0][:120]}"
        for key, text in list(parameters.items())[:MAX_PARAMETERS]
    ]
    yield sentence, "\n".join([name, " ".join(rest)[:400], *said])[:MAX_TEXT_CHARS]
    if len(plain) >= 80:
        words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", name)
        yield " ".join(word.lower() for word in words), plain[:MAX_TEXT_CHARS]
