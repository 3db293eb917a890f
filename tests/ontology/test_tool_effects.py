"""What counts as a change, against the methods of real documents and the hints of servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from egotools import Argument, Call, Parameter, Tool
from ontology.tool_effects import effect_of, known_effect_of
from research.tool_effect_counts import names, wrong_names
from tests.planners.calling.tools import NOTHING, http, mcp, python, tool


def only_reads(given: Tool) -> bool:
    return effect_of(given) == "read"


def is_idempotent(given: Tool) -> bool:
    return effect_of(given) == "idempotent"


OVERRIDE = {"type": "object", "properties": {"X-HTTP-Method-Override": {"type": "string"}}}


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("protocol", ["http", "odata"])
def test_methods_that_read(method: str, protocol: str) -> None:
    assert only_reads(http("x", NOTHING, method, protocol))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "MERGE", ""])
@pytest.mark.parametrize("protocol", ["http", "odata"])
def test_methods_that_may_write(method: str, protocol: str) -> None:
    assert not only_reads(http("get_x", NOTHING, method, protocol))
    assert is_idempotent(http("x", NOTHING, method, protocol)) == (method in ("PUT", "DELETE"))


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        (mcp("get_order", NOTHING), False),  # its server says nothing, and its name is the server's own choice
        (mcp("delete_order", NOTHING, read_only=True), True),
        (mcp("x", NOTHING, read_only=False), False),
        (mcp("x", NOTHING, read_only="true"), False),  # no boolean, so no annotation
        (mcp("x", NOTHING, readOnlyHint=True), True),
        (python("find_orders"), True),
        (python("Orders.listOpen"), True),
        (python("get_or_create_order"), False),
        (python("fetchAndLock"), False),
        (python("send_mail"), False),
        (python("mails_of"), False),
        (python("get_order", read_only=False), False),
        (python("send_mail", read_only=True), True),
        (tool(Call(protocol="aws", service="ec2", operation="DescribeInstances"), NOTHING), True),
        (tool(Call(protocol="aws", service="ec2", operation="TerminateInstances"), NOTHING), False),
        (tool(Call(protocol="aws", service="ec2", operation="TerminateInstances"), NOTHING, read_only=True), False),
        (tool(Call(), NOTHING, "shop/get_it"), False),
        (mcp("x", NOTHING, read_only=True, destructive=True), False),  # it cannot be both
        (http("orders", NOTHING, "GET"), True),
        (http("deleteOrder", NOTHING, "GET"), False),  # the document says two things
        (tool(Call(protocol="http", method="GET", path="/x"), NOTHING, read_only=False), False),
        (tool(Call(protocol="odata", method="GET", path="/x"), NOTHING, destructive=True), False),
        (tool(Call(protocol="http", method="POST", path="/x"), NOTHING, read_only=True), False),
        (http("orders", OVERRIDE, "GET"), False),
        (http("orders", {"type": "object", "properties": {"_method": {"type": "string"}}}, "GET"), False),
        (python("compare_and_swap"), False),
        (python("compare_update"), False),
        (python("check_out"), False),
        (python("check_stock"), True),
        (python("get_delete_item"), False),
        (python("get_post"), True),
        (python("list_deleted_items"), True),
        (python("read_reset_counter"), False),
    ],
)
def test_hints_and_verbs(given: Tool, reads: bool) -> None:
    assert only_reads(given) is reads


@pytest.mark.parametrize("place", ["header", "query", "form", "body"])
@pytest.mark.parametrize(
    "name",
    [
        "X-HTTP-Method-Override",
        "x-http-method",
        "X-METHOD-OVERRIDE",
        "_method",
        "_METHOD",
        "_method[]",
        "X_HTTP_Method_Override",
    ],
)
def test_another_method_as_an_argument_is_no_reading_wherever_it_goes(place: Any, name: str) -> None:
    given = http("x", NOTHING, "GET")
    argument = Argument(name="how", location=place, wire_name=name)
    assert not only_reads(replace(given, call=replace(given.call, arguments=(argument,))))


def test_annotations_of_idempotence() -> None:
    assert not is_idempotent(http("orders", OVERRIDE, "PUT"))
    assert is_idempotent(mcp("set_name", NOTHING, idempotent=True))
    assert not is_idempotent(mcp("add", NOTHING))
    assert not is_idempotent(mcp("add", NOTHING, idempotent=False))


@pytest.mark.parametrize(
    "name",
    "destroy approve pay reboot deploy publish userDelete getUserDelete get_user_then_purge users.delete Orders_approve transfer"
    " transferFunds bank_transfer archive order release-version uploadScript revokeToken login toggleLight user_logout".split(),
)
def test_a_get_that_is_named_for_a_change_is_none(name: str) -> None:
    assert not only_reads(http(name, NOTHING, "GET"))


@pytest.mark.parametrize(
    "path",
    [
        "users/{id}/delete",
        "orders/{id}:cancel",
        "orders/{id}/approve/{by}",
        "orders/{id}/archive",
        "api/v1/namespaces/{namespace}/pods/{name}/exec",
        "api/v1/namespaces/{namespace}/pods/{name}/portforward",
        "api/v1/nodes/{name}/proxy/{path}",
    ],
)
def test_a_get_whose_path_ends_in_a_change_is_none(path: str) -> None:
    given = http("resource", NOTHING, "GET")
    assert not only_reads(replace(given, call=replace(given.call, path=f"/{path}")))
    assert only_reads(replace(given, call=replace(given.call, path="/resource/{delete}?approve=x")))


@pytest.mark.parametrize(
    "name",
    "listTransfers get_order orders getOrderById archives list_releases paymentStatus users.transfers.list deletedItems getArchive"
    " readCoreV1NamespacedPod approvals published sendersOf updatesSince show_post checkLogin address setting".split(),
)
def test_a_get_that_is_named_for_reading_reads(name: str) -> None:
    assert only_reads(http(name, NOTHING, "GET"))


@pytest.mark.parametrize("verb", ["Attach", "Exec", "Portforward", "Proxy"])
def test_kubernetes_connects_by_get(verb: str) -> None:
    assert not only_reads(http(f"connectCoreV1GetNamespacedPod{verb}", NOTHING, "GET"))


def of_path(path: str, *parameters: Parameter, name: str = "resource", method: str = "GET") -> Tool:
    given = http(name, NOTHING, method)
    return replace(given, call=replace(given.call, path=path), parameters=parameters)


@pytest.mark.parametrize("name", ["deleteUser", "orders_approve", "refreshToken"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_get_that_changes_is_not_idempotent(name: str, method: str) -> None:
    assert effect_of(http(name, NOTHING, method)) == "change"


@pytest.mark.parametrize("protocol", ["http", "odata"])
def test_a_get_that_takes_another_method_or_says_that_it_changes_is_not_idempotent(protocol: str) -> None:
    assert effect_of(http("orders", OVERRIDE, "GET", protocol)) == "change"
    said = tool(Call(protocol=protocol, method="GET", path="/x"), NOTHING, read_only=False)
    assert effect_of(said) == "change"


@pytest.mark.parametrize(
    "path",
    [
        "/orders?_method=DELETE",
        "/orders?X-HTTP-Method=GET",
        "/orders?action=delete",
        "/orders?v=2;cmd=rebootHost",
        "/orders?Action=ban",
        "/orders?op=refresh",
        "/orders?then=delete",
        "/orders?delete",
        "/items/delete.{format}",
        "/items/{id}/delete.json",
        "/items;action=delete",
        "/Delete(id={id})",
        "/Orders({id})/Shop.Approve(by='{by}')",
        "/Delete(id={id})/result",
        "/delete/items/{id}",
        "/%64elete/items/{id}",
        "/shops/{shop}/purge/items/{id:[a-z/]+}",
        "/items/{id}/refresh",
    ],
)
def test_a_get_whose_path_says_a_change_is_none(path: str) -> None:
    assert effect_of(of_path(path)) == "change"


def test_an_override_in_the_path_takes_the_promise_from_a_put() -> None:
    assert effect_of(of_path("/orders?_method=PATCH", method="PUT")) == "change"
    assert effect_of(of_path("/orders?v=2", method="PUT")) == "idempotent"


@pytest.mark.parametrize(
    "path",
    [
        "/orders?action=list",
        "/orders?action=get_order&sort=order",
        "/orders?status=open",
        "/orders?action={action}",
        "/Orders({id})/Default.Find(text='delete')",
        "/items/{delete}",
        "/items/{id}.{format}",
        "/deleted/items/{id}",
        "/delete-reasons/items/{id}",
    ],
)
def test_a_get_whose_path_says_no_change_reads(path: str) -> None:
    assert only_reads(of_path(path))


def value(name: str, *enum: str, required: bool = False) -> Parameter:
    return Parameter(name=name, type="string", enum=enum, required=required)


@pytest.mark.parametrize(
    ("parameter", "reads"),
    [
        (value("action", "delete"), False),
        (value("action", "list"), True),
        (value("action", "list", "delete"), True),  # it may be a filter
        (value("action", "list", "delete", required=True), False),
        (value("event", "delete"), False),
        (value("event", "delete", "list", required=True), True),
        (value("sort", "order"), True),
    ],
)
def test_a_value_that_is_always_sent(parameter: Parameter, reads: bool) -> None:
    assert only_reads(of_path("/orders", parameter)) is reads


def test_the_name_of_an_action_is_that_of_the_request() -> None:
    given = of_path("/orders", value("what", "list", "delete", required=True))
    argument = Argument(name="what", location="query", wire_name="action")
    assert only_reads(given)
    assert not only_reads(replace(given, call=replace(given.call, arguments=(argument,))))


@pytest.mark.parametrize(
    "operation",
    "ExportImage ExportTransitGatewayRoutes ExportTableToPointInTime ExportSnapshot RetrieveTapeArchive CheckInLicense ExportCertificate"
    " DownloadDefaultKeyPair".split(),
)
def test_operations_of_aws_that_change_or_disclose(operation: str) -> None:
    assert effect_of(tool(Call(protocol="aws", service="x", operation=operation, method="POST"), NOTHING)) == "change"


def test_names_that_no_list_was_chosen_on() -> None:
    assert len(wrong_names("change")) <= 0.27 * len(names("change"))
    assert len(wrong_names("read")) <= 0.08 * len(names("read"))


@pytest.mark.parametrize(
    "name", "undeploy reindexOrders user_promote increaseLimit scheduleBackup rebuildListView".split()
)
def test_other_verbs_that_change(name: str) -> None:
    assert not only_reads(http(name, NOTHING, "GET"))


@pytest.mark.parametrize(
    "name", "schedule teamSchedule changeList calculateTax validate_vat recipes restaurants liveScores".split()
)
def test_other_words_that_read(name: str) -> None:
    assert only_reads(http(name, NOTHING, "GET"))


@pytest.mark.parametrize(
    ("given", "effect"),
    [
        (tool(Call(), NOTHING, "SearchMessages"), "read"),
        (tool(Call(), NOTHING, "List Milestones"), "read"),
        (tool(Call(), NOTHING, "calendar.delete_event"), "change"),
        (tool(Call(), NOTHING, "Log Time"), None),
        (tool(Call(), NOTHING, "screen_sanctions"), None),
        (mcp("get_order", NOTHING), "read"),
        (mcp("x", NOTHING), None),
        (mcp("get_order", NOTHING, read_only=False), "change"),
        (mcp("x", NOTHING, destructive=True), "change"),
        (mcp("x", NOTHING, idempotent=True), "idempotent"),
        (http("x", NOTHING, "POST"), "change"),
        (http("x", NOTHING, "PUT"), "idempotent"),
        (http("x", NOTHING, "GET"), "read"),
        (http("x", NOTHING, ""), None),
        (python("mails_of"), None),
        (python("send_mail"), "change"),
    ],
)
def test_an_effect_that_nothing_says_is_not_known(given: Tool, effect: str | None) -> None:
    assert known_effect_of(given) == effect
