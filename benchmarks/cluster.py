"""Index a project on one core, and on a Ray cluster of two nodes with one core each.

`python -m benchmarks.cluster PROJECT [PROJECT …]`. On a machine of two cores, the process that reads files
and writes the index shares them with both nodes: on a cluster of its own machines it would not.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from findspot import Project

_CORES = (0, 1)


def timed(root: str, workers: str, cores: tuple[int, ...]) -> tuple[float, int]:
    """Return how long a first index takes on some cores, and how many chunks it has."""
    os.sched_setaffinity(0, cores)
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        project = Project(root, {"workers": workers} if workers else None)
        began = time.perf_counter()
        chunks = project.update().total_chunks
        took = time.perf_counter() - began
        project.close()
    return took, chunks


def main(roots: list[str]) -> None:
    import ray
    from ray.cluster_utils import Cluster

    alone = {root: timed(root, "", _CORES[:1]) for root in roots}
    began = time.perf_counter()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for core in _CORES:  # what a process starts stays on its core
        os.sched_setaffinity(0, {core})
        cluster.add_node(num_cpus=1)
    os.sched_setaffinity(0, _CORES)
    ray.init(cluster.address, log_to_driver=False)
    sys.stdout.write(f"the cluster was there after {time.perf_counter() - began:.0f} s\n")
    for root in roots:
        took, chunks = timed(root, "local", _CORES)
        sys.stdout.write(
            f"{Path(root).name}: {chunks} chunks, one core {alone[root][0]:.1f} s, two nodes {took:.1f} s; "
            f"load {os.getloadavg()[0]:.0f}\n"
        )
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
