"""What counts as a change, against the methods of real documents and the hints of servers."""

from dataclasses import replace

import pytest

from egotools import Argument, Call, Parameter, Tool
from ontology.tool_effects import effect_of, known_effect_of
from tests.planners.calls.tools import NOTHING, http, mcp, python, tool


def only_reads(given: Tool) -> bool:
    return effect_of(given) == "read"


OVERRIDE = {"type": "object", "properties": {"X-HTTP-Method-Override": {"type": "string"}}}


HINTS: list[tuple[Tool, bool]] = [
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
]


def test_hints_and_verbs(subtests: pytest.Subtests) -> None:
    for given, reads in HINTS:
        with subtests.test(ascii(given)):
            assert only_reads(given) is reads


OTHER_METHODS: list[str] = [
    "X-HTTP-Method-Override",
    "x-http-method",
    "X-METHOD-OVERRIDE",
    "_method",
    "_METHOD",
    "_method[]",
    "X_HTTP_Method_Override",
]


def test_another_method_as_an_argument_is_no_reading_wherever_it_goes(subtests: pytest.Subtests) -> None:
    for name in OTHER_METHODS:
        for place in ["header", "query", "form", "body"]:
            with subtests.test(ascii(place)):
                given = http("x", NOTHING, "GET")
                argument = Argument(name="how", location=place, wire_name=name)
                assert not only_reads(replace(given, call=replace(given.call, arguments=(argument,))))


def of_path(path: str, *parameters: Parameter, name: str = "resource", method: str = "GET") -> Tool:
    given = http(name, NOTHING, method)
    return replace(given, call=replace(given.call, path=path), parameters=parameters)


CHANGING: list[str] = [
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
]


def test_a_get_whose_path_says_a_change_is_none(subtests: pytest.Subtests) -> None:
    for path in CHANGING:
        with subtests.test(ascii(path)):
            assert effect_of(of_path(path)) == "change"


READING: list[str] = [
    "/orders?action=list",
    "/orders?action=get_order&sort=order",
    "/orders?status=open",
    "/orders?action={action}",
    "/Orders({id})/Default.Find(text='delete')",
    "/items/{delete}",
    "/items/{id}.{format}",
    "/deleted/items/{id}",
    "/delete-reasons/items/{id}",
]


def test_a_get_whose_path_says_no_change_reads(subtests: pytest.Subtests) -> None:
    for path in READING:
        with subtests.test(ascii(path)):
            assert only_reads(of_path(path))


EFFECTS: list[tuple[Tool, str | None]] = [
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
]


def test_an_effect_that_nothing_says_is_not_known(subtests: pytest.Subtests) -> None:
    for given, effect in EFFECTS:
        with subtests.test(ascii(given)):
            assert known_effect_of(given) == effect
