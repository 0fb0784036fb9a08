"""The files that settings are kept in: read as they are, generated, migrated and edited."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from findspot.core.files import (
    ContentError,
    json_bytes,
    make_private_dir,
    parse_json,
    read_below,
    read_named,
    reason,
    write_atomic,
    write_below,
)
from findspot.core.setting_keys import BY_NAME, CORTEX_FILE, KEYS, PROJECT_FILE

INDEX_FILE = "config.json"
MAX_CONFIG_BYTES = 256 * 1024

_CORTEX_NAMES = {
    "server.chunks_dir": "cortex.chunksDir",
    "embedding.endpoint": "cortex.endpoint",
    "embedding.dimensions": "cortex.dimensions",
}

Values = dict[str, Any]


def read_own_file(path: Path, warnings: list[str]) -> Values:
    """Return the keys of a file of the user's own, `config.json` in the home or in an index."""
    try:
        content = parse_json(read_named(path, MAX_CONFIG_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ContentError) as error:
        warnings.append(_unusable(str(path), error))
        return {}
    return _flat(str(path), _without_generated(content), warnings)


def read_project_file(root: Path, warnings: list[str]) -> Values:
    """Return the keys of the file that is committed with a project."""
    try:
        content = parse_json(read_below(root, PROJECT_FILE, MAX_CONFIG_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ContentError) as error:
        warnings.append(_unusable(PROJECT_FILE, error))
        return {}
    return _flat(PROJECT_FILE, content, warnings)


def read_cortex_file(root: Path, warnings: list[str]) -> Values:
    """Return the keys of `.cortex/config.yml` that are known here; other programs keep theirs in it too."""
    try:
        content = parse_yaml(read_below(root, CORTEX_FILE, MAX_YAML_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ContentError) as error:
        warnings.append(_unusable(CORTEX_FILE, error))
        return {}
    values: Values = {}
    for theirs, ours in _CORTEX_NAMES.items():
        section, name = theirs.split(".")
        part = content.get(section) if isinstance(content, dict) else None
        if isinstance(part, dict) and part.get(name) is not None:
            values[ours] = part[name]
    return values


def _unusable(file: str, error: OSError | ContentError) -> str:
    return f"{file}: cannot be read ({reason(error)}); using defaults"


def _flat(file: str, content: Any, warnings: list[str]) -> Values:
    """Return flat keys; `{"embedding": {"provider": …}}` and the dotted form both work."""
    if not isinstance(content, dict):
        warnings.append(f"{file}: must hold a JSON object; using defaults")
        return {}
    flat: Values = {}
    for name, value in content.items():
        if name.startswith("_"):
            continue
        if isinstance(value, dict) and name not in BY_NAME:
            flat.update({f"{name}.{inner}": v for inner, v in value.items()})
        else:
            flat[name] = value
    return flat


_GENERATED_BY_0_1_0 = "Findspot configuration - edit to customize indexing behavior"
_DEFAULTS_OF_0_1_0: Values = {
    "include": ["**/*"],
    "exclude": [],
    "respectGitignore": True,
    "maxFileSize": "1MB",
    "maxFiles": 50_000,
    "docPatterns": ["**/*.md", "**/*.txt"],
    "indexDocs": True,
    "enhancedToolDescriptions": False,
    "indexingStrategy": "realtime",
    "lazyIdleThreshold": 30,
}


def _without_generated(content: Any) -> Any:
    """Return a file's content without the defaults that version 0.1.0 spelled out in it: nobody set them."""
    if not _is_of_0_1_0(content):
        return content
    defaults = _DEFAULTS_OF_0_1_0.items()
    spelled_out = {name for name, default in defaults if content.get(name) == default}
    return {name: value for name, value in content.items() if name not in spelled_out}


def _is_of_0_1_0(content: Any) -> bool:
    return isinstance(content, dict) and content.get("_comment") == _GENERATED_BY_0_1_0


def starter_config() -> Values:
    """Return the `config.json` that a first index writes: all comments, no key set."""
    starters = [key for key in KEYS if key.starter]
    return {
        "_comment": "Findspot configuration of this index. Nothing is set here. To set something, "
        "copy its line out of _defaults, to this level, and change it.",
        "_defaults": {key.name: key.default for key in starters},
        "_hardcodedExcludes": [
            "// These patterns are ALWAYS excluded and cannot be overridden:",
            "// - node_modules/, jspm_packages/, bower_components/  (dependencies)",
            "// - .git/, .hg/, .svn/  (version control)",
            "// - dist/, build/, out/, target/  (build artifacts)",
            "// - .env, .env.*, *.pem, *.key  (secrets)",
            "// - *.log, *.lock, package-lock.json, yarn.lock  (logs/locks)",
            "// - .idea/, .vscode/, .DS_Store  (IDE config)",
            "// - coverage/  (test coverage)",
            "// - Binary files (images, videos, etc.) are auto-detected and skipped",
        ],
        "_availableOptions": {
            key.name: f"{key.meaning} Default: {json.dumps(key.default)}." for key in starters
        },
    }


def write_starter(index: Path) -> None:
    """Write the commented config once, and bring one of version 0.1.0 to the present form."""
    path = index / INDEX_FILE
    try:
        content = parse_json(read_named(path, MAX_CONFIG_BYTES))
    except FileNotFoundError:
        write_atomic(path, json_bytes(starter_config()))
        return
    except (OSError, ContentError):
        return  # a user's edits are never overwritten, broken ones included
    if _is_of_0_1_0(content):
        write_atomic(path.resolve(), json_bytes(_migrated(content)))


def _migrated(content: Any) -> Any:
    """Return a file's content in the present form: comments renewed, what the user set unchanged."""
    if not _is_of_0_1_0(content):
        return content
    rest = {name: value for name, value in _without_generated(content).items() if not _is_ours(name)}
    return starter_config() | rest


def _is_ours(name: str) -> bool:
    return name in ("_comment", "_hardcodedExcludes", "_availableOptions")


def set_in_file(path: Path, name: str, value: Any) -> None:
    """Set one key in a config file, keeping everything else."""
    content = _migrated(_editable(path))
    head, _, inner = name.partition(".")
    if inner:
        section = content.setdefault(head, {})
        if not isinstance(section, dict):
            raise ContentError(f"{path}: '{head}' must hold a JSON object")
        section[inner] = value
        content.pop(name, None)
    else:
        content[name] = value
    _write(path, content)


def unset_in_file(path: Path, name: str) -> bool:
    """Take one key out of a config file, keeping everything else; False where it is not there."""
    content = _migrated(_editable(path))
    head, _, inner = name.partition(".")
    section = content.get(head)
    there = name in content
    content.pop(name, None)
    if inner and isinstance(section, dict) and inner in section:
        there = True
        del section[inner]
        if not section:
            del content[head]
    if there:
        _write(path, content)
    return there


def _write(path: Path, content: Values) -> None:
    if path.name == PROJECT_FILE:
        write_below(path.parent, path.name, json_bytes(content), mode=0o666)
    else:
        make_private_dir(path.parent)
        write_atomic(path.resolve(), json_bytes(content))


def _editable(path: Path) -> Values:
    """Return a config file as it stands; one that cannot be read is not overwritten."""
    try:
        if path.name == PROJECT_FILE:
            content = parse_json(read_below(path.parent, path.name, MAX_CONFIG_BYTES))
        else:
            content = parse_json(read_named(path, MAX_CONFIG_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ContentError) as error:
        raise ContentError(f"{path} cannot be changed: {reason(error)}") from None
    if not isinstance(content, dict):
        raise ContentError(f"{path} must hold a JSON object")
    return content


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
