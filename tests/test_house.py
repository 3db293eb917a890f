"""The house: a folder imports the folders below it, never one above or beside it; the client imports none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

FLOORS = {"ontology": 1, "inference": 2, "ingest": 3, "retrieval": 4, "eval": 5, "datagen": 5, "services": 6}
CLIENT = "egotools"  # the public contract: whoever talks to a server imports it


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("folder", [*FLOORS, CLIENT])
def test_imports_only_lead_down(folder: str) -> None:
    floor = FLOORS.get(folder, 0)
    files = sorted((ROOT / folder).rglob("*.py"))
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imported(path)
        if name != folder and (FLOORS.get(name, 0) >= max(floor, 1) or name in ("scripts", "research", "tests"))
    ]
    assert files
    assert wrong == []
