"""Arrays of a snapshot, mapped from their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["mapped"]


def mapped(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file, read-only, mapped into memory.

    A plain array over the map: NumPy's own ``memmap`` costs a microsecond at every slice.
    """
    return np.asarray(np.load(path, mmap_mode="r"))
