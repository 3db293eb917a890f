"""The first ones by a number of neighbours: those without any over several hops, and more of one number than a page has."""

from __future__ import annotations

from pathlib import Path

from planners.graphs.loading.graph_loading import load_graph
from planners.graphs.loading.loaded_tables import ColumnType, NodeTable, RelationshipTable
from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from tests.planners.graphseek.rules.rule_runs import answer_all

FEWEST, MOST, SHARED = (
    "Which state has the fewest cities?",
    "Which state has the most cities?",
    "Which county has the fewest cities?",
)
COUNTIES = 105


def _write(path: Path) -> None:
    """Write states of which one has no city; each county of the others has one."""
    counted = range(COUNTIES)
    rows = {
        "State": [("S0", "Avon"), ("S1", "Brent"), ("S2", "Calder")],
        "County": [(f"K{at}", f"County {at}") for at in counted],
        "City": [(f"C{at}", f"City {at}") for at in counted],
    }
    state = {at: "S0" if at < COUNTIES - 1 else "S1" for at in counted}
    pairs = {
        ("City", "County"): [(f"C{at}", f"K{at}") for at in counted],
        ("City", "State"): [(f"C{at}", state[at]) for at in counted],
        ("County", "State"): [(f"K{at}", state[at]) for at in counted],
    }
    columns: tuple[tuple[str, ColumnType], ...] = (("key", "string"), ("name", "string"))
    nodes = [NodeTable(type=name, columns=columns, key="key", rows=each) for name, each in rows.items()]
    load_graph(
        path,
        nodes,
        [
            RelationshipTable(type="IN", source_type=source, target_type=target, columns=(), rows=each)
            for (source, target), each in pairs.items()
        ],
    )


async def test_the_fewest_are_those_without_any_and_a_page_of_ties_is_told(tmp_path: Path) -> None:
    _write(tmp_path / "states.lbdb")
    questions = [[each] for each in (FEWEST, MOST, SHARED)]
    answered = await answer_all(
        f"ladybug:{tmp_path / 'states.lbdb'}", tmp_path, questions, SemanticCatalog(accepted=True)
    )
    assert answered[FEWEST].text.startswith("Calder.")
    assert answered[MOST].text == f"Avon: {COUNTIES - 1}."
    assert "more than 101 share the value 1" in answered[SHARED].text
