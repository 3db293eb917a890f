"""How many calls and streams are open: for each peer and together."""

from __future__ import annotations

from collections import Counter

from ontology.errors import OverloadedError

__all__ = ["PeerCalls"]


class PeerCalls:
    """Counts open calls. Use it in one event loop.

    A peer that has none yet may begin one even when the others have all, up to twice the total.

    :param each: most calls of one peer.
    :param together: most calls of all peers.
    """

    def __init__(self, *, each: int, together: int) -> None:
        self._each = each
        self._together = together
        self._open: Counter[str] = Counter()
        self._sum = 0

    @property
    def open(self) -> int:
        """Number of open calls."""
        return self._sum

    def begin(self, peer: str) -> None:
        """Count one more call of a peer.

        :raises OverloadedError: when it, or all together, have as many as they may.
        """
        own = self._open[peer]
        if own >= self._each or self._sum >= self._together * (1 if own else 2):
            raise OverloadedError(
                f"this peer has {own:,} open calls, and all peers have {self._sum:,}",
                remedy="End some of them, or use another replica",
            )
        self._open[peer] += 1
        self._sum += 1

    def end(self, peer: str) -> None:
        """Count one call less."""
        self._sum -= 1
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]
