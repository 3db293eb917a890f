"""The seam for rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from inference.arrays import Floats1d

__all__ = ["Reranker"]


@runtime_checkable
class Reranker(Protocol):
    """Says how well each document answers a query, reading both together."""

    @property
    def name(self) -> str:
        """The versioned name that reports record."""
        ...

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents.

        :returns: float32 of shape [len(documents)], in their order; higher is better; comparable within one call
            only, of any range, always finite.
        :raises ModelError: when the model is dead, slow, or answers nonsense.
        """
        ...
