"""Draw, score and calibrate judged edges; recall of true dependencies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ingest.linking.derive import derive_edges
from ontology import load_ontology
from research.edge_truth import app, draw_edges, fit_bins, found_dependencies, precision_by_bin
from tests.ingest.linking.test_rp_edges import tool

TOOLS = [
    tool("list_orders", "", "orders[].order_id", namespace="a"),
    tool("ship_order", "order_id", namespace="a"),
    tool("list_users", "", "users[].user_id", namespace="b"),
    tool("block_user", "user_id", namespace="b"),
]
EDGES = list(derive_edges(TOOLS, load_ontology()))


def test_the_draw_is_the_same_for_a_seed_and_spread_over_documents() -> None:
    one, other = draw_edges(TOOLS, EDGES, 2, 1), draw_edges(TOOLS, EDGES, 2, 1)
    assert one == other
    assert {row["document"] for row in one} == {"a", "b"}


def test_the_draw_goes_on_with_the_documents_that_have_edges_left() -> None:
    more = [tool(f"ship_{number}", "order_id", namespace="a") for number in range(4)]
    tools = [*TOOLS, *more]
    rows = draw_edges(tools, derive_edges(tools, load_ontology()), 5, 7)
    assert [row["document"] for row in rows][:2] == ["a", "b"]
    assert len(rows) == 5 and sum(row["document"] == "b" for row in rows) < 3
    assert {row["seed"] for row in rows} == {7}


def _dependency(id_: str, producer: str, output: str, split: str = "dev") -> dict[str, str]:
    return {
        "id": id_,
        "consumer": "a/ship_order",
        "input": "order_id",
        "producer": producer,
        "output": output,
        "split": split,
    }


DEPENDENCIES = [
    _dependency("1", "a/list_orders", "orders[].order_id"),
    _dependency("2", "a/list_orders", "orders[].number"),
    _dependency("3", "b/list_users", "users[].user_id"),
    _dependency("4", "a/list_orders", "orders[].order_id", "test"),
]


def test_recall_asks_for_the_input_and_the_producer_and_for_the_output() -> None:
    found = found_dependencies(EDGES, DEPENDENCIES[:3])
    assert [row["id"] for row in found.by_producer] == ["1", "2"]
    assert [row["id"] for row in found.by_output] == ["1"]


@pytest.mark.parametrize(
    ("arguments", "split", "counts"),
    [((), "dev", ("2 of 3", "1 of 3")), (("--split", "test"), "test", ("1 of 1", "1 of 1"))],
)
def test_recall_reads_the_dev_split_and_warns_of_the_other(
    tmp_path: Path, arguments: tuple[str, ...], split: str, counts: tuple[str, str]
) -> None:
    for name in ("a", "b"):
        rows = [one.to_json() for one in TOOLS if one.namespace == name]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in DEPENDENCIES), encoding="utf-8")
    addresses = [f"{name}={tmp_path / name}.jsonl" for name in ("a", "b")]
    done = CliRunner().invoke(app, ["recall", *addresses, "--dependencies", str(gold), *arguments])
    assert done.exit_code == 0, done.output
    for count in counts:
        assert f"recall of {split}: {count}" in done.output
    assert ("warning: the split test" in done.output) == (split == "test")


def test_bins_rise() -> None:
    rows = [{"score": score / 10, "true": true} for score, true in enumerate([0, 1, 0, 1, 1, 1, 0, 1, 1, 1])]
    points = fit_bins(rows)
    assert [point[1] for point in points] == sorted(point[1] for point in points)
    assert list(precision_by_bin([{"confidence": 0.85, "true": True}])) == [0.8]
