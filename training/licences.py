"""Which licences a source may have, read from what each package says of itself."""

from __future__ import annotations

import fnmatch
import json
import re
from email.parser import HeaderParser

PERMISSIVE = re.compile(
    r"^(mit(-0|-cmu)?|expat|x11|the mit license|mit license|"
    r"(0|bsd-?0|[234]-clause )?bsd.*|new bsd.*|modified bsd.*|"
    r"apache.*|asl[- ]?2.*|isc.*|psf.*|python software foundation.*|python-2.*|zlib.*|libpng.*|unlicense.*|"
    r"the unlicense.*|cc0.*|public[- ]domain|hpnd|openssl|curl|boehm-gc)$"
)
_CLASSIFIER = {
    "MIT License",
    "BSD License",
    "Apache Software License",
    "ISC License (ISCL)",
    "Python Software Foundation License",
    "zlib/libpng License",
    "The Unlicense (Unlicense)",
    "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication",
    "Public Domain",
    "MIT No Attribution License (MIT-0)",
}


def permissive(expression: str) -> bool:
    """Whether a licence expression lets us learn: one side of every `or`, all of every `and`."""
    cleaned = expression.strip().strip("()").lower()
    parts = [part for part in re.split(r"\s+and\s+|,|;", cleaned) if part.strip()]
    return bool(parts) and all(
        any(PERMISSIVE.match(one.strip(" ()")) for one in re.split(r"\s+or\s+|\s*/\s*|\s*\|\s*", part))
        for part in parts
    )


def of_wheel(metadata: str) -> str:
    """The licence in a wheel's METADATA, or nothing where it is not permissive."""
    headers = HeaderParser().parsestr(metadata)
    expression = headers.get("License-Expression", "")
    if expression:
        return expression if permissive(expression) else ""
    classifiers = [
        value.rsplit("::", 1)[1].strip()
        for value in headers.get_all("Classifier", [])
        if value.startswith("License ::") and value.count("::") > 1
    ]
    if classifiers:
        return " and ".join(classifiers) if all(name in _CLASSIFIER for name in classifiers) else ""
    written = headers.get("License", "").strip().split("\n")[0][:60]
    return written if permissive(written) else ""


def of_npm(manifest: str) -> str:
    """The licence in a package.json."""
    try:
        found = json.loads(manifest).get("license", "")
    except ValueError:
        return ""
    if isinstance(found, dict):
        found = found.get("type", "")
    return found if isinstance(found, str) and permissive(found) else ""


class DebianCopyright:
    """The machine-readable copyright file: a licence for all files, and others for some."""

    def __init__(self, text: str) -> None:
        self.stanzas: list[tuple[list[str], str]] = []
        for block in re.split(r"\n\s*\n", text.replace("\r", "")):
            fields = re.sub(r"\n[ \t]+", " ", block)
            files = re.search(r"^Files:\s*(.+)$", fields, re.M | re.I)
            licence = re.search(r"^License:\s*(.+)$", block, re.M | re.I)
            if files and licence:
                patterns = re.split(r"[\s,]+", files.group(1).strip())
                self.stanzas.append((patterns, licence.group(1).strip()))

    @property
    def main(self) -> str:
        """The licence of all files, or nothing where that is not permissive."""
        for patterns, licence in self.stanzas:
            if "*" in patterns:
                return licence if permissive(licence) else ""
        return ""

    @property
    def wholly_permissive(self) -> bool:
        """Whether every stanza is, but for the packaging's own files."""
        return bool(self.main) and all(
            permissive(licence) or all(pattern.startswith("debian/") for pattern in patterns)
            for patterns, licence in self.stanzas
        )

    def allows(self, path: str) -> bool:
        """Whether the last stanza that matches a path is permissive; packaging files are not ours."""
        allowed = False
        for patterns, licence in self.stanzas:
            if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns):
                allowed = permissive(licence)
        return allowed
