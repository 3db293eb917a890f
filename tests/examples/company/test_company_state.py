"""Writes change what later reads show; the records of a seed agree with each other across systems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.examples.company.made_arguments import made_arguments
from tests.harness.company import RunningCompany, running, tools

# A tool that makes a record: the tool that reads it, the input that names it, and the path of the identifiers in its answer.
CREATED: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "procurement/onboardSupplier": ("procurement/getSupplier", {"supplierId": "supplierId"}, "supplierId"),
    "finance/postJournalEntry": ("finance/getJournalEntry", {"documentNumber": "documentNumber"}, "documentNumber"),
    "hr/requestLeave": ("hr/listLeaveRequests", {"employeeId": "employeeId"}, "items.leaveRequestId"),
    "hr/enrolInCourse": ("hr/listEnrolments", {}, "items.enrolmentId"),
    "sales/createQuote": ("sales/getQuote", {"quoteId": "quoteId"}, "quoteId"),
    "sales/createSalesOrder": ("sales/getSalesOrder", {"salesOrderId": "salesOrderId"}, "salesOrderId"),
    "warehouse/createOutboundDelivery": ("warehouse/listOutboundDeliveries", {"salesOrderId": "salesOrderId"}, "outboundDeliveryId"),
    "warehouse/createShipment": ("warehouse/trackShipment", {"shipmentId": "shipmentId"}, "shipmentId"),
    "travel/requestTrip": ("travel/getTrip", {"tripId": "tripId"}, "tripId"),
    "facilities/bookRoom": ("facilities/listRoomBookings", {"roomId": "roomId"}, "bookings.bookingId"),
}  # fmt: skip


def at(value: Any, path: str) -> list[Any]:
    found = [value]
    for part in path.split("."):
        found = [item[part] for each in found for item in (each if isinstance(each, list) else [each])]
    return found


@pytest.mark.parametrize("tool_id", CREATED)
def test_what_is_created_is_found_with_what_was_given(company: RunningCompany, tool_id: str) -> None:
    reader, inputs, path = CREATED[tool_id]
    given = made_arguments(company, tool_id, everything=True)
    made = company.ask(tool_id, **given)
    key = path.rpartition(".")[2]
    known = {**given, **made}
    required = (tools()[reader].input_schema or {}).get("required", [])
    further = {name: value for name, value in {"companyCode": "1010", "fiscalYear": 2026}.items() if name in required}
    found = company.ask(reader, **{name: known[field] for name, field in inputs.items()}, **further)
    assert made[key] in at(found, path)
    if reader.split("/")[1].startswith("get"):
        same = {
            name: value
            for name, value in given.items()
            if name in found and name != key and not isinstance(value, dict | list)
        }
        assert {name: found[name] for name in same} == same


@pytest.mark.parametrize(
    ("tool_id", "arguments", "reader", "path"),
    [
        ("hr/cancelLeaveRequest", {"leaveRequestId": "LR-204520"}, "hr/listLeaveRequests", "items.leaveRequestId"),
        ("facilities/cancelDeskReservation", {"reservationId": "RES-104418"}, "facilities/listDeskReservations",
         "reservations.reservationId"),
    ],
)  # fmt: skip
def test_what_is_deleted_is_gone(
    company: RunningCompany, tool_id: str, arguments: dict[str, str], reader: str, path: str
) -> None:
    assert next(iter(arguments.values())) in at(company.ask(reader), path)
    assert company.call(tool_id, arguments) == (204, None)
    assert next(iter(arguments.values())) not in at(company.ask(reader), path)
    assert company.call(tool_id, arguments)[0] == 404


def test_a_state_allows_some_calls_only(company: RunningCompany) -> None:
    order = company.ask("sales/searchSalesOrders", status="open")["salesOrders"][0]["salesOrderId"]
    assert company.ask("sales/cancelSalesOrder", salesOrderId=order, reason="duplicate")["status"] == "cancelled"
    items = company.ask("sales/listSalesOrderItems", salesOrderId=order)["items"]
    assert {item["status"] for item in items} == {"cancelled"}
    status, body = company.call("sales/cancelSalesOrder", {"salesOrderId": order, "reason": "credit"})
    assert (status, body["code"]) == (409, "CONFLICT")
    assert company.call("procurement/unblockSupplier", {"supplierId": "10300043"})[0] == 409


def test_the_records_outlive_the_process(tmp_path: Path) -> None:
    with running(tmp_path) as company:
        made = company.ask("procurement/onboardSupplier", legalName="Fjord Tools AS")["supplierId"]
    with running(tmp_path) as company:
        assert company.ask("procurement/getSupplier", supplierId=made)["legalName"] == "Fjord Tools AS"


@pytest.mark.parametrize(
    ("tool_id", "arguments", "then"),
    [
        ("hr/requestLeave", {"employeeId": "E10483", "leaveTypeId": "ANNUAL", "startDate": "2026-12-01", "endDate": "2027-01-30"}, "days are left"),
        ("warehouse/transferStock", {"materialId": "SP-10432", "qty": 9999, "fromPlant": "LP03", "toPlant": "LP01"}, "too little"),
        ("facilities/bookRoom", {"roomId": "LDS-2.14", "startsAt": "2026-12-24T08:30:00Z", "endsAt": "2026-12-24T10:00:00Z", "subject": "b"}, "booked"),
    ],
)  # fmt: skip
def test_a_rule_of_the_business_refuses_a_call(
    company: RunningCompany, tool_id: str, arguments: dict[str, Any], then: str
) -> None:
    company.call("facilities/bookRoom", {**BOOKED, "subject": "a"})
    status, body = company.call(tool_id, arguments)
    assert (status, body["code"]) == (409, "CONFLICT")
    assert then in body["message"]
    free = company.ask("facilities/searchRooms", **{"from": BOOKED["startsAt"], "to": BOOKED["endsAt"]})
    assert "LDS-2.14" not in at(free, "rooms.roomId")


BOOKED = {"roomId": "LDS-2.14", "startsAt": "2026-12-24T08:00:00Z", "endsAt": "2026-12-24T09:00:00Z"}
