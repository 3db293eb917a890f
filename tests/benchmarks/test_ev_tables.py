"""The generated graph: its exact size, the same rows in any process, and the irregularities that questions need."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from benchmarks.ev_graph.ev_tables import ev_tables
from benchmarks.ev_graph.graph_table import GraphTable
from ontology.errors import InvalidArgumentError
from tests.conftest import ROOT

_DIGEST = """
import hashlib
from benchmarks.ev_graph.ev_tables import ev_tables
digest = hashlib.sha256()
for table in ev_tables(0.02):
    for row in table.rows():
        digest.update(repr(row).encode())
print(digest.hexdigest())
"""


def _counts(tables: Sequence[GraphTable]) -> tuple[int, int]:
    kinds = Counter({"node": 0, "relationship": 0})
    for table in tables:
        kinds[table.kind] += table.count
    return kinds["node"], kinds["relationship"]


def _rows(tables: Sequence[GraphTable], name: str, *ends: str) -> list[Mapping[str, object]]:
    """The rows of a table as mappings; of several where only one end or none is named."""
    return [
        dict(zip((column for column, _ in table.columns), row, strict=True))
        for table in tables
        if table.type == name and table.ends[: len(ends)] == ends
        for row in table.rows()
    ]


@pytest.fixture(scope="module")
def tables() -> Sequence[GraphTable]:
    return ev_tables(0.1)


@pytest.mark.parametrize(
    ("scale", "nodes", "relationships"), [(1, 229_551, 313_635), (0.1, 22_955, 31_364), (10, 2_295_510, 3_136_350)]
)
def test_the_graph_has_exactly_so_many_nodes_and_relationships(scale: float, nodes: int, relationships: int) -> None:
    tables = ev_tables(scale)
    assert _counts(tables) == (nodes, relationships)
    assert min(table.count for table in tables) > 0
    assert len({column for table in tables for column, _ in table.columns} - {"source", "target"}) == 20


def test_a_table_yields_as_many_rows_as_it_says_and_keys_are_unique(tables: Sequence[GraphTable]) -> None:
    keys: set[object] = set()
    for table in tables:
        rows = list(table.rows())
        assert len(rows) == table.count
        assert {len(row) for row in rows} == {len(table.columns)}
        if table.kind == "node":
            keys.update(row[0] for row in rows)
        else:
            assert all(row[0] in keys and row[1] in keys for row in rows)
    assert len(keys) == 22_955


def test_values_are_of_the_columns_types(tables: Sequence[GraphTable]) -> None:
    types = {"string": str, "integer": int, "number": float, "date": str}
    for table in tables:
        for batch in table.batches():
            for name, kind in table.columns:
                assert {type(value) for value in batch[name]} <= {types[kind], type(None)}


def test_another_process_with_another_hash_seed_makes_the_same_rows() -> None:
    digest = hashlib.sha256()
    for table in ev_tables(0.02):
        for row in table.rows():
            digest.update(repr(row).encode())
    made = subprocess.run(
        [sys.executable, "-c", _DIGEST],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.strip() == digest.hexdigest()


def test_a_graph_too_small_for_its_fixed_types_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        ev_tables(0.001)


def test_chains_of_assemblies_go_one_tier_down_and_end_within_six_hops(tables: Sequence[GraphTable]) -> None:
    tier = {row["key"]: row["assemblyTier"] for row in _rows(tables, "DriveAssembly")}
    inner = _rows(tables, "INTEGRATED_IN", "DriveAssembly", "DriveAssembly")
    assert {(tier[row["source"]], tier[row["target"]]) for row in inner} <= {(1, 0), (2, 1), (3, 2), (4, 3)}
    into_models = _rows(tables, "INTEGRATED_IN", "DriveAssembly", "VehicleModel")
    assert {tier[row["source"]] for row in into_models} == {0}
