"""The generated graph: its exact size, the same rows in any process, and the irregularities that questions need."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from datagen.ev_graph.ev_tables import ev_tables
from datagen.ev_graph.graph_table import GraphTable
from ontology.errors import InvalidArgumentError
from tests.conftest import ROOT

_DIGEST = """
import hashlib
from datagen.ev_graph.ev_tables import ev_tables
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


def test_another_seed_makes_other_rows_of_the_same_counts() -> None:
    one, other = ev_tables(0.02, seed=0), ev_tables(0.02, seed=1)
    assert _counts(one) == _counts(other)
    assert _rows(one, "BatteryModule") != _rows(other, "BatteryModule")


def test_a_graph_too_small_for_its_fixed_types_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        ev_tables(0.001)


def test_prices_have_many_digits_some_are_missing_and_the_dearest_module_has_a_site(
    tables: Sequence[GraphTable],
) -> None:
    modules = _rows(tables, "BatteryModule")
    built = {row["source"] for row in _rows(tables, "BUILT_AT")}
    for name in ("marketPrice", "unitCost"):
        values = [(row[name], row["key"]) for row in modules if isinstance(row[name], float)]
        highest, key = max(values)
        assert 0 < len(modules) - len(values) < len(modules) // 10
        assert len(repr(highest)) > 12
        assert sum(value == highest for value, _ in values) == 1
        assert key in built
    names = Counter(row["name"] for row in modules)
    assert 0 < sum(count > 1 for count in names.values()) < len(modules) // 20


def test_three_models_start_with_b_and_names_of_models_are_unique(tables: Sequence[GraphTable]) -> None:
    names = [str(row["name"]) for row in _rows(tables, "VehicleModel")]
    assert sorted(name for name in names if name.startswith("B")) == ["BE-4417", "BR-20Q7", "BX-09T3"]
    assert len(set(names)) == len(names)
    assert {"EV-X7", "PX-206"} <= set(names)


def test_degrees_are_skewed_and_flows_stand_twice(tables: Sequence[GraphTable]) -> None:
    sites = Counter(row["target"] for row in _rows(tables, "BUILT_AT"))
    assert max(sites.values()) > 10 * min(sites.values())
    flows = Counter(tuple(row.items()) for row in _rows(tables, "INTEGRATED_IN", "BatteryModule", "VehicleModel"))
    assert max(flows.values()) > 1


def test_runs_months_and_processes_tell_one_story(tables: Sequence[GraphTable]) -> None:
    """Months of a model by its sites, by the calendar and by its processes agree."""

    def month(row: Mapping[str, object]) -> str:
        return f"CM-{row['year']}-{row['month']:02}"

    at_sites = _rows(tables, "ASSEMBLED_AT")
    outputs = _rows(tables, "OUTPUTS", "AssemblyProcess", "VehicleModel")
    for name, cost_class in (("SCHEDULED_IN", "Plan"), ("ASSEMBLED_IN", "Actuals")):
        in_calendar = {(row["source"], row["target"]) for row in _rows(tables, name)}
        assert in_calendar == {(row["source"], month(row)) for row in at_sites if row["costClass"] == cost_class}
        assert in_calendar == {(row["target"], month(row)) for row in outputs if row["costClass"] == cost_class}
    done = {(row["source"], row["target"]) for row in at_sites if row["costClass"] == "Actuals"}
    planned = {(row["source"], row["target"]) for row in at_sites if row["costClass"] == "Plan"}
    assert planned < done
    done_by = {(row["source"], row["target"]) for row in outputs if row["costClass"] == "Actuals"}
    assert {(row["source"], row["target"]) for row in outputs if row["costClass"] == "Plan"} < done_by


def test_scheduled_periods_differ_as_months_quarters_and_years(tables: Sequence[GraphTable]) -> None:
    by_model: dict[object, list[str]] = {}
    for row in _rows(tables, "SCHEDULED_IN"):
        by_model.setdefault(row["source"], []).append(str(row["target"])[3:7])
    assert any(len(years) > 1 for years in by_model.values())
    assert all(len(set(years)) == len(years) for years in by_model.values())


def test_chains_of_assemblies_go_one_tier_down_and_end_within_six_hops(tables: Sequence[GraphTable]) -> None:
    tier = {row["key"]: row["assemblyTier"] for row in _rows(tables, "DriveAssembly")}
    inner = _rows(tables, "INTEGRATED_IN", "DriveAssembly", "DriveAssembly")
    assert {(tier[row["source"]], tier[row["target"]]) for row in inner} <= {(1, 0), (2, 1), (3, 2), (4, 3)}
    into_models = _rows(tables, "INTEGRATED_IN", "DriveAssembly", "VehicleModel")
    assert {tier[row["source"]] for row in into_models} == {0}
