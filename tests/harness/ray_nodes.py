"""Nodes of a small Ray cluster: each in a network namespace of its own, or, without the right to make those, on 127.0.0.2, .3 and .4."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from services.cluster.ray_cluster import RECONNECT

__all__ = ["RayNode", "namespaces", "ray_nodes"]

_GCS_PORT = 26_379
_STORE_BYTES = 78 * 2**20  # the least that Ray takes
_STARTS = (
    5  # a node of Ray waits 15 s for the agents that it starts, programs of Python, which is little on a busy machine
)
_ENVIRON = {RECONNECT: "3600", "RAY_USAGE_STATS_ENABLED": "0"}
_FOLDER = "EGOTOOLS_RAY_NODES"  # in the environment of all that a node starts
_RAY = str(Path(sys.executable).with_name("ray"))


class RayNode:
    """One node.

    :param address: its own.
    :param head: the address of the head; its own for the head itself.
    :param folder: for Ray's files.
    :param namespace: the network namespace that it runs in; empty for this one.
    """

    def __init__(self, address: str, head: str, folder: Path, namespace: str, processors: int) -> None:
        self.address = address
        self.namespace = namespace
        self.prefix = ["ip", "netns", "exec", namespace] if namespace else []
        gcs = f"{head}:{_GCS_PORT}"
        self.environ = os.environ | _ENVIRON | {"RAY_ADDRESS": gcs}
        self._folder = str(folder)
        self._is_head = address == head
        own = [f"--node-ip-address={address}", f"--num-cpus={processors}", f"--object-store-memory={_STORE_BYTES}"]
        head_only = [
            "--head",
            f"--port={_GCS_PORT}",
            f"--temp-dir={folder}",
            "--include-dashboard=false",
            "--no-monitor",
        ]
        own += ["--include-log-monitor=false"]
        joined = head_only if self._is_head else [f"--address={gcs}"]
        self._command = [*self.prefix, _RAY, "start", "--disable-usage-stats", *own, *joined]

    def start(self) -> None:
        """Start the node; return when it has joined.

        :raises RuntimeError: when it does not, with what Ray says.
        """
        environ = {**self.environ, _FOLDER: self._folder}
        environ.pop("RAY_ADDRESS", None)
        for _ in range(_STARTS):
            ended = subprocess.run(self._command, env=environ, capture_output=True, text=True, timeout=180)
            if not ended.returncode:
                return
            self.kill()
            self.kill_head()
        raise RuntimeError(f"{self.address}: {(ended.stdout + ended.stderr)[-2_000:]}")

    def kill(self) -> None:
        """Kill all that runs on the node; without a namespace its raylet, after which Ray ends the rest."""
        if self.namespace:
            found = subprocess.run(["ip", "netns", "pids", self.namespace], check=True, capture_output=True, text=True)
            _kill(map(int, found.stdout.split()))
        else:
            _kill(_processes_of(self._folder, "raylet/raylet", f"--node_ip_address={self.address} "))

    def kill_head(self) -> None:
        """Kill the process that knows the cluster, where it runs here; the node itself stays."""
        if self._is_head:
            _kill(self.head_processes())

    def head_processes(self) -> list[int]:
        """The ids of the process that knows the cluster: one, or none."""
        return list(_processes_of(self._folder, "gcs_server"))


def _processes_of(*words: str, where: str = "cmdline") -> Iterator[int]:
    """The ids of the processes whose command line, or environment, has all of these words."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (folder / where).read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if all(word in line for word in words):
                yield int(folder.name)


@contextmanager
def namespaces(count: int) -> Iterator[list[str]]:
    """Make network namespaces that are joined by a bridge; yield their names, of which number N has the address 10.77.0.N+1."""
    bridge, names = "egobr", [f"egons{number}" for number in range(1, count + 1)]
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", "10.77.0.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for number, name in enumerate(names, start=1):
            _ip("netns", "add", name)
            _ip("link", "add", f"egov{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", f"egov{number}", "master", bridge, "up")
            _ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        # Links by themselves: a namespace that a last connection holds would keep its own.
        for link in (*(f"egov{number}" for number in range(1, count + 1)), bridge):
            subprocess.run(["ip", "link", "del", link], check=False, capture_output=True)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def ray_nodes(addresses: Sequence[str], names: Sequence[str] = (), *, processors: int = 1) -> Iterator[list[RayNode]]:
    """Start nodes, the first one the head; kill every process of theirs at the end.

    :param names: of the network namespaces that they run in; none for this one.
    :param processors: of each, as Ray counts them.
    """
    with ExitStack() as stack:
        # A name of its own, and short: a socket's path has at most 107 characters.
        made = stack.enter_context(TemporaryDirectory(prefix="egr-", dir="/tmp", ignore_cleanup_errors=True))
        stack.callback(_end, made, f"--address={addresses[0]}:{_GCS_PORT}")
        nodes = [
            RayNode(address, addresses[0], Path(made), names[number] if names else "", processors)
            for number, address in enumerate(addresses)
        ]
        for node in nodes:
            node.start()
        yield nodes


def _end(folder: str, head: str) -> None:
    """Kill what the nodes in the folder started.

    An agent of Ray overwrites its command line (``ray::DashboardAgent``): its environment has the folder. The server of clients names the head alone.
    """
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        left = {*_processes_of(folder), *_processes_of(head), *_processes_of(f"{_FOLDER}={folder} ", where="environ")}
        if not left:
            return
        _kill(left)
        time.sleep(0.2)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
