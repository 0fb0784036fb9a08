"""Start `findspot` from a process that has loaded its code: a test waits for its work, not for imports.

Each test process has one such parent. For every start it forks a copy, which gets the command line, folder,
environment and streams that a new process would have, and runs the entry point of the installed command.
Nothing of one start reaches the next. Each copy has such a parent of its own, for the processes that read
files and commits. What a copy cannot have is started as usual: other programs, variables that Python or a
library reads while it is loaded, and systems other than Linux.

`FINDSPOT_TEST_STARTS=new make test-all` starts every process as a user does.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import inspect
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

INSTALLED = str(Path(sys.executable).with_name("findspot.exe" if os.name == "nt" else "findspot"))
_ENVIRONMENT = dict(os.environ)
STARTS_NEW = _ENVIRONMENT.get("FINDSPOT_TEST_STARTS") == "new"
_IS_WARM = sys.platform == "linux" and not STARTS_NEW
_READ_WHILE_LOADING = ("PYTHON", "LD_", "LC_", "LANG", "OPENBLAS_", "OMP_", "MALLOC_")
_KNOWN = [*sys.path] if __name__ == "__main__" else []
"""Where a copy finds modules anyway; it names all of these folders to what it starts."""
_WORKERS = "findspot.indexing.worker", "findspot.history.commit_worker"
_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36
NAME = "warm parent"
"""Of the processes that only start others."""


class _Popen(subprocess.Popen[Any]):
    """A process like any other, which starts warm where it can."""

    def _execute_child(self, *options: Any) -> None:
        names = list(inspect.signature(super()._execute_child).parameters)  # type: ignore[misc]
        given = dict(zip(names, options, strict=True))
        environment = dict(os.environ if given["env"] is None else given["env"])
        if not _IS_WARM or not _is_plain(given) or _loading(environment) != _loading(_ENVIRONMENT):
            super()._execute_child(*options)  # type: ignore[misc]
            return
        request = {
            "arguments": list(given["args"]),
            "folder": os.path.abspath(given["cwd"] or "."),  # noqa: PTH100
            "environment": environment,
            "session": given["start_new_session"],
        }
        streams = given["p2cread"], given["c2pwrite"], given["errwrite"]
        self.pid = _parent().start(request, [own if own >= 0 else n for n, own in enumerate(streams)])
        self._child_created = True
        self._close_pipe_fds(*options[names.index("p2cread") : names.index("errwrite") + 1])  # type: ignore[attr-defined]


class Popen(_Popen):
    """One that ends with a test that fails beside it."""

    def __exit__(self, kind: type[BaseException] | None, *others: Any) -> None:
        if kind is not None:
            self.kill()  # else its end would be waited for
        super().__exit__(kind, *others)


@contextlib.contextmanager
def for_libraries() -> Iterator[None]:
    """Let libraries start processes warm, too."""
    usual = subprocess.Popen
    subprocess.Popen = Popen  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = usual  # type: ignore[misc]


def _is_plain(given: Mapping[str, Any]) -> bool:
    """Return whether nothing is asked for that only a new process has."""
    if isinstance(given["args"], str) or not _is_ours(list(given["args"])):
        return False
    plain = {"umask": -1, "process_group": -1, "pass_fds": ()}
    named = ("executable", "preexec_fn", "shell", "gid", "gids", "uid", *plain)
    return all(given[name] in (plain.get(name), None, False) for name in named)


def _is_ours(command: list[str]) -> bool:
    if command[:2] == [sys.executable, "-P"]:
        return any(worker in command[3] for worker in _WORKERS)
    return command[:1] == [INSTALLED]


def _loading(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that only a new process can heed."""
    named = {name: value for name, value in environment.items() if name.startswith(_READ_WHILE_LOADING)}
    folders = [folder for folder in _folders(environment) if not _is_hook(Path(folder))]
    return named | {"PYTHONPATH": os.pathsep.join(folder for folder in folders if folder not in _KNOWN)}


def _folders(environment: Mapping[str, str]) -> list[str]:
    return [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]


def _is_hook(folder: Path) -> bool:
    """Return whether a folder holds a `sitecustomize` and no other module, which can be imported later."""
    modules = [path.name for path in folder.glob("*") if path.is_dir() or path.suffix == ".py"]
    return [name for name in modules if name != "__pycache__"] == ["sitecustomize.py"]


