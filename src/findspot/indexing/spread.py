"""Workers on other machines: a Ray cluster cuts and embeds the files that it is sent.

They are read here, so the cluster needs no shared disk. A worker or a node that dies costs retries, which Ray
makes elsewhere; files at which workers keep dying are sent one by one.
"""

from __future__ import annotations

import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.files import content_hash
from findspot.core.log import get_logger
from findspot.core.model import Skip, SkipReason
from findspot.core.progress import CancelToken
from findspot.discover.root_folder import read_file
from findspot.indexing.workers import (
    Job,
    Outcome,
    Rejected,
    Setup,
    Unchanged,
    batches_of,
    file_limit_s,
    nothing,
)

if TYPE_CHECKING:
    from findspot.embed.embedder import Embedder

_log = get_logger("spread")

LOCAL = ("local", "ray://local")
"""A cluster of this machine's own cores, started for the run."""

Sent = tuple[Job, bytes]
"""A job and its file's content."""

_RETRIES = 2
"""Of a batch whose worker or node died, by Ray itself and elsewhere; then its files go one by one."""

CONNECT_S = 8
"""For the port of a cluster to answer: a host that is not there must not cost half a minute."""

_AHEAD = 2
"""Batches under way for each core of the cluster, so that none waits for the next."""

_TICK_S = 0.1

_SHOWN_CHARS = 500
"""Of an error of Ray's, the last ones: what happened stands there."""

_OBJECTS_BYTES = 256 * 1024 * 1024
"""Of shared memory for a local cluster: batches are small, where Ray would take a third of the machine."""


class RayWorkers:
    def __init__(self, address: str) -> None:
        self._address = address

    @contextmanager
    def lend(self, setup: Setup, size: int) -> Iterator[RayPool]:
        """Provide a connection for one run; a cluster that this process is connected to already is used and
        kept.
        """
        ray = _ray()
        joined = ray.is_initialized()
        if not joined:
            _connect(ray, self._address, size)
        try:
            with redirect_stdout(sys.stderr):  # Ray tells there of workers that died; answers go there, too
                yield RayPool(ray, setup)
        finally:
            if not joined:
                ray.shutdown()


