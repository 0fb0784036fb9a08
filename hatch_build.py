"""Make the description of the package on an index page from README.md.

There, relative links and pictures lead nowhere, so they are made absolute by `project.urls`. The lines about
installing from a clone give way to those for a released package. `python hatch_build.py` makes the latter
change in README.md itself, which is a step of the first release.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # run as a script, without the build system
    MetadataHookInterface = object

README = Path(__file__).parent / "README.md"
SOURCE = "Source"
"""The name of the repository's address in `project.urls`."""
_CLONE = re.compile(r"<!-- until the release: begin -->.*?<!-- until the release: end -->\n", re.DOTALL)
_RELEASED = re.compile(r"<!-- from the release on: begin\n(.*?)from the release on: end -->\n", re.DOTALL)
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<target>[^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):  # type: ignore[misc]
    """Set the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = released(README.read_text("utf-8"))
        source = metadata.get("urls", {}).get(SOURCE)
        if source:
            text = with_absolute_links(text, source, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def released(text: str) -> str:
    """Return the page with the commands that install a released package."""
    return _RELEASED.sub(lambda match: match[1].strip("\n") + "\n", _CLONE.sub("", text))


def with_absolute_links(text: str, source: str, revision: str) -> str:
    """Return the page with links to the files of one revision in the repository."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        address = f"{source.rstrip('/')}/{kind}/{revision}/{link['target']}"
        return f"{link['picture']}[{link['text']}]({address})"

    return _LINK.sub(absolute, text)


if __name__ == "__main__":
    README.write_text(released(README.read_text("utf-8")), "utf-8")
