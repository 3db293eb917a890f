"""Peers: retrievers of others, each in an environment of its own, measured beside egotools on the same requests.

They are baselines and not dependencies: nothing that egotools runs imports this folder. ``peer`` runs inside a peer's
environment with the standard library alone; the scripts beside it are one peer each; README.md lists them.
"""

from research.peers.peer_registry import PEERS, Peer
from research.peers.process import PeerTask, measure_peer, peer_environment

__all__ = ["PEERS", "Peer", "PeerTask", "measure_peer", "peer_environment"]
