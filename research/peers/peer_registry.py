"""The peers by name: what is measured, in which version, under which licence, and what it is given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "Peer"]

FOLDER = Path(__file__).resolve().parent
ENCODER = "minilm-l6-int8.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A system of others, or by others' method.

    :param name: what the tables call it.
    :param version: of the package that is measured; empty where it is a method and the code is ours.
    :param licence: of that package.
    :param script: file with its ``build``.
    :param lock: the packages of its environment, with hashes.
    :param encoder: the project's encoder where the peer embeds, so that a difference is the method's and not the
        model's; or empty.
    :param dependencies: what it makes of dependencies that a catalogue declares: nothing (``ignored``), something
        (``used``), or it is nothing without them (``needed``).
    """

    name: str
    version: str
    licence: str
    script: Path
    lock: Path
    encoder: str = ""
    dependencies: str = "ignored"

    @property
    def config(self) -> Mapping[str, Any]:
        """All that its answers depend on beside catalogue and requests."""
        return {
            "kind": "peer",
            "peer": self.name,
            "version": self.version,
            "encoder": self.encoder,
            "script_sha256": _sha256(self.script, FOLDER / "peer.py"),
            "lock_sha256": _sha256(self.lock),
        }


def _sha256(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _peers() -> tuple[Peer, ...]:
    graph_tool_call = Peer(
        name="graph-tool-call",
        version="0.47.0",
        licence="MIT",
        script=FOLDER / "graphtoolcall.py",
        lock=FOLDER / "graph-tool-call.txt",
        dependencies="used",
    )
    return (
        graph_tool_call,
        Peer(
            name="graph-tool-call-minilm",
            version=graph_tool_call.version,
            licence=graph_tool_call.licence,
            script=graph_tool_call.script,
            lock=graph_tool_call.lock,
            encoder=ENCODER,
            dependencies=graph_tool_call.dependencies,
        ),
        Peer(
            name="langgraph-bigtool",
            version="0.0.3",
            licence="MIT",
            script=FOLDER / "bigtool.py",
            lock=FOLDER / "langgraph-bigtool.txt",
            encoder=ENCODER,
        ),
        Peer(
            name="ratel-ai",
            version="0.12.0",
            licence="MIT",
            script=FOLDER / "ratel.py",
            lock=FOLDER / "ratel-ai.txt",
        ),
        Peer(
            name="dependency-unroll",
            version="",
            licence="Apache-2.0",
            script=FOLDER / "unroll.py",
            lock=FOLDER / "dependency-unroll.txt",
            encoder=ENCODER,
            dependencies="needed",
        ),
    )


PEERS: Mapping[str, Peer] = {peer.name: peer for peer in _peers()}
