"""The seam for sentence encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from inference.arrays import Floats2d

__all__ = ["Encoder", "encoder_digest", "has_content"]


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors whose dot product is their likeness.

    A text's row depends on that text alone: not on its neighbours, their order or the number of workers.
    """

    @property
    def name(self) -> str:
        """The versioned name that snapshots and reports record, such as ``minilm-l6-int8.v1``."""
        ...

    @property
    def dimensions(self) -> int:
        """The width of a row."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts.

        :returns: float32 of shape [len(texts), dimensions]; each row has length 1, or is all zeros for a text without
            content (empty, white space). Never NaN.
        :raises ModelError: when the model is dead, slow, altered, or answers nonsense.
        """
        ...


def encoder_digest(encoder: Encoder) -> str:
    """SHA-256 (hex) of the weights behind an encoder that has them at hand, else empty."""
    digest = getattr(encoder, "digest", "")
    return digest if isinstance(digest, str) else ""


def has_content(text: str) -> bool:
    """Say whether there is anything in the text to encode."""
    return bool(text) and not text.isspace()
