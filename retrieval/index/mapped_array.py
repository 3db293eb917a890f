"""Memory-mapped arrays of a snapshot."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["READING_HEADERS", "load_mapped"]

READING_HEADERS = threading.RLock()
"""Held by whoever reads an array's header, which NumPy parses as Python. CPython before 3.11.8 and 3.12.2 now and then fails where two
threads parse at once (its issue 106905), and a server loads the catalogues of several tenants at once."""


def load_mapped(path: Path) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, read-only and memory-mapped. Pickled objects are refused with ``ValueError``.

    It is a plain array over the mapping: each slice of NumPy's ``memmap`` costs a microsecond more.
    """
    with READING_HEADERS:
        return np.asarray(np.load(path, mmap_mode="r"))
