"""The MCP server: the protocol stops here, plain values go in.

The packages `mcp` and `mcp.server` of the SDK import its client and its second kind of server, which a server
on a pipe does not use. They are executed when one of their names is first used: that saves 0.2 s of a start.
Most of the SDK's several hundred messages are never sent: each is built when it is first used, and so are the
adapters that read any of them, which saves another 0.2 s. The messages of the newest version of the protocol,
which few clients speak so far, are not even imported before one of them comes: 0.1 s. Neither is what the SDK
needs to build a web application of its own, which we do not use; our HTTP server imports its parts by itself.
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


class _StandIn(type):
    """A class of a module that is imported when the class is first called."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return cls.real()(*args, **options)

    def real(cls) -> Any:
        with _importing, _building_on_first_use():
            return getattr(import_module(cls.__module__), cls.__name__)


class _StandIns(ModuleType):
    """A module whose classes import the real module when they are first called, or first validate."""

    def __getattr__(self, attribute: str) -> type:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        stand_in = _StandIn(attribute, (), {"__module__": self.__name__})

        def model_validate(_: type, *args: Any, **options: Any) -> Any:
            return stand_in.real().model_validate(*args, **options)

        def core_schema(_: type, __: Any, handler: Callable[[Any], Any]) -> Any:
            return handler(stand_in.real())

        members = {"model_validate": model_validate, "__get_pydantic_core_schema__": core_schema}
        for name, member in members.items():
            setattr(stand_in, name, classmethod(member))
        return stand_in


_importing = threading.RLock()

_RARELY_USED = (
    "mcp_types._v2026_07_28",
    "mcp.server.auth.middleware.auth_context",
    "mcp.server.auth.middleware.bearer_auth",
    "mcp.server.auth.provider",
    "mcp.server.auth.routes",
    "mcp.server.auth.settings",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
    "starlette.applications",
    "starlette.middleware",
    "starlette.middleware.authentication",
    "starlette.routing",
)


def _import_sdk(*names: str) -> None:
    """Import modules of the SDK, with stand-ins for what is in those that are rarely used."""
    if any(name in sys.modules for name in names):
        return
    missing = [name for name in _RARELY_USED if name not in sys.modules]
    sys.modules |= {name: _StandIns(name) for name in missing}
    try:
        with _building_on_first_use():
            for name in names:
                import_module(name)
    finally:
        for name in missing:
            del sys.modules[name]


_import_sdk("mcp_types.methods", "mcp.server.lowlevel.server")
