"""Memory and loading time of a local system, in a process of its own, so that what another system has loaded is not
counted.

As a program, ``python -m eval.systems.footprint STORE SYSTEM RERANKER`` reads a request from standard input and prints
the measures as JSON.
"""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["measure_footprint"]

_log = logging.getLogger(__name__)
_STATUS = Path("/proc/self/status")
_LIMIT_S = 600.0


def measure_footprint(store: Path, system: str, query: str, *, reranker: str = "") -> dict[str, float]:
    """Load a system in a new process and ask it once.

    :param store: folder of the published snapshot.
    :param reranker: name of a reranker to be loaded too; empty for the embedded fusion.
    :returns: ``load_s``: seconds from the imported code to the first answer, with the snapshot's check, the encoder,
        and every index that is made at the first use; ``resident_bytes``: the most that the process's resident memory
        grew by in that time, mapped pages of the snapshot included. Empty, with a warning, when it could not be
        measured.
    """
    command = [sys.executable, "-m", "eval.systems.footprint", str(store), system, reranker]
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


def _main(store: str, system: str, reranker: str) -> None:
    from eval.systems import make_systems
    from inference import load_reranker
    from retrieval.snapshot_engine import open_engine

    query = sys.stdin.read()
    before, started = _resident("VmRSS"), time.perf_counter()
    engine = open_engine(Path(store))
    loaded = load_reranker(reranker) if reranker else None
    (asked,) = make_systems([system], engine.snapshot, engine.encoder, reranker=loaded)
    asked.ask(query, k=10, timeout_s=_LIMIT_S)
    measured = {"load_s": round(time.perf_counter() - started, 3)}
    if before:
        measured["resident_bytes"] = float(max(0, _resident("VmHWM") - before))
    sys.stdout.write(json.dumps(measured) + "\n")


def _resident(field: str) -> int:
    """Resident memory now (``VmRSS``) or at its highest (``VmHWM``) in bytes; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    _main(*sys.argv[1:])
