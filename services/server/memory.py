"""Memory of the C library (glibc): what an old engine frees goes back to the operating system.

Without this, a process that swaps its engines keeps about an engine's size for each of a dozen arenas of freed memory.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["limit_heap", "return_memory"]

# Chosen: above the arrays of a request over 60,000 tools, below those of an engine. The library's own threshold rises to the largest
# block that was freed, 32 MiB at most: then each swapped engine lies between blocks that stay, and leaves holes in the heap.
_MAPPED_BYTES, _TRIMMED_BYTES = 256 * 1024, 8 * 1024 * 1024
_ARENAS = 2
_OPTIONS = (  # of mallopt, the variable that overrides it, and the value
    (-8, "MALLOC_ARENA_MAX", _ARENAS),
    (-3, "MALLOC_MMAP_THRESHOLD_", _MAPPED_BYTES),
    (-1, "MALLOC_TRIM_THRESHOLD_", _TRIMMED_BYTES),
)


def limit_heap() -> None:
    """Let all threads share two arenas, and let large blocks lie outside of them, so that they go back when they are freed.

    The variables of the C library say otherwise where they are set. Call it before threads start.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    for option, variable, value in _OPTIONS:
        if set_option is not None and variable not in os.environ:
            set_option(option, value)


def return_memory() -> None:
    """Give memory that was freed back to the operating system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
