"""What a program prints must not depend on the order of sets, which each process draws."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Sequence

from tests.conftest import ROOT


def said_by(code: str, seeds: Sequence[str] = ("4711",)) -> set[str]:
    """What a program prints in this process, and in one more under each of these hash seeds but this process's own."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(ROOT):
        exec(code, {"__name__": "said_by"})
    found = {printed.getvalue()}
    own = os.environ.get("PYTHONHASHSEED", "random")
    for seed in seeds:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": f"{seed}1" if seed == own else seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    return found
