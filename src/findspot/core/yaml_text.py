"""YAML that somebody else may have written: nothing in it can make reading it grow without limit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from findspot.core.files import ContentError

MAX_YAML_BYTES = 32 * 1024
"""Parsing takes about 10 µs per byte."""

_MAX_DEPTH = 20


@lru_cache(maxsize=4)
def parse_yaml(data: bytes) -> Any:
    """Return the value of YAML text; ContentError, which names at most a line, when it has none for us."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.load(data, yaml_loader())
    except ContentError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ContentError(f"not valid YAML{line}") from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):
        raise ContentError("not valid YAML") from None


@lru_cache(maxsize=1)
def yaml_loader() -> type[Any]:
    """Return the library's safe loader without what can be made to grow; ContentError where it would."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            line = self.peek_event().start_mark.line + 1
            if self.check_event(yaml.AliasEvent):
                raise ContentError(f"an alias at line {line}, where none is read")
            if self.depth >= _MAX_DEPTH:
                raise ContentError(f"nested too deeply at line {line}")
            self.depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

        def flatten_mapping(self, node: Any) -> None:
            for key, _ in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    line = key.start_mark.line + 1
                    raise ContentError(f"a merge key at line {line}, where none is read")

    return Loader
