"""The generated graph: its exact size, and the same rows in any process."""

import hashlib

import pytest

from benchmarks.ev_graph.ev_tables import ev_tables


@pytest.mark.parametrize(
    ("scale", "nodes", "relationships"), [(1, 229_551, 313_635), (0.1, 22_955, 31_364), (10, 2_295_510, 3_136_350)]
)
def test_the_graph_has_exactly_so_many_nodes_and_relationships(scale: float, nodes: int, relationships: int) -> None:
    tables = ev_tables(scale)
    counts = {kind: sum(table.count for table in tables if table.kind == kind) for kind in ("node", "relationship")}
    assert counts == {"node": nodes, "relationship": relationships}
    assert min(table.count for table in tables) > 0
    assert len({column for table in tables for column, _ in table.columns} - {"source", "target"}) == 20


def test_the_rows_are_the_same_in_every_process() -> None:
    digest = hashlib.sha256()
    for table in ev_tables(0.02):
        for row in table.rows():
            digest.update(repr(row).encode())
    assert digest.hexdigest() == "1eea600c913f1549f70b0e03fef29351af0b6564cdb0c6d966d10e9247f2a1d2"
