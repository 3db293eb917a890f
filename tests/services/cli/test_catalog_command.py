"""``egotools admin catalog``: a graph in CSV files is described, the draft checked, corrected and accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planners.graphseek.catalog import read_catalog
from tests.harness.commands import Run
from tests.services.cli.csv_plants import write_plants


@pytest.fixture
def graph(tmp_path: Path) -> str:
    """A folder of CSV files: two plants and two cars."""
    folder = tmp_path / "graph"
    folder.mkdir()
    return write_plants(folder)


def test_a_draft_is_written_checked_and_accepted(run: Run, graph: str, tmp_path: Path) -> None:
    file, terms = tmp_path / "mine.yaml", tmp_path / "terms.yaml"
    terms.write_text("car: What we sell\n", encoding="utf-8")
    code, out, err = run("admin", "catalog", "draft", "--graph", graph, "--glossary", terms, "--out", file)
    assert code == 0 and "egotools admin catalog accept" in out, err
    drafted = read_catalog(file)
    assert drafted.nodes["Car"].description == "What we sell (2 nodes)"
    assert drafted.relationships["BUILT_AT"].backward == ("builds",) and not drafted.accepted

    code, out, _ = run("admin", "catalog", "check", file, "--graph", graph)
    assert (code, out) == (0, "0 errors, 0 warnings; the catalog is a draft.\n")
    code, out, _ = run("admin", "catalog", "accept", file, "--json")
    assert code == 0 and json.loads(out) == {"file": str(file), "accepted": True, "nodes": 2}
    assert read_catalog(file).accepted

    code, _, err = run("admin", "catalog", "draft", "--graph", graph, "--out", file)
    assert code == 2 and "there is such a file" in err, "what a person accepted is not written over"


def test_faults_of_a_catalog_are_listed_and_it_is_not_accepted(run: Run, graph: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("nodes:\n  Car: {description: Wh\u202eeels}\n  Lorry: {}\n", encoding="utf-8")
    code, out, _ = run("admin", "catalog", "check", file, "--graph", graph, "--json")
    found = json.loads(out)["findings"]
    assert code == 5 and [(each["severity"], each["place"]) for each in found][:2] == [
        ("error", "Car"),
        ("error", "Lorry"),
    ]
    code, _, err = run("admin", "catalog", "accept", file)
    assert code == 2 and "Car" in err
    file.write_text("nodes: [Car]\n", encoding="utf-8")
    code, _, err = run("admin", "catalog", "accept", file, "--json")
    assert code == 2 and json.loads(err)["problem"] == "1 fault(s): nodes: Input should be a valid dictionary"
