"""The peers by name: what is measured, in which version, under which licence, and with which input."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "PEERS", "Peer"]

FOLDER = Path(__file__).resolve().parent
_ENCODER = "egotools-minilm-int8.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A retriever of others, or by the method of others.

    :param name: in the tables.
    :param version: of the package that is measured; empty where the code is ours, after a published method.
    :param licence: of that package.
    :param script: file with its ``build``.
    :param lock: the packages of its environment, with hashes.
    :param encoder: the project's encoder where the peer embeds, so that a difference is the method's and not the
        model's; or empty.
    :param dependencies: how it uses the dependencies that a catalogue declares: ``ignored``, ``used``, or ``needed``
        where it cannot work without them.
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
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_GRAPH_TOOL_CALL = Peer(
    name="graph-tool-call",
    version="0.47.0",
    licence="MIT",
    script=FOLDER / "graphtoolcall.py",
    lock=FOLDER / "graph-tool-call.txt",
    dependencies="used",
)
_PEERS = (
    _GRAPH_TOOL_CALL,
    replace(_GRAPH_TOOL_CALL, name="graph-tool-call-minilm", encoder=_ENCODER),
    Peer(
        name="langgraph-bigtool",
        version="0.0.3",
        licence="MIT",
        script=FOLDER / "bigtool.py",
        lock=FOLDER / "langgraph-bigtool.txt",
        encoder=_ENCODER,
    ),
    Peer(
        name="fastmcp-search",
        version="4.1.2",
        licence="Apache-2.0",
        script=FOLDER / "fastmcp_search.py",
        lock=FOLDER / "fastmcp.txt",
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
        script=FOLDER / "dependency_unroll.py",
        lock=FOLDER / "dependency-unroll.txt",
        encoder=_ENCODER,
        dependencies="needed",
    ),
)
PEERS: Mapping[str, Peer] = {peer.name: peer for peer in _PEERS}
