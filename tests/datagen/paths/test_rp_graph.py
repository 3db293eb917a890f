"""The R-P graph: planted edges, and the dependencies of public sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datagen.interfaces import ToolOutput, ToolOutputs
from datagen.paths.rp_graph import LIMITS, build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.synthetic_request import CLASSES
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
    return edge_ends(build_rp_graph(catalogue, RulesOutputs(catalogue).find()))


def test_an_output_fills_the_input_that_asks_for_the_same() -> None:
    assert _ends(SHOP) == {
        ("search_customers", "customers[].customer_id", "create_order", "customer_id"),
        ("create_order", "order_id", "cancel_order", "order_id"),
    }


def test_outputs_that_were_not_found_fill_nothing() -> None:
    catalogue = catalogue_of(SHOP)
    assert not len(build_rp_graph(catalogue, ToolOutputs(by_tool={})))


def test_outputs_inferred_by_anybody_are_read_as_the_inputs_of_that_name() -> None:
    catalogue = catalogue_of(
        [tool("fresh_start", "topic"), tool("cancel_order", "order_id"), tool("ship_order", "orderId")]
    )
    output = ToolOutput(
        tool="shop/fresh_start", name="order_id", confidence=0.95, reason="it starts one", documented=False
    )
    links = build_rp_graph(catalogue, ToolOutputs(by_tool={"shop/fresh_start": (output,)}))
    assert edge_ends(links) == {
        ("fresh_start", "order_id", "cancel_order", "order_id"),
        ("fresh_start", "order_id", "ship_order", "orderId"),
    }
    assert all("it starts one" in edge.reason for edge in links)


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


def test_bare_types_join_only_what_is_filed_together() -> None:
    def typed(name: str, domain: str) -> Tool:
        return tool(name, "input_0", "output", types="image", domain=domain)

    others = [tool(f"other_{number}") for number in range(9)]
    found = _ends([typed("blur", "photo"), typed("sharpen", "photo"), typed("x_ray", "medicine"), *others])
    assert {(source, target) for source, _, target, _ in found} == {("blur", "sharpen"), ("sharpen", "blur")}


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
    links = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
    assert context and not context & {(edge.target, edge.parameter) for edge in links}


def test_what_a_resolver_finds_no_other_list_needs_to_give() -> None:
    found = _ends(
        [
            tool("search_projects", "query", "projects[].project_id projects[].name"),
            tool("list_permitted_projects", "permissions", "projects[].project_id"),
            tool("list_user_projects", "user_id", "projects[].project_id"),
            tool("archive_project", "project_id"),
        ]
    )
    sources = {source for source, _, target, _ in found if target == "archive_project"}
    assert sources == {"search_projects", "list_user_projects"}  # the second finds by a relation


def test_edges_know_their_ends_and_reasons() -> None:
    catalogue = catalogue_of(SHOP)
    for edge in build_rp_graph(catalogue, RulesOutputs(catalogue).find()):
        assert edge.kind == "R-P" and edge.source != edge.target
        assert LIMITS.min_confidence <= edge.confidence <= 1 and edge.reason
        assert edge.parameter in {one.name for one in catalogue.tool(edge.target).parameters}


def test_the_graph_is_the_same_under_another_hash_seed() -> None:
    code = """
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.path_sampler import find_paths
from datagen.paths.pp_graph import build_pp_graph
from datagen.synthetic_request import CLASSES
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_sequence import RulesSequence
from inference import HashingEncoder
from ingest.sources import read_catalog
from tests.datagen.catalogues import catalogue_of
catalogue = catalogue_of(read_catalog(["examples/enterprise/catalog"]).tools)
rp = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
pp = build_pp_graph(catalogue, HashingEncoder())
found = find_paths(catalogue, rp, pp.links, RulesSequence(catalogue, rp), wanted=dict.fromkeys(CLASSES, 20), seed=3)
print(rp.edges, pp, found)
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
    links = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
    found = {(edge.source, edge.target) for edge in links if {edge.source, edge.target} <= spoken_of}
    assert len(found & key) / len(found) >= precision
    assert len(found & key) / len(key) >= recall


def test_marks_of_a_page_fill_nothing() -> None:
    tools = [tool("list_orders", "nextToken?", "nextToken orders"), tool("list_items", "nextToken?", "nextToken items")]
    assert _ends(tools) == set()
