"""The R-P graph: planted edges, and the dependencies of public sets."""

import json
from pathlib import Path

import pytest

from datagen.paths.edges import build_rp_graph
from datagen.paths.outputs import OutputRules, ToolOutputs
from datagen.requests import CLASSES
from ingest.sources import read_catalog
from ontology.tool import Tool
from tests.datagen.catalogues import catalogue_of, edge_ends, tool
from tests.harness.hash_seeds import said_by

SHOP = (
    tool("create_order", "customer_id item", "order_id customer_id"),
    tool("search_customers", "query", "customers[].customer_id customers[].name"),
    tool("cancel_order", "order_id"),
)


def _ends(tools: list[Tool] | tuple[Tool, ...]) -> set[tuple[str, str, str, str]]:
    catalogue = catalogue_of(tools)
    return edge_ends(build_rp_graph(catalogue, OutputRules(catalogue).find()))


def test_an_output_fills_the_input_that_asks_for_the_same() -> None:
    assert _ends(SHOP) == {
        ("search_customers", "customers[].customer_id", "create_order", "customer_id"),
        ("create_order", "order_id", "cancel_order", "order_id"),
    }


def test_outputs_that_were_not_found_fill_nothing() -> None:
    catalogue = catalogue_of(SHOP)
    assert not len(build_rp_graph(catalogue, ToolOutputs(by_tool={})))


def test_the_nearest_login_opens_the_door() -> None:
    found = _ends(
        [
            tool("acme_login", "username"),
            tool("zenith_login", "username"),
            tool("acme_buy", "session_id"),
            tool("zenith_sell", "session_id"),
            tool("look_around", "session_id"),
        ]
    )
    assert found == {
        ("acme_login", "session_id", "acme_buy", "session_id"),
        ("zenith_login", "session_id", "zenith_sell", "session_id"),
    }


def test_context_parameters_have_no_edges() -> None:
    catalogue = catalogue_of(
        tool(
            f"get_{noun}",
            f"region {noun}_id",
            "region",
            type="string",
            method="get",
            path=f"/{{region}}/{noun}s/{{{noun}_id}}",
        )
        for noun in "user order item group file note task page card team".split()
    )
    context = {(one.id, name) for one in catalogue.profiles.values() for name in one.context}
    links = build_rp_graph(catalogue, OutputRules(catalogue).find())
    assert context and not context & {(edge.target, edge.parameter) for edge in links}


def test_the_graph_is_the_same_under_another_hash_seed() -> None:
    code = """
from datagen.paths.outputs import OutputRules
from datagen.paths.sampler import find_paths
from datagen.requests import CLASSES
from datagen.paths.edges import build_rp_graph
from datagen.paths.sequence import SequenceRules
from ingest.sources import read_catalog
from tests.datagen.catalogues import catalogue_of
catalogue = catalogue_of(read_catalog(["examples/enterprise/catalog"]).tools)
rp = build_rp_graph(catalogue, OutputRules(catalogue).find())
found = find_paths(catalogue, rp, SequenceRules(catalogue, rp), wanted=dict.fromkeys(CLASSES, 20), seed=3)
print(rp.edges, found)
"""
    (said,) = said_by(code)
    assert all(name in said for name in CLASSES)


@pytest.mark.parametrize(
    ("name", "kind", "precision", "recall"),
    [("toollinkos", "PARAMETER_DIRECTLY_DEPENDS_ON", 0.6, 0.5), ("taskbench", "resource", 0.9, 0.9)],
)
def test_known_dependencies_are_found_from_the_documents_alone(
    shared: Path, name: str, kind: str, precision: float, recall: float
) -> None:
    folder = shared / "bench" / name
    if not folder.is_dir():
        pytest.skip(f"no {name} in the public measuring data")
    catalogue = catalogue_of(read_catalog([str(folder / "tools.jsonl")]).tools)
    rows = [json.loads(line) for line in (folder / "dependencies.jsonl").read_text(encoding="utf-8").splitlines()]
    key = {(row["to"], row["from"]) for row in rows if row["kind"].split(":")[0] == kind}
    spoken_of = {end for pair in key for end in pair}
    links = build_rp_graph(catalogue, OutputRules(catalogue).find())
    found = {(edge.source, edge.target) for edge in links if {edge.source, edge.target} <= spoken_of}
    assert len(found & key) / len(found) >= precision
    assert len(found & key) / len(key) >= recall
