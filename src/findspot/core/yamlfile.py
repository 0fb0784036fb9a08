"""YAML files: the one user of the YAML library, imported when there is such a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

MAX_YAML_BYTES = 100_000


def read_yaml(path: Path) -> Any:
    """The value of a YAML file; ValueError when it is too large or not YAML."""
    with path.open("rb") as source:
        data = source.read(MAX_YAML_BYTES + 1)
    if len(data) > MAX_YAML_BYTES:
        raise ValueError(f"larger than {MAX_YAML_BYTES} bytes")
    return _parsed(data)


@lru_cache(maxsize=4)
def _parsed(data: bytes) -> Any:
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from error
