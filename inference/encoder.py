"""The interface of sentence encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from inference.arrays import Floats2d

__all__ = ["Encoder", "has_content"]


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    The row of a text depends on that text alone: not on the other texts of a call, their order or the number of
    workers.
    """

    @property
    def name(self) -> str:
        """The versioned name that snapshots and reports record, such as ``egotools-minilm-int8.v1``."""
        ...

    @property
    def dimensions(self) -> int:
        """The width of a row."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the weights; empty where they are not known, as behind an endpoint."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts.

        :returns: float32 [texts, dimensions]. Each row has length 1; the row of a text without content (empty or white
            space) is all zeros. Never NaN.
        :raises ModelError: when the model is unavailable or slow, when its weights were changed, or when its answer is
            invalid.
        """
        ...


def has_content(text: str) -> bool:
    """Whether a text has anything to encode."""
    return bool(text) and not text.isspace()
