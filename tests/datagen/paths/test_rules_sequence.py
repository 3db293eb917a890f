"""Sequences by rules, against pairs labelled by hand and against planted ones."""

import pytest

from datagen.paths.sequence import SequenceRules
from datagen.requests import PathEdge, ToolLinks
from tests.datagen.catalogues import catalogue_of, tool


def _edge(pair: tuple[str, str, str, str, bool]) -> PathEdge:
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
    edge = _edge((f"shop/{source}", output, f"shop/{target}", parameter, False))
    verdict = SequenceRules(catalogue_of(NEEDLESS), ToolLinks()).validate(edge)
    assert verdict.passed is not bool(because) and because in verdict.reason, verdict.reason