class _Parent:
    """The loaded process, as a process sees it that starts others."""

    def __init__(self, starts: socket.socket) -> None:
        self._socket = starts
        self._answers = starts.makefile()
        self._lock = threading.Lock()

    def start(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """Start a copy, which becomes a child of this process, and return its process number."""
        message = json.dumps(request).encode()
        with self._lock:
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
            socket.send_fds(self._socket, [len(message).to_bytes(8, "big")], descriptors)
            self._socket.sendall(message)
            answer = self._answers.readline()
            _prctl(_PR_SET_CHILD_SUBREAPER, 0)
        assert answer, "the parent of warm processes ended"
        assert answer.strip(), "the copy ended before it began; see its standard error"
        return int(answer)

    def close(self) -> None:
        self._socket.close()
        self._answers.close()


_GIVEN: list[_Parent] = []
"""In a copy, its own."""


def _parent() -> _Parent:
    return _GIVEN[0] if _GIVEN else _started_parent()


@functools.cache
def _started_parent() -> _Parent:
    own, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        env=_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()
    parent = _Parent(own)
    atexit.register(process.wait)
    atexit.register(parent.close)
    return parent


def _prctl(option: int, value: int | bytes) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _load() -> None:
    """Import what the commands import."""
    from findspot.serve.cli.app import COMMANDS

    for module in sorted({module for module, _ in COMMANDS.values()}):
        import_module(f"findspot.serve.cli.{module}")
    for module in (
        "project",
        "serve.mcp.http_server",
        "resident.sessions",
        "serve.web.page_server",
        "indexing.worker",
        "history.commit_worker",
    ):
        import_module(f"findspot.{module}")
    for language in ("python", "typescript", "go"):  # of most tests; the query of one takes 0.6 s
        import_module("findspot.chunk.grammars").grammar_for(language)
    with contextlib.suppress(ImportError):
        import_module("lance_namespace")  # nearly all that lancedb takes to import; the rest starts threads


def _serve_starts(starts: socket.socket) -> list[str]:
    """Fork a copy for each request; return its command in the copy."""
    _prctl(_PR_SET_NAME, NAME.encode())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        size, descriptors, _, _ = socket.recv_fds(starts, 8, 3)
        if not size:
            os._exit(0)
        message = b""
        while len(message) < int.from_bytes(size, "big"):
            message += starts.recv(1 << 20)
        numbers, number = os.pipe()
        if middle := os.fork():
            os.close(number)
            os.waitpid(middle, 0)  # its child, an orphan now, has become that of the process that asked
            for descriptor in descriptors:
                os.close(descriptor)
            starts.sendall(os.read(numbers, 32) or b"\n")
            os.close(numbers)
        elif os.fork():
            os._exit(0)
        else:
            os.close(numbers)
            starts.close()
            request = json.loads(message)
            if request["session"]:
                os.setsid()
            command: list[str] = request["arguments"]
            if command[0] == INSTALLED and (nested := _serve_nested_starts([number, *descriptors])):
                return nested
            _become(request, descriptors)
            os.write(number, b"%d\n" % os.getpid())
            os.close(number)
            return command


def _serve_nested_starts(opened: list[int]) -> list[str]:
    """Fork a parent for what this copy starts; return the command in what that one starts."""
    own, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        _GIVEN.append(_Parent(own))
        subprocess.Popen = _Popen  # type: ignore[misc]
        return []
    own.close()
    for descriptor in opened:
        os.close(descriptor)
    return _serve_starts(theirs)


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Take over the command line, streams, folder and environment of a request."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv, sys.orig_argv = list(request["arguments"]), list(request["arguments"])
    _prctl(_PR_SET_NAME, b"findspot")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _opened(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _opened(number: int, like: Any) -> io.TextIOWrapper:
    """Open a standard stream as Python does when it starts."""
    is_bare = like.write_through  # PYTHONUNBUFFERED is set
    binary = open(number, "wb" if number else "rb", buffering=0 if is_bare else -1, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        binary,
        encoding=like.encoding,
        errors=like.errors,
        newline="\n" if number else None,
        line_buffering=number == 2 or os.isatty(number),
        write_through=is_bare,
    )


def _run(command: list[str]) -> None:
    for folder in filter(_is_hook, map(Path, _folders(os.environ))):
        sys.path.insert(0, str(folder))
        sys.modules.pop("sitecustomize", None)
        import_module("sitecustomize")
    if command[0] == INSTALLED:
        import_module("findspot.__main__").main()
    elif command[2] == "-c":
        exec(command[3], {"__name__": "__main__"})
    else:
        sys.argv = command[3:]
        runpy.run_module(command[3], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _load()
    gc.freeze()
    _run(_serve_starts(socket.socket(fileno=int(sys.argv[1]))))
