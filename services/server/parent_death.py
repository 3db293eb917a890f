"""A process that ends with the one that started it, however that ended."""

from __future__ import annotations

import ctypes
import signal
from functools import partial

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1
_PRCTL = ctypes.CDLL(None, use_errno=True).prctl  # loaded here, so that nothing is imported between fork and exec


def end_with_parent(sent: signal.Signals) -> partial[int]:
    """Return what lets the kernel send a signal to the calling process when the thread that started it is gone."""
    return partial(_PRCTL, _PR_SET_PDEATHSIG, int(sent))
