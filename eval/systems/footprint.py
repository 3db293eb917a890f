"""Memory and loading time of a local system, measured in its own process, so that memory of other systems does not
count.

As a program, ``python -m eval.systems.footprint STORE SYSTEM RERANKER [ALLOWED_MODEL …]`` reads a request from
standard input and prints the measures as JSON.
"""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from retrieval.ranking.weights import FUSION

__all__ = ["measure_footprint"]

_log = logging.getLogger(__name__)
_STATUS = Path("/proc/self/status")
_LIMIT_S = 600.0


def measure_footprint(
    store: Path, system: str, query: str, *, reranker: str = FUSION, allowed_models: Sequence[str] = ()
) -> dict[str, float]:
    """Load a system in a new process and send it one request.

    :param store: folder of the published snapshot.
    :param reranker: name of the reranker to load.
    :param allowed_models: see :func:`retrieval.engine.open_engine`.
    :returns: ``load_s``: seconds from the imported code to the first answer, including the verification of the snapshot,
        the encoder, and every index that is built at first use; ``resident_bytes``: peak growth of the process's resident
        memory in that time, including mapped pages of the snapshot. Empty, with a logged warning, when the measurement
        failed.
    """
    command = [sys.executable, "-m", "eval.systems.footprint", str(store), system, reranker, *allowed_models]
    try:
        done = subprocess.run(command, input=query, capture_output=True, encoding="utf-8", timeout=_LIMIT_S, check=True)
        measured: dict[str, float] = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        _log.warning("the cost of %s was not measured: %s", system, error.stderr.strip().rpartition("\n")[2])
        return {}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        _log.warning("the cost of %s was not measured: %s", system, error)
        return {}
    return measured


def _main(store: str, system: str, reranker: str, *allowed_models: str) -> None:
    from eval.systems import make_systems
    from retrieval.engine import open_engine, open_reranker

    query = sys.stdin.read()
    before, started = _resident("VmRSS"), time.perf_counter()
    engine = open_engine(Path(store), allowed_models=allowed_models)
    loaded = open_reranker(reranker)
    (measured_system,) = make_systems([system], engine.snapshot, engine.encoder, reranker=loaded)
    measured_system.ask(query, k=10, timeout_s=_LIMIT_S)
    measured = {"load_s": round(time.perf_counter() - started, 3)}
    if before:
        measured["resident_bytes"] = float(max(0, _resident("VmHWM") - before))
    sys.stdout.write(json.dumps(measured) + "\n")


def _resident(field: str) -> int:
    """Return the current (``VmRSS``) or peak (``VmHWM``) resident memory in bytes; 0 where it is not available."""
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    _main(*sys.argv[1:])
