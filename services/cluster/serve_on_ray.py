"""``egotools serve --on ray``: one server on each node of a cluster, also on nodes that join, until SIGTERM."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError, NotReadyError
from ontology.files import write_file
from services.cluster.ray_cluster import RECONNECT, connected
from services.server.settings import ENV_PREFIX, CatalogEntry, ServerSettings

_LOG = logging.getLogger("egotools.cluster")
_LOOK_S, _ANSWER_S, _END_S = 1.0, 5.0, 10.0
_STEADY_S = 60.0  # after which a server that ends is started again at once
_BACKOFF = RetryPolicy()
_PR_SET_PDEATHSIG = 1
# Lets the kernel kill the calling process when its starting thread is gone. Made here: fork and exec allow no import.
_END_WITH_PARENT = partial(ctypes.CDLL(None, use_errno=True).prctl, _PR_SET_PDEATHSIG, int(signal.SIGKILL))


class NodeServer:
    """The actor of one node: runs ``egotools serve`` until :meth:`stop`, and starts it again when it ends. Where this
    process dies, however that happens, the server dies with it."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="egotools-node-")
        self._ready = Path(self._folder.name) / "ready.json"
        self._arguments, self._environ = tuple(arguments), dict(environ)  # of ``egotools serve``
        self._child: subprocess.Popen[bytes] | None = None
        self._problem, self._stopping = "", threading.Event()
        # The kernel ends a child with the thread that started it, so one thread starts it each time.
        self._keeping = threading.Thread(target=self._keep, daemon=True)
        if RECONNECT in os.environ:
            self._keeping.start()
        else:
            self._problem = f"the node was started without {RECONNECT}: it would end a minute after the head"

    def state(self) -> dict[str, Any]:
        """Return the arguments and variables, the content of the ready file or nothing, and why the server does not run, or an empty text."""
        try:
            ready = json.loads(self._ready.read_text(encoding="utf-8"))
        except OSError:
            ready = {}
        return {"command": (self._arguments, self._environ), "ready": ready, "problem": self._problem}

    def stop(self) -> None:
        """Let the server finish its calls, and end it. Nothing can be asked of the node then."""
        self._stopping.set()
        if self._child is not None:
            self._child.send_signal(signal.SIGTERM)
            self._keeping.join()
        self._folder.cleanup()

    def _keep(self) -> None:
        command = [sys.executable, "-m", "services.cli", "serve", *self._arguments, "--ready-file", str(self._ready)]
        losses = 0
        while not self._stopping.is_set():
            self._ready.unlink(missing_ok=True)
            started = time.monotonic()
            self._child = subprocess.Popen(command, env=os.environ | self._environ, preexec_fn=_END_WITH_PARENT)
            code = self._child.wait()
            losses = 0 if time.monotonic() - started > _STEADY_S else losses + 1
            self._problem = f"the server ended with exit code {code}; its log is that of its actor: ray logs actor"
            self._stopping.wait(_BACKOFF.delay_s(losses))


