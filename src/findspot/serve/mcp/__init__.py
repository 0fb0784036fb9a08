"""The MCP server: the protocol stops here, plain values go in.

The packages `mcp` and `mcp.server` of the SDK import its client and its second kind of server, which a server
on a pipe does not use. They are executed when one of their names is first used: that saves 0.2 s of a start.
Most of the SDK's several hundred messages are never sent: each is built when it is first used, which saves
another 0.1 s.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from importlib.util import find_spec, module_from_spec

from pydantic import BaseModel


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


def _build_on_first_use(*names: str) -> None:
    """Import modules whose pydantic models are built when they are first used."""
    if any(name in sys.modules for name in names):
        return
    BaseModel.model_config["defer_build"] = True  # every model takes over the configuration of its base
    try:
        for name in names:
            import_module(name)
    finally:
        del BaseModel.model_config["defer_build"]


_build_on_first_use("mcp_types.methods", "mcp.server.lowlevel.server", "mcp.server.request_state")
