"""The peers: other ways to find tools, each in an environment of its own, measured beside egotools on the same requests.

They are yardsticks and not dependencies: nothing here is imported by what egotools runs. :mod:`research.peers.peer` runs inside
a peer's environment, with the standard library alone; the scripts beside it are one peer each; README.md lists them.
"""

from research.peers.peer_registry import PEERS, Peer
from research.peers.process import measure_peer, peer_environment

__all__ = ["PEERS", "Peer", "measure_peer", "peer_environment"]
