"""``egotools operators``: versions are listed, compared, approved and taken back; `egotools ask` takes the approved ones."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path

import pytest

from planners.graphseek.adapt.operator_version import OperatorVersion, VersionFolder
from planners.graphseek.operators.retrieve import find as FIND
from planners.stores.ladybug import csv_tables, load_graph, open_ladybug_reader
from tests.harness.commands import Run

TEMPLATE = "MATCH (s:Site) WHERE $match <> '' AND s.title = $text RETURN s AS node, 'Site' AS type, s.title AS name, 1.0 AS score"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    source = tmp_path / "graph"
    source.mkdir()
    (source / "nodes_Site.csv").write_text("key:ID(Site),title:string\nS1,North\n", encoding="utf-8")
    load_graph(tmp_path / "sites.lbdb", *csv_tables(source))
    return tmp_path / "sites.lbdb"


@pytest.fixture
def versions(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VersionFolder:
    """A folder with two versions of ``find``, made for the graph."""
    monkeypatch.setenv("EGOTOOLS_OPERATORS", str(tmp_path / "versions"))

    async def version() -> OperatorVersion:
        async with open_ladybug_reader(graph) as reader:
            schema = await reader.schema()
        return OperatorVersion(
            operator="find",
            dialect="ladybug",
            schema=schema.fingerprint,
            template=TEMPLATE,
            parameters=FIND.parameters(schema, ()),
            columns=FIND.returns,
        )

    folder = VersionFolder(tmp_path / "versions")
    made = asyncio.run(version())
    folder.add(made)
    folder.add(dataclasses.replace(made, template=TEMPLATE.replace("1.0", "0.5")))
    return folder


def test_versions_are_listed_compared_approved_and_taken_back(run: Run, versions: VersionFolder) -> None:
    (versions.path / "find.3.json").write_text("{}", encoding="utf-8")
    code, out, err = run("operators", "list")
    assert code == 0 and [line.split()[:2] for line in out.splitlines()] == [
        ["find.1", "unverified"],
        ["find.2", "unverified"],
    ]
    assert "left out: find.3.json: it cannot be read" in err
    listed = json.loads(run("operators", "list", "--json")[1])
    assert (len(listed["versions"]), len(listed["problems"])) == (2, 1)
    assert run("operators", "approve", "find.1")[0] == 0
    changed = json.loads(run("operators", "diff", "find.2", "--json")[1])
    assert changed["other"] == "find.1" and sum(line[0] in "+-" for line in changed["diff"]) == 4
    code, out, _ = run("operators", "diff", "find.1", "find.2")
    assert code == 0 and "-  " + TEMPLATE.replace("1.0", "0.5") in out and "+  " + TEMPLATE in out
    assert "0.5 AS score" in run("operators", "approve", "find.2")[1], "what is approved is shown"
    assert json.loads(run("operators", "rollback", "find", "--json")[1]) == {"taken_back": "find.2", "serves": "find.1"}
    assert "as it is shipped serves" in run("operators", "rollback", "find")[1]
    assert [each.status for each in versions.versions()] == ["unverified", "unverified"]


def test_what_cannot_be_approved_or_taken_back(run: Run, versions: VersionFolder) -> None:
    code, _, err = run("operators", "rollback", "find")
    assert code == run("operators", "approve", "find.9")[0] == 7 and "no version of it is approved" in err
    code, _, err = run("operators", "approve", "find.9")
    assert code != 0 and "find.1, find.2" in err
    (versions.path / "find.1.json").write_text("[]", encoding="utf-8")
    code, _, err = run("operators", "show", "find.1")
    assert code != 0 and "cannot be read" in err
    writes = dataclasses.replace(versions.get("find.2"), number=0, template="MATCH (n) WHERE n.key = $text DELETE n")
    name = versions.add(writes).name
    code, _, err = run("operators", "approve", name)
    assert code != 0 and "DELETE changes the graph" in err
    assert versions.get(name).status == "unverified"
