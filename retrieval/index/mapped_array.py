"""Memory-mapped arrays of a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["load_mapped"]


def load_mapped(path: Path) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, read-only and memory-mapped.

    It is a plain array over the mapping: each slice of NumPy's ``memmap`` costs a microsecond more.
    """
    return np.asarray(np.load(path, mmap_mode="r"))
