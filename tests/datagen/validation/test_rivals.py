"""Rivals: whether a request says which of two tools it means."""

from __future__ import annotations

import pytest

from datagen.generation import load_lexicon
from datagen.synthetic_request import SampleValue, SyntheticRequest
from datagen.tool_path import PathEdge, ToolPath
from datagen.validation.parsed_request import parse_request
from datagen.validation.rivals import Rivals
from datagen.validation.synonyms import EverydayWords
from datagen.validation.tool_slots import CatalogueSlots
from tests.datagen.catalogues import catalogue_of, tool

VENDORS, VENDOR_CONTACTS = (
    tool("search_suppliers", "name?", "suppliers[].supplier_id", namespace="buying"),
    tool("list_supplier_contacts", "supplier_id", "contacts[].contact_id", namespace="buying"),
)
CLIENT_CONTACTS = tool("list_customer_contacts", "customer_id", "contacts[].contact_id", namespace="selling")
WORK, REPAIRS = (
    tool("list_work_orders", "building_id?", "orders[].work_order_id"),
    tool("list_maintenance_orders", "plant?", "orders[].maintenance_order_id", namespace="factory"),
)
USERS, ACTIVE = tool("list_users", "", "users[].user_id"), tool("list_active_users", "", "users[].user_id")
REACTIONS, MADE = (
    tool("list_all_reactions", "file?", "reactions[].name"),
    tool("reactions_list", "user?", "items[].name"),
)
GET, GET_OLD = tool("get_report", "report_id", "name"), tool("get_report_page", "report_id week", "name")
CATALOGUE = catalogue_of(
    (VENDORS, VENDOR_CONTACTS, CLIENT_CONTACTS, WORK, REPAIRS, USERS, ACTIVE, REACTIONS, MADE, GET, GET_OLD)
)
EDGE = PathEdge(
    kind="R-P",
    source=VENDORS.id,
    target=VENDOR_CONTACTS.id,
    output="supplier_id",
    parameter="supplier_id",
    confidence=0.95,
)
CONTACTS = ToolPath(tools=(VENDORS.id, VENDOR_CONTACTS.id), edges=(EDGE,), shape="chain")
OF_FILE = (SampleValue(tool=REACTIONS.id, parameter="file", value="7"),)


@pytest.mark.parametrize(
    ("path", "text", "values", "other"),
    [
        (CONTACTS, "Show the contacts of Falkner Robotics", (), CLIENT_CONTACTS.id),
        (CONTACTS, "Show the contacts of the vendor Falkner Robotics", (), ""),
        (CONTACTS, "Show the contacts of Falkner Robotics in buying", (), ""),
        (ToolPath(tools=(WORK.id,)), "List maintenance jobs", (), REPAIRS.id),
        (ToolPath(tools=(WORK.id,)), "List work orders", (), ""),
        (ToolPath(tools=(WORK.id,)), "List repair jobs", (), ""),
        (ToolPath(tools=(USERS.id,)), "List users", (), ""),
        (ToolPath(tools=(ACTIVE.id,)), "List users", (), USERS.id),
        (ToolPath(tools=(REACTIONS.id,)), "List reactions", (), MADE.id),
        (ToolPath(tools=(REACTIONS.id,)), "List reactions to file 7", OF_FILE, ""),
        (ToolPath(tools=(REACTIONS.id,), alternatives=((MADE.id,),)), "List reactions", (), ""),
        (
            ToolPath(tools=(GET.id,)),
            "Show report 77",
            (SampleValue(tool=GET.id, parameter="report_id", value="77"),),
            "",
        ),
    ],
)
def test_a_request_says_which_tool_it_means(
    path: ToolPath, text: str, values: tuple[SampleValue, ...], other: str
) -> None:
    request = SyntheticRequest(id="r", text=text, request_class="single-intent", path=path, values=values)
    why = Rivals(CATALOGUE, CatalogueSlots(CATALOGUE, EverydayWords(load_lexicon()))).find_open_choice(
        request, parse_request(text)
    )
    assert bool(why) is bool(other) and other in why
