"""Start `findspot` from a process that has loaded its code: a test waits for its work, not for imports.

Each test process has one such parent. For every start it forks a copy, which gets the command line, folder,
environment and streams that a new process would have, and runs the entry point of the installed command.
Nothing of one start reaches the next. What a copy cannot have is started as usual: other programs, variables
that Python or a library reads while it is loaded, and systems other than Linux.

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
_IS_WARM = sys.platform == "linux" and _ENVIRONMENT.get("FINDSPOT_TEST_STARTS") != "new"
_READ_WHILE_LOADING = ("PYTHON", "LD_", "LC_", "LANG", "OPENBLAS_", "OMP_", "MALLOC_")
_PR_SET_CHILD_SUBREAPER = 36


class Popen(subprocess.Popen[Any]):
    """A process like any other, which starts warm where it can, and ends with a test that fails beside it."""

    def __exit__(self, kind: type[BaseException] | None, *others: Any) -> None:
        if kind is not None:
            self.kill()  # else its end would be waited for
        super().__exit__(kind, *others)

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
    if isinstance(given["args"], str) or list(given["args"])[:1] != [INSTALLED]:
        return False
    plain = {"umask": -1, "process_group": -1, "pass_fds": ()}
    named = ("executable", "preexec_fn", "shell", "gid", "gids", "uid", *plain)
    return all(given[name] in (plain.get(name), None, False) for name in named)


def _loading(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that only a new process can heed."""
    named = {name: value for name, value in environment.items() if name.startswith(_READ_WHILE_LOADING)}
    folders = [folder for folder in _folders(environment) if not _is_hook(Path(folder))]
    return named | {"PYTHONPATH": os.pathsep.join(folders)}


def _folders(environment: Mapping[str, str]) -> list[str]:
    return [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]


def _is_hook(folder: Path) -> bool:
    """Return whether a folder holds a `sitecustomize` and no other module, which can be imported later."""
    modules = [path.name for path in folder.glob("*") if path.is_dir() or path.suffix == ".py"]
    return [name for name in modules if name != "__pycache__"] == ["sitecustomize.py"]


class _Parent:
    """The loaded process, as the test process sees it."""

    def __init__(self) -> None:
        own, theirs = socket.socketpair()
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        self._socket = own
        self._answers = own.makefile()
        self._lock = threading.Lock()
        self._prctl = ctypes.CDLL(None).prctl
        atexit.register(self._close)

    def start(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """Start a copy, which becomes a child of this process, and return its process number."""
        message = json.dumps(request).encode()
        with self._lock:
            self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            socket.send_fds(self._socket, [len(message).to_bytes(8, "big")], descriptors)
            self._socket.sendall(message)
            answer = self._answers.readline()
            self._prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert answer, "the parent of warm processes ended"
        assert answer.strip(), "the copy ended before it began; see its standard error"
        return int(answer)

    def _close(self) -> None:
        self._socket.close()
        self._answers.close()
        self._process.wait()


@functools.cache
def _parent() -> _Parent:
    return _Parent()


def _load() -> None:
    """Import what the commands import."""
    from findspot.serve.cli.app import COMMANDS

    for module in sorted({module for module, _ in COMMANDS.values()}):
        import_module(f"findspot.serve.cli.{module}")
    for module in ("project", "serve.mcp.http_server", "resident.sessions", "serve.web.page_server"):
        import_module(f"findspot.{module}")
    with contextlib.suppress(ImportError):
        import_module("lance_namespace")  # nearly all that lancedb takes to import; the rest starts threads


def _serve_starts(starts: socket.socket) -> None:
    """Fork a copy for each request; return in the copy."""
    while True:
        size, descriptors, _, _ = socket.recv_fds(starts, 8, 3)
        if not size:
            sys.exit()
        message = b""
        while len(message) < int.from_bytes(size, "big"):
            message += starts.recv(1 << 20)
        numbers, number = os.pipe()
        if middle := os.fork():
            os.close(number)
            os.waitpid(middle, 0)  # its child, an orphan now, has become the test process's
            for descriptor in descriptors:
                os.close(descriptor)
            starts.sendall(os.read(numbers, 32) or b"\n")
            os.close(numbers)
        elif os.fork():
            os._exit(0)
        else:
            os.close(numbers)
            starts.close()
            _become(json.loads(message), descriptors)
            os.write(number, b"%d\n" % os.getpid())
            os.close(number)
            return


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Take over the command line, streams, folder and environment of a request."""
    if request["session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = list(request["arguments"])
    for folder in filter(_is_hook, map(Path, _folders(os.environ))):
        sys.path.insert(0, str(folder))
        sys.modules.pop("sitecustomize", None)
        import_module("sitecustomize")
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _load()
    gc.freeze()
    _serve_starts(socket.socket(fileno=int(sys.argv[1])))
    from findspot.__main__ import main

    sys.exit(main())
