"""YAML that somebody else may have written: nothing in it can make reading it grow without limit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from findspot.core.files import ContentError

MAX_YAML_BYTES = 32 * 1024
"""Parsing takes about 10 µs per byte."""

_MAX_DEPTH = 20
_MAX_VALUES = 20_000
"""Of a text whose aliases are followed, each counted as often as it is named."""


@lru_cache(maxsize=4)
def parse_yaml(data: bytes) -> Any:
    """Return the value of YAML text; ContentError, which names at most a line, when it has none for us."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.load(data, yaml_loader(aliases=False))
    except ContentError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ContentError(f"not valid YAML{line}") from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):
        raise ContentError("not valid YAML") from None


@lru_cache(maxsize=2)
def yaml_loader(*, aliases: bool) -> type[Any]:
    """Return the library's safe loader without what can be made to grow; ContentError where it would."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            line = self.peek_event().start_mark.line + 1
            is_alias = self.check_event(yaml.AliasEvent)
            if is_alias and not aliases:
                raise ContentError(f"an alias at line {line}, where none is read")
            if self.depth >= _MAX_DEPTH:
                raise ContentError(f"nested too deeply at line {line}")
            self.depth += 1
            try:
                node = super().compose_node(parent, index)
            finally:
                self.depth -= 1
            if not is_alias:
                node.measures = _measures(node)
            count, height = getattr(node, "measures", (0, _MAX_DEPTH + 1))  # an alias of what is around it
            if self.depth + height > _MAX_DEPTH:
                raise ContentError(f"nested too deeply at line {line}")
            if count > _MAX_VALUES:
                raise ContentError(f"more than {_MAX_VALUES:,} values at line {line}")
            return node

        def flatten_mapping(self, node: Any) -> None:
            if aliases:
                super().flatten_mapping(node)
                return
            for key, _ in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    line = key.start_mark.line + 1
                    raise ContentError(f"a merge key at line {line}, where none is read")

    return Loader


def _measures(node: Any) -> tuple[int, int]:
    """Return how many values a node holds, those of its aliases too, and how deep it is."""
    if isinstance(node.value, str):
        return 1, 1
    inner = [one for each in node.value for one in (each if isinstance(each, tuple) else (each,))]
    measured = [one.measures for one in inner]
    return 1 + sum(count for count, _ in measured), 1 + max((depth for _, depth in measured), default=0)
