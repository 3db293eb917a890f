"""Array types named by rank and dtype, and the normalisation of embedding rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ontology.errors import ModelError

__all__ = ["Floats1d", "Floats2d", "unit_rows"]

Floats1d: TypeAlias = NDArray[np.float32]
"""One axis of float32."""

Floats2d: TypeAlias = NDArray[np.float32]
"""Two axes of float32; rows are texts, columns are dimensions."""


def unit_rows(rows: NDArray[np.floating], *, subject: str) -> Floats2d:
    """Scale each row to length 1; a row of zeros stays as it is.

    :param rows: shape [n, dimensions].
    :param subject: the model that made the rows, for the error.
    :raises ModelError: when a value is NaN or infinite.
    """
    wide = np.asarray(rows, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise ModelError(
            "the model returned numbers that are not finite",
            subject=subject,
            remedy="Check the weights of the model, or choose another encoder",
        )
    largest = np.abs(wide).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    rows_of_one: Floats2d = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0).astype(np.float32)
    return rows_of_one
