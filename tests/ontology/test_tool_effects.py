"""What counts as a change, against the methods of real documents and the hints of servers."""

from dataclasses import replace
from typing import Any

import pytest

from egotools import Argument, Call, Tool
from ontology.tool_effects import effect_of, known_effect_of
from tests.planners.calls.tools import NOTHING, http, mcp, python, tool

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
            assert (effect_of(given) == "read") is reads


OTHER_METHODS = (
    "X-HTTP-Method-Override x-http-method X-METHOD-OVERRIDE _method _METHOD _method[] X_HTTP_Method_Override"
).split()


def of_call(**fields: Any) -> Tool:
    """A GET with other fields of its call."""
    given = http("resource", NOTHING, "GET")
    return replace(given, call=replace(given.call, **fields))


@pytest.mark.parametrize("place", ["header", "query", "form", "body"])
def test_another_method_as_an_argument_is_no_reading_wherever_it_goes(place: str) -> None:
    taken = {name: of_call(arguments=(Argument(name="how", location=place, wire_name=name),)) for name in OTHER_METHODS}
    assert [name for name, given in taken.items() if effect_of(given) == "read"] == []


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


def test_a_get_whose_path_says_a_change_is_one() -> None:
    assert [path for path in CHANGING if effect_of(of_call(path=path)) != "change"] == []
    assert [path for path in READING if effect_of(of_call(path=path)) != "read"] == []


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
