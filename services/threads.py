"""Thread pins: numeric libraries get one thread a call, for the server's own workers are the parallelism.

Unpinned, every request starts a pool of threads per processor, and the pools fight. The libraries read these variables
when they are first imported, so the pins come before them; this module imports none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping

__all__ = ["THREAD_VARIABLES", "imported_too_early", "pin_threads"]

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TOKENIZERS_PARALLELISM",
)
_PINNED = {"TOKENIZERS_PARALLELISM": "false"}
_READ_AT_IMPORT = ("faiss", "numpy", "onnxruntime", "tokenizers", "torch")


def pin_threads(environ: MutableMapping[str, str] | None = None) -> dict[str, str]:
    """Set every thread variable that is not set already to one thread; what an operator set stays.

    :returns: every variable with the value it now has.
    """
    environ = os.environ if environ is None else environ
    return {name: environ.setdefault(name, _PINNED.get(name, "1")) for name in THREAD_VARIABLES}


def imported_too_early() -> tuple[str, ...]:
    """The libraries, by name, that were imported already, and so never see a pin that is set now."""
    return tuple(name for name in _READ_AT_IMPORT if name in sys.modules)
