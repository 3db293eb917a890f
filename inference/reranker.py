"""The interface of rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from inference.arrays import Floats1d

__all__ = ["Reranker"]


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each document answers a query; the model gets both together."""

    @property
    def name(self) -> str:
        """The versioned name that reports record."""
        ...

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents.

        :returns: float32 [documents], in their order. Higher is better. Scores are finite, of any range, and comparable
            within one call only.
        :raises ModelError: when the model is unavailable or slow, or its answer is invalid.
        """
        ...
