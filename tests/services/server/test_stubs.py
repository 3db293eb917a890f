"""The stubs are what ``proto/`` makes, and the contract keeps its own rules."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from egotools.v1 import egotools_pb2 as pb

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


def test_the_service_has_its_calls_and_each_its_own_messages() -> None:
    service = pb.DESCRIPTOR.services_by_name["ToolRetrieval"]
    assert service.full_name == "egotools.v1.ToolRetrieval"
    assert {method.name: (method.input_type.name, method.output_type.name) for method in service.methods} == {
        name: (f"{name}Request", f"{name}Response")
        for name in ("Retrieve", "RetrieveBatch", "GetTool", "Neighbors", "GetCatalog", "ReportOutcome", "Plan")
    } | {"RetrieveEach": ("RetrieveBatchRequest", "RetrieveResult")}
