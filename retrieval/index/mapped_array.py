"""Memory-mapped arrays and texts of a snapshot. Small files are read instead.

Python holds a descriptor for each mapping, and a snapshot has some 50 files. Most of them are small: mapped, they would let a process
with the usual limit of 1,024 descriptors serve 20 catalogues at most.
"""

from __future__ import annotations

import mmap
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAPPED_FROM_BYTES", "READING_HEADERS", "load_mapped", "map_bytes"]

MAPPED_FROM_BYTES = 64 * 1024
"""Smaller files are read: those of one snapshot are 3 MB at most."""

READING_HEADERS = threading.RLock()
"""Held by whoever reads an array's header, which NumPy parses as Python. CPython before 3.11.8 and 3.12.2 now and then fails where two
threads parse at once (its issue 106905), and a server loads the catalogues of several tenants at once."""


def load_mapped(path: Path) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, read-only and memory-mapped unless it is small. Pickled objects are refused with ``ValueError``.

    It is a plain array over the mapping: each slice of NumPy's ``memmap`` costs a microsecond more.
    """
    small = path.stat().st_size < MAPPED_FROM_BYTES
    with READING_HEADERS:
        array = np.asarray(np.load(path, mmap_mode=None if small else "r"))
    array.flags.writeable = False
    return array


def map_bytes(path: Path) -> mmap.mmap | bytes:
    """Return the content of a file, memory-mapped unless it is small."""
    if path.stat().st_size < MAPPED_FROM_BYTES:
        return path.read_bytes()
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
