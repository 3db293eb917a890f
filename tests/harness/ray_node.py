"""A small Ray cluster of one node, and the end of every process that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from services.cluster.ray_cluster import RECONNECT
from tests.harness.leftovers import processes_with

_GCS_PORT = 26_379
_STORE_BYTES = 78 * 2**20  # the least that Ray takes
_STARTS = 5  # a node of Ray waits 15 s for its agents, programs of Python, which is little on a busy machine
_FOLDER = "EGOTOOLS_RAY_NODES"  # in the environment of all that the node starts


@dataclass(frozen=True)
class RayNode:
    """A node that runs.

    :param environ: of a process that is to find it.
    """

    environ: Mapping[str, str]


@contextmanager
def ray_node(address: str, *, processors: int) -> Iterator[RayNode]:
    """Start the head of a cluster on an address of loopback; kill every process of its at the end.

    :param processors: as Ray counts them.
    :raises RuntimeError: when it does not start, with what Ray says.
    """
    environ = os.environ | {RECONNECT: "3600", "RAY_USAGE_STATS_ENABLED": "0"}
    with ExitStack() as stack:
        # A name of its own, and short: a socket's path has at most 107 characters.
        folder = stack.enter_context(TemporaryDirectory(prefix="egr-", dir="/tmp", ignore_cleanup_errors=True))
        stack.callback(_end, folder, f"--address={address}:{_GCS_PORT}")
        options = {
            "node-ip-address": address,
            "num-cpus": processors,
            "object-store-memory": _STORE_BYTES,
            "port": _GCS_PORT,
            "temp-dir": folder,
            "include-dashboard": "false",
            "include-log-monitor": "false",
        }
        ray = [str(Path(sys.executable).with_name("ray")), "start", "--disable-usage-stats", "--head", "--no-monitor"]
        command = [*ray, *(f"--{name}={value}" for name, value in options.items())]
        for _ in range(_STARTS):
            started = {**environ, _FOLDER: folder}
            ended = subprocess.run(command, env=started, capture_output=True, text=True, timeout=180, check=False)
            if not ended.returncode:
                break
            _end(folder, f"--address={address}:{_GCS_PORT}")
        else:
            raise RuntimeError(f"{address}: {(ended.stdout + ended.stderr)[-2_000:]}")
        yield RayNode({**environ, "RAY_ADDRESS": f"{address}:{_GCS_PORT}"})


def _end(folder: str, head: str) -> None:
    """Kill what a node in the folder started.

    An agent of Ray overwrites its command line (``ray::DashboardAgent``): its environment has the folder. The server of clients names the head alone.
    """
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        left = {
            *processes_with(folder),
            *processes_with(head),
            *processes_with(f"{_FOLDER}={folder} ", where="environ"),
        }
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
