"""The stubs are what ``proto/`` makes, and the contract keeps its own rules."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_the_stubs_are_not_stale() -> None:
    if importlib.util.find_spec("grpc_tools") is None or importlib.util.find_spec("mypy_protobuf") is None:
        pytest.skip("grpcio-tools and mypy-protobuf are not installed")
    done = subprocess.run(
        ["bash", "scripts/generate_stubs.sh", "--check"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
