"""What counts as a change, against the methods of real documents and the hints of servers."""

from dataclasses import replace
from typing import Any

import pytest

from egotools import Argument, Call, Tool
from ontology.tool_effects import effect_of, known_effect_of
from tests.planners.calls.tools import NOTHING, http, mcp, python, tool

OVERRIDE = {"type": "object", "properties": {"X-HTTP-Method-Override": {"type": "string"}}}


TERMINATE = Call(protocol="aws", service="ec2", operation="TerminateInstances")
EFFECTS: list[tuple[Tool, str, str | None]] = [
    (mcp("get_order", NOTHING), "change", "read"),  # its server says nothing, and its name is the server's own choice
    (mcp("delete_order", NOTHING, read_only=True), "read", "read"),
    (mcp("x", NOTHING, read_only=False), "change", "change"),
    (mcp("x", NOTHING, read_only="true"), "change", None),  # no boolean, so no annotation
    (mcp("x", NOTHING, readOnlyHint=True), "read", "read"),
    (python("find_orders"), "read", "read"),
    (python("Orders.listOpen"), "read", "read"),
    (python("get_or_create_order"), "change", "change"),
    (python("fetchAndLock"), "change", None),
    (python("send_mail"), "change", "change"),
    (python("mails_of"), "change", None),
    (python("get_order", read_only=False), "change", "change"),
    (python("send_mail", read_only=True), "read", "read"),
    (tool(Call(protocol="aws", service="ec2", operation="DescribeInstances"), NOTHING), "read", "read"),
    (tool(TERMINATE, NOTHING), "change", "change"),
    (tool(TERMINATE, NOTHING, read_only=True), "change", "change"),
    (tool(Call(), NOTHING, "shop/get_it"), "change", "read"),
    (mcp("x", NOTHING, read_only=True, destructive=True), "change", "change"),  # it cannot be both
    (http("orders", NOTHING, "GET"), "read", "read"),
    (http("deleteOrder", NOTHING, "GET"), "change", "change"),  # the document says two things
    (tool(Call(protocol="http", method="GET", path="/x"), NOTHING, read_only=False), "change", "change"),
    (tool(Call(protocol="odata", method="GET", path="/x"), NOTHING, destructive=True), "change", "change"),
    (tool(Call(protocol="http", method="POST", path="/x"), NOTHING, read_only=True), "change", "change"),
    (http("orders", OVERRIDE, "GET"), "change", "change"),
    (http("orders", {"type": "object", "properties": {"_method": {"type": "string"}}}, "GET"), "change", "change"),
    (python("compare_and_swap"), "change", None),
    (python("compare_update"), "change", None),
    (python("check_out"), "change", None),
    (python("check_stock"), "read", "read"),
    (python("get_delete_item"), "change", "change"),
    (python("get_post"), "read", "read"),
    (python("list_deleted_items"), "read", "read"),
    (python("read_reset_counter"), "change", "change"),
    (tool(Call(), NOTHING, "SearchMessages"), "change", "read"),
    (tool(Call(), NOTHING, "List Milestones"), "change", "read"),
    (tool(Call(), NOTHING, "calendar.delete_event"), "change", "change"),
    (tool(Call(), NOTHING, "Log Time"), "change", None),
    (tool(Call(), NOTHING, "screen_sanctions"), "change", None),
    (mcp("x", NOTHING), "change", None),
    (mcp("get_order", NOTHING, read_only=False), "change", "change"),
    (mcp("x", NOTHING, destructive=True), "change", "change"),
    (mcp("x", NOTHING, idempotent=True), "idempotent", "idempotent"),
    (http("x", NOTHING, "POST"), "change", "change"),
    (http("x", NOTHING, "PUT"), "idempotent", "idempotent"),
    (http("x", NOTHING, "GET"), "read", "read"),
    (http("x", NOTHING, ""), "change", None),
]


def test_an_effect_that_nothing_says_is_a_change_and_not_known(subtests: pytest.Subtests) -> None:
    for given, effect, known in EFFECTS:
        with subtests.test(ascii(given)):
            assert (effect_of(given), known_effect_of(given)) == (effect, known)


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
