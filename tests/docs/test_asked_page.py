"""The page on what people ask for is true: its program prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.servers import running_server

PAGE = (ROOT / "docs" / "asked.md").read_text(encoding="utf-8")


def test_the_program_finds_what_is_named_and_lists_the_namespaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    documents = [str(ROOT / "examples/enterprise/catalog" / name) for name in ("procurement.yaml", "hr.yaml")]
    build_snapshot(documents, tmp_path / "store", encoder=HashingEncoder())
    with running_server(tmp_path / "store") as server:
        exec(program.replace("127.0.0.1:50051", server.address), {})
    first, *namespaces = capsys.readouterr().out.splitlines()
    assert first == "procurement/searchSuppliers"
    assert [line.split()[0] for line in namespaces] == ["hr", "procurement"]
    assert all(len(line.split()) > 2 for line in namespaces), "each names objects"
