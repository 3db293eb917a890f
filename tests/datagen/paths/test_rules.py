"""Outputs and sequences by rules, and the R-P graph of them: against planted edges and the dependencies of public sets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from datagen.catalogue import ProfiledCatalogue
from datagen.paths.edges import build_rp_graph
from datagen.paths.outputs import MAX_OUTPUTS, OutputRules
from datagen.paths.sequence import SequenceRules
from datagen.requests import PathEdge, ToolLinks
from ingest.sources import read_catalog
from ontology.tool import Tool
from tests.datagen.catalogues import catalogue_of, edge_ends, tool

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


# -- outputs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def silent(shipped: ProfiledCatalogue) -> ProfiledCatalogue:
    """The shipped catalogue as if no document stated an output."""
    return catalogue_of(replace(one, returns=()) for one in shipped.tools)


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("create_order", "item", "order_id"),
        ("search_orders", "query", "order_id"),
        ("login", "username password", "session_id"),
        ("validate_email", "email", "email"),
        ("get_exchange_rate", "from_currency to_currency", "exchange_rate"),
        ("convert_inches_to_distance_km", "inches", "distance_km"),
    ],
)
def test_what_a_silent_tool_gives_follows_from_what_it_does(name: str, inputs: str, expected: str) -> None:
    others = [
        tool("cancel_order", "order_id"),
        tool("buy", "session_id"),
        tool("invite", "email"),
        tool("price_abroad", "exchange_rate"),
        tool("plan_route", "distance_km"),
    ]
    found = OutputRules(catalogue_of([tool(name, inputs), *others])).find().by_tool[f"shop/{name}"]
    assert expected in [one.name for one in found]
    assert not any(one.documented for one in found)


def test_no_tool_has_more_outputs_than_three_or_one_twice(
    shipped: ProfiledCatalogue, silent: ProfiledCatalogue
) -> None:
    for catalogue in (shipped, silent):
        found = OutputRules(catalogue).find()
        assert set(found.by_tool) == {one.id for one in catalogue.tools}
        for outputs in found.by_tool.values():
            assert len({one.name for one in outputs}) == len(outputs) <= MAX_OUTPUTS
        assert {rejection.subject[0] for rejection in found.rejected} == {
            tool_id for tool_id, outputs in found.by_tool.items() if not outputs
        }


# -- sequences ---------------------------------------------------------------------------------------------------------


def _pair_edge(pair: tuple[str, str, str, str, bool]) -> PathEdge:
    source, output, target, parameter, _ = pair
    return PathEdge(kind="R-P", source=source, target=target, output=output, parameter=parameter, confidence=0.5)


CASES = (
    tool("search_orders", "query", "orders[].order_id"),
    tool("get_order", "order_id", "order_id customer_id remark"),
    tool("create_order", "customer_id", "order_id"),
    tool("update_order", "order_id remark", "order_id"),
    tool("delete_order", "order_id", "order_id"),
    tool("ship_order", "order_id"),
    tool("get_customer", "customer_id"),
    tool("report_fault", "remark", namespace="factory"),
    tool("get_invoice", "order_id", "order_id invoice_id"),
)


@pytest.mark.parametrize(
    ("source", "output", "target", "parameter", "follows", "because"),
    [
        ("search_orders", "orders[].order_id", "get_order", "order_id", True, "finds"),
        ("search_orders", "orders[].order_id", "delete_order", "order_id", True, "finds"),
        ("create_order", "order_id", "get_order", "order_id", True, "gives"),
        ("create_order", "order_id", "ship_order", "order_id", True, "gives"),
        ("get_order", "customer_id", "get_customer", "customer_id", True, "gives"),
        ("create_order", "order_id", "search_orders", "query", False, "just made"),
        ("create_order", "order_id", "delete_order", "order_id", False, "undoes"),
        ("delete_order", "order_id", "get_order", "order_id", False, "deleted"),
        ("search_orders", "orders[].order_id", "search_orders", "query", False, "repeats"),
        ("get_order", "remark", "report_fault", "remark", False, "remark"),
        ("get_order", "order_id", "get_invoice", "order_id", False, "known before"),
    ],
)
def test_verdicts_say_why(source: str, output: str, target: str, parameter: str, follows: bool, because: str) -> None:
    catalogue = catalogue_of(CASES)
    ids = {one.name: one.id for one in CASES}
    edge = PathEdge(
        kind="R-P", source=ids[source], target=ids[target], output=output, parameter=parameter, confidence=0.6
    )
    verdict = SequenceRules(catalogue, ToolLinks()).validate(edge)
    assert (verdict.check, verdict.by) == ("sequence", "rules.v1")
    assert verdict.passed is follows and because in verdict.reason


NEEDLESS = (
    tool("list_groups", "", "groups[].group_name"),
    tool("list_user_groups", "user_id", "groups[].group_name"),
    tool("delete_group", "group_name"),
    tool("list_comments", "post_id", "comments[].comment_id comments[].body comments[].author"),
    tool("get_comment", "comment_id", "comment_id body author"),
    tool("create_calendar", "title", "calendar_id"),
    tool("list_events", "calendar_id", "events[].event_id"),
    tool("watch_calendars", "", "calendar_id"),
    tool("list_flags", "project_id", "flags[].member_id"),
    tool("delete_member", "member_id"),
    tool("get_member", "member_id"),
    tool("create_tag", "title", "tag_id name colour"),
    tool("get_tag", "tag_id", "tag.tag_id tag.name tag.colour tag.rights"),
    tool("read_repair_order", "repair_order_id", "repair_order_id", path="/RepairOrders({repair_order_id})"),
    tool("update_production_order", "order_id note", path="/ProductionOrders({order_id})"),
)


@pytest.mark.parametrize(
    ("source", "output", "target", "parameter", "because"),
    [
        ("list_groups", "groups[].group_name", "delete_group", "group_name", "say the group name themselves"),
        ("list_user_groups", "groups[].group_name", "delete_group", "group_name", ""),
        ("list_comments", "comments[].comment_id", "get_comment", "comment_id", "gives the whole comment"),
        ("create_calendar", "calendar_id", "list_events", "calendar_id", "nothing yet"),
        ("watch_calendars", "calendar_id", "list_events", "calendar_id", "waits for changes"),
        ("list_flags", "flags[].member_id", "delete_member", "member_id", "only refers"),
        ("list_flags", "flags[].member_id", "get_member", "member_id", ""),
        ("create_tag", "tag_id", "get_tag", "tag_id", "gives the whole tag"),
        ("read_repair_order", "repair_order_id", "update_production_order", "order_id", "is no production order"),
    ],
)
def test_needless_first_tools_are_told(source: str, output: str, target: str, parameter: str, because: str) -> None:
    edge = _pair_edge((f"shop/{source}", output, f"shop/{target}", parameter, False))
    verdict = SequenceRules(catalogue_of(NEEDLESS), ToolLinks()).validate(edge)
    assert verdict.passed is not bool(because) and because in verdict.reason, verdict.reason
