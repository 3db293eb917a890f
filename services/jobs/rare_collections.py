"""The collector of reference cycles while a build makes millions of objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["rare_collections"]

_THRESHOLDS = (200_000, 20, 50)  # chosen, not tuned


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Let the collector of reference cycles run rarely: a build makes millions of objects, nearly none of them in a cycle, and
    each full collection visits all of them.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