def serve_on_ray(settings: ServerSettings, *, store: CatalogEntry, catalogs: Path | None = None) -> None:
    """Keep a server running on each node until SIGTERM or SIGINT; then stop them all. The servers outlive this process
    where it is killed: the same command takes them over. With other arguments it replaces them. Each server has these
    settings, but listens on the address of its node; paths are those of every node. Raises InvalidArgumentError when
    the port is 0, NotReadyError when there is no cluster, or no node can serve."""
    if not settings.port:
        problem, remedy = "a server that is started again needs its port again", "Name a port"
        raise InvalidArgumentError(problem, subject="port", remedy=remedy)
    arguments = ["--catalogs", str(catalogs.absolute())] if catalogs is not None else []
    if catalogs is None:
        arguments += ["--store", str(store.store.absolute()), "--reranker", store.reranker]
        arguments += [word for name in store.allowed_models for word in ("--allow-model", name)]
    fleet = _Fleet(connected(), arguments, settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # In a thread: without the head a look waits, and a signal must not.
    looking = threading.Thread(target=fleet.keep, args=(stop,), daemon=True)
    looking.start()
    stop.wait()
    looking.join(_END_S)
    ending = threading.Thread(target=fleet.stop, daemon=True)
    ending.start()
    ending.join(settings.drain_s + settings.grace_s + _END_S)
    if fleet.failure is not None:
        raise fleet.failure


def node_variables(settings: ServerSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of each server: those of this command, with the settings as it was told them, but for what is a node's own."""
    variables = {name: value for name, value in environ.items() if name.startswith(ENV_PREFIX)}
    for field in fields(settings):
        name, value = ENV_PREFIX + field.name.upper(), getattr(settings, field.name)
        if field.name in ("host", "ready_file"):
            variables.pop(name, None)
        elif field.name != "workers" and value is not None:  # workers: one a processor, unless the variable is set
            variables[name] = str(value)
    return variables


class _Fleet:
    """The servers of a cluster."""

    def __init__(self, ray: Any, arguments: Sequence[str], settings: ServerSettings) -> None:
        self._ray, self._arguments, self._settings = ray, tuple(arguments), settings
        self._environ = node_variables(settings, os.environ)
        self._actors: dict[str, Any] = {}  # id of a node → its actor
        self._hosts: dict[str, str] = {}
        self._served: dict[str, dict[str, Any]] = {}  # the last ready file of each node
        self._written: dict[str, Any] = {}
        self._problems: dict[str, str] = {}
        self.failure: Exception | None = None

    def keep(self, stop: threading.Event) -> None:
        """Look after the servers until told to stop, or until none can serve."""
        try:
            while not stop.wait(_LOOK_S):
                try:
                    self._look()
                except self._ray.exceptions.RayError as error:  # the head does not answer: the servers do without
                    _LOG.warning("%s", error)
        except Exception as error:  # told by the command, whose thread waits
            self.failure = error
            stop.set()

    def stop(self) -> None:
        """Let all servers finish their calls at the same time, and end them."""
        self._ray.wait([actor.stop.remote() for actor in self._actors.values()], num_returns=len(self._actors))
        for actor in self._actors.values():
            self._ray.kill(actor)
        if self._settings.ready_file is not None:
            self._settings.ready_file.unlink(missing_ok=True)

    def _look(self) -> None:
        """Give each new node a server, forget those of lost nodes, and say where all are."""
        self._hosts = {node["NodeID"]: node["NodeManagerAddress"] for node in self._ray.nodes() if node["Alive"]}
        for known in (self._actors, self._served, self._problems):
            for lost in known.keys() - self._hosts.keys():
                del known[lost]
        for node in sorted(self._hosts):
            self._ask(node)
        self._tell()

    def _ask(self, node: str) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        arguments = (*self._arguments, "--host", self._hosts[node])
        if node not in self._actors:
            remote = self._ray.remote(NodeServer).options(
                name=f"server-{node}",
                get_if_exists=True,
                lifetime="detached",
                max_restarts=-1,
                max_task_retries=0,
                num_cpus=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            )
            self._actors[node] = remote.remote(arguments, self._environ)
        actor = self._actors[node]
        try:
            state = self._ray.get(actor.state.remote(), timeout=_ANSWER_S)
        except self._ray.exceptions.ActorDiedError:
            del self._actors[node]
            return
        except (self._ray.exceptions.ActorUnavailableError, self._ray.exceptions.GetTimeoutError):
            return  # it is being started again, or its node does not answer; its address stays the same
        if state["command"] != (arguments, self._environ):  # of an earlier command
            self._ray.get(actor.stop.remote())
            self._ray.kill(actor)
            del self._actors[node]
        elif state["ready"]:
            self._served[node] = state["ready"]
            self._problems.pop(node, None)
        elif state["problem"] and state["problem"] != self._problems.get(node):
            self._problems[node] = state["problem"]
            _LOG.warning("%s: %s", self._hosts[node], state["problem"])

    def _tell(self) -> None:
        """Write the ready file again where the nodes that serve are others; NotReadyError when none has served, and one says why."""
        if not self._served:
            for node, problem in self._problems.items():
                remedy = "Correct it, and start the command again"
                raise NotReadyError(problem, subject=self._hosts[node], remedy=remedy)
            return
        nodes = [self._served[node] for node in sorted(self._served, key=self._hosts.__getitem__)]
        ready = {"address": f"ipv4:{','.join(each['address'] for each in nodes)}", "pid": os.getpid(), "nodes": nodes}
        if ready == self._written:
            return
        self._written = ready
        _LOG.info("serving at %s", ready["address"])
        path = self._settings.ready_file
        if path is not None:
            write_file(path, json.dumps(ready) + "\n")
