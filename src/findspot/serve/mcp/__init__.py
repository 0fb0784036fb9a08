"""The MCP server: the protocol stops here, plain values go in.

The packages `mcp` and `mcp.server` of the SDK import its client and its second kind of server, which a server
on a pipe does not use. They are executed when one of their names is first used: that saves 0.2 s of a start.
Most of the SDK's several hundred messages are never sent: each is built when it is first used, and so are the
adapters that read any of them, which saves another 0.2 s. The messages of the newest version of the protocol,
which few clients speak so far, are not even imported before one of them comes: 0.1 s.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from pydantic import BaseModel, TypeAdapter


def _execute_on_first_use(name: str) -> None:
    """Let the submodules of a package be imported without the package's own code."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    loader, module = spec.loader, module_from_spec(spec)
    executing = threading.RLock()
    is_executed = False

    def get_attribute(attribute: str) -> object:
        nonlocal is_executed
        with executing:
            if not is_executed:
                is_executed = True
                loader.exec_module(module)
        try:
            return vars(module)[attribute]
        except KeyError:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}") from None

    vars(module)["__getattr__"] = get_attribute
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


_execute_on_first_use("mcp")
_execute_on_first_use("mcp.server")


_DEFERS = "_defer_build"
"""The property of an adapter that says whether it is built when it is first used."""


@contextmanager
def _building_on_first_use() -> Iterator[None]:
    """Let pydantic models and adapters that are defined meanwhile be built when they are first used."""
    BaseModel.model_config["defer_build"] = True  # every model takes over the configuration of its base
    is_deferred = vars(TypeAdapter)[_DEFERS]
    setattr(TypeAdapter, _DEFERS, property(lambda _: True))
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
        setattr(TypeAdapter, _DEFERS, is_deferred)


class _StandIns(ModuleType):
    """A module of pydantic models, each of which imports the real module when it first validates."""

    def __getattr__(self, attribute: str) -> type:
        if attribute.startswith("__"):
            raise AttributeError(attribute)

        def real() -> Any:
            with _importing, _building_on_first_use():
                return getattr(import_module(self.__name__), attribute)

        def model_validate(_: type, *args: Any, **options: Any) -> Any:
            return real().model_validate(*args, **options)

        def core_schema(_: type, __: Any, handler: Callable[[Any], Any]) -> Any:
            return handler(real())

        members = {"model_validate": model_validate, "__get_pydantic_core_schema__": core_schema}
        return type(attribute, (), {name: classmethod(member) for name, member in members.items()})


_importing = threading.RLock()


def _import_sdk(*names: str, rarely_used: str) -> None:
    """Import modules of the SDK, with stand-ins for what is in the one that is rarely used."""
    if any(name in sys.modules for name in (*names, rarely_used)):
        return
    sys.modules[rarely_used] = _StandIns(rarely_used)
    try:
        with _building_on_first_use():
            for name in names:
                import_module(name)
    finally:
        del sys.modules[rarely_used]


_import_sdk(
    "mcp_types.methods",
    "mcp.server.lowlevel.server",
    "mcp.server.request_state",
    rarely_used="mcp_types._v2026_07_28",
)
