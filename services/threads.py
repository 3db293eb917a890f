"""Thread variables: numeric libraries use one thread for each call, because the workers of the server run in parallel.

Otherwise every request starts as many threads as there are processors, and they slow each other down. The libraries
read the variables at import, so they must be set before. This module imports no numeric library.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

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


def pin_threads(environ: MutableMapping[str, str] | None = None) -> dict[str, str]:
    """Set every thread variable to one thread, except those that are set already. Returns every variable with its value."""
    environ = os.environ if environ is None else environ
    return {name: environ.setdefault(name, _PINNED.get(name, "1")) for name in THREAD_VARIABLES}
