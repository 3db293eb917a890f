"""Memory of the C library (glibc): what an old engine frees goes back to the operating system.

Without this, a process that swaps its engines keeps about an engine's size for each of a dozen arenas of freed memory.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["limit_arenas", "return_memory"]

_M_ARENA_MAX, _ARENAS = -8, 2
_VARIABLE = "MALLOC_ARENA_MAX"


def limit_arenas() -> None:
    """Let all threads share two arenas, unless the variable ``MALLOC_ARENA_MAX`` says otherwise. Call it before threads start."""
    limit = getattr(ctypes.CDLL(None), "mallopt", None)
    if limit is not None and _VARIABLE not in os.environ:
        limit(_M_ARENA_MAX, _ARENAS)


def return_memory() -> None:
    """Give memory that was freed back to the operating system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