class RayPool:
    """A pool whose workers are the tasks of a cluster."""

    def __init__(self, ray: Any, setup: Setup) -> None:
        self._ray = ray
        self._setup = ray.put(setup)
        self._root, self._most_bytes = setup.root, setup.max_file_bytes
        self._cut = ray.remote(num_cpus=1, max_retries=_RETRIES)(cut_files)

    def run(
        self, jobs: Iterable[Job], cancel: CancelToken, idle: Callable[[], None] = nothing
    ) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order they finish; call `idle` while none comes."""
        batches = batches_of(jobs)
        alone: deque[Sent] = deque()
        running: dict[Any, list[Sent]] = {}
        most = _AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        try:
            while True:
                cancel.check()
                while len(running) < most:
                    if alone:
                        batch = [alone.popleft()]
                    elif (read := next(batches, None)) is not None:
                        batch = yield from self._read(read)
                    else:
                        break
                    if batch:
                        running[self._cut.remote(self._setup, batch, _version())] = batch
                if not running:
                    return
                ended, _ = self._ray.wait(list(running), timeout=_TICK_S)
                if not ended:
                    idle()
                for task in ended:
                    yield from self._outcomes(task, running.pop(task), alone)
        except ConnectionError as error:
            raise _failed("The connection to the cluster was lost.", error) from error
        finally:
            with suppress(Exception):  # nothing to cancel where the cluster is gone
                for task in running:
                    self._ray.cancel(task, force=True)

    def _read(self, jobs: list[Job]) -> Generator[Outcome, None, list[Sent]]:
        """Return the files to cut, with their content; yield the outcomes that are known without cutting."""
        batch: list[Sent] = []
        for job in jobs:
            data = read_file(self._root, job.file, self._most_bytes)
            if isinstance(data, Skip):
                yield Rejected(data, job.file)
            elif content_hash(data) == job.known_sha256:
                yield Unchanged(replace(job.file, size=len(data)))
            else:
                batch.append((job, data))
        return batch

    def _outcomes(self, task: Any, batch: list[Sent], alone: deque[Sent]) -> Iterator[Outcome]:
        """Yield what a task gave; where its workers kept dying, its files are tried one by one."""
        errors = self._ray.exceptions
        memory = errors.OutOfMemoryError
        try:
            yield from self._ray.get(task)
        except (errors.NodeDiedError, errors.ObjectLostError, errors.WorkerCrashedError, memory) as error:
            _log.warning("%s: %d files are sent again", type(error).__name__, len(batch))
            if len(batch) > 1:
                alone.extend(batch)
                return
            file = batch[0][0].file
            detail = "the workers that read this file died, or did not end in time"
            yield Rejected(Skip(file.path, SkipReason.WORKER_CRASHED, detail), file)
        except errors.RayError as error:
            raise _failed("The cluster could not index.", error) from error


def _failed(what: str, error: Exception) -> FindspotError:
    said = f"{what} What was committed is kept; the next run goes on from there."
    hint = f"Every node needs Findspot {_version()}."
    return FindspotError(said, f"{type(error).__name__}: {error}"[-_SHOWN_CHARS:], hint=hint)


def cut_files(setup: Setup, batch: list[Sent], wanted: str) -> list[Outcome]:
    """Return what runs on the cluster: the outcome of each file of a batch."""
    from findspot.indexing.worker import limit_time, outcome

    if wanted != _version():
        node = _ray().util.get_node_ip_address()
        raise RuntimeError(f"this node ({node}) has Findspot {_version()}, the indexer has {wanted}")
    embedder = _embedder(setup)
    outcomes = []
    for job, content in batch:
        # A parser that hangs cannot be interrupted; its process ends, and Ray starts another.
        limit_time(file_limit_s(len(content)))
        try:
            outcomes.append(outcome(job, setup, embedder, content))
        finally:
            limit_time(0)
    return outcomes


@lru_cache(maxsize=1)
def _version() -> str:
    from importlib.metadata import version  # loads much, and is wanted on a cluster only

    return version("findspot")


@lru_cache(maxsize=1)
def _embedder(setup: Setup) -> Embedder:
    """Return a worker's model, open for as long as it works for the same run."""
    from findspot.indexing.worker import embedder_of

    return embedder_of(setup)


def _ray() -> Any:
    # Ray reports usage to its makers unless that is switched off before the import.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # without it, Ray sends no token
    try:
        import ray
    except ImportError as error:
        said = "Spreading the indexing needs the package ray."
        raise InvalidArgumentError(said, str(error), hint="Run `pip install 'findspot[ray]'`.") from error
    return ray


def _connect(ray: Any, address: str, size: int) -> None:
    wanted: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if not address.startswith("ray://") or address in LOCAL:
        wanted["job_config"] = _own_code_only(ray)
    if address in LOCAL:
        wanted |= {"num_cpus": size, "include_dashboard": False, "object_store_memory": _OBJECTS_BYTES}
    try:
        if address not in LOCAL:
            _check_port(address.removeprefix("ray://").partition("?")[0])
        ray.init("local" if address in LOCAL else address, **wanted)
    except Exception as error:  # Ray raises nothing more precise where a cluster does not start
        ray.shutdown()
        raise InvalidArgumentError(
            f"The Ray cluster at '{address}' cannot be used.",
            f"{type(error).__name__}: {error}"[-_SHOWN_CHARS:],
            hint="Give ray://HOST:10001 or `local`, RAY_AUTH_TOKEN if the cluster wants one, and the "
            "same versions of Ray and Python on every node.",
        ) from error


def _check_port(address: str) -> None:
    """Fail soon where nobody listens: Ray itself tries for half a minute."""
    host, _, port = address.rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()


def _own_code_only(ray: Any) -> Any:
    """Ray lets workers import from the folder it is started in, which may be the project: not our code."""

    class OwnCodeOnly(ray.job_config.JobConfig):  # type: ignore[misc]
        def _runtime_env_has_working_dir(self) -> bool:
            return True

    return OwnCodeOnly()
