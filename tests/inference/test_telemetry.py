"""The libraries behind the models report to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

_LOAD = """
from inference import load_encoder
print(load_encoder("egotools-minilm-int8.v1").encode(["an order"]).shape[0])
"""


def test_an_embedded_encoder_leaves_nothing_in_the_home_or_the_temporary_folder(tmp_path: Path) -> None:
    # ONNX Runtime with telemetry makes a device id below the cache of the user, and .ses in the temporary folder.
    variables = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-B", "-c", _LOAD]
    ran = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["1"]
    assert list(tmp_path.rglob("*")) == []
