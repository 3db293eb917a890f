"""Writes change what later reads show; the records of a seed agree with each other across systems."""

from pathlib import Path
from typing import Any

import pytest

from tests.examples.company.declared_answers import faults
from tests.harness.company import RunningCompany, running


def at(value: Any, path: str) -> list[Any]:
    found = [value]
    for part in path.split("."):
        found = [item[part] for each in found for item in (each if isinstance(each, list) else [each])]
    return found


CREATED = [
    ("procurement/onboardSupplier", {"legalName": "Fjord Tools AS"}, "procurement/getSupplier", "supplierId"),
    ("sales/createSalesOrder", {"customerId": "10100017", "items": []}, "sales/getSalesOrder", "salesOrderId"),
    ("hr/requestLeave", {"employeeId": "E10483", "leaveTypeId": "ANNUAL", "startDate": "2026-12-21", "endDate": "2026-12-22"}, "", "leaveRequestId"),
]  # fmt: skip


@pytest.mark.parametrize(("tool_id", "given", "reader", "key"), CREATED)
def test_what_is_created_is_found_with_what_was_given(
    company: RunningCompany, tool_id: str, given: dict[str, Any], reader: str, key: str
) -> None:
    status, made = company.call_by_contract(tool_id, given)
    assert 200 <= status < 300 and faults(tool_id, status, made) == []
    found = company.ask(reader, **{key: made[key]}) if reader else made
    assert {name: found[name] for name in given if isinstance(given[name], str) and name in found} != {}
    assert found[key] == made[key]


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
