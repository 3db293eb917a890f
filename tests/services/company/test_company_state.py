"""Writes change what later reads show; the records of a seed agree with each other across systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from services.company.api_documents import read_operations
from services.company.company_facts import read_facts
from services.company.mock_company import MockCompany
from services.company.record_kinds import kinds_of
from services.company.record_store import RecordStore
from tests.harness.company import CATALOG, RunningCompany, running, tools
from tests.services.company.made_arguments import made_arguments

# A tool that makes a record: the tool that reads it, the input that names it, and the path of the identifiers in its answer.
CREATED: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "procurement/onboardSupplier": ("procurement/getSupplier", {"supplierId": "supplierId"}, "supplierId"),
    "procurement/createRfq": ("procurement/getRfq", {"rfqId": "rfqId"}, "rfqId"),
    "finance/recordSupplierInvoice": ("finance/getSupplierInvoice", {"invoiceId": "invoiceId"}, "invoiceId"),
    "finance/createPayment": ("finance/getPayment", {"paymentId": "paymentId"}, "paymentId"),
    "finance/postJournalEntry": ("finance/getJournalEntry", {"documentNumber": "documentNumber"}, "documentNumber"),
    "hr/grantSpotAward": ("hr/listSpotAwards", {"employeeId": "employeeId"}, "items.awardId"),
    "hr/requestLeave": ("hr/listLeaveRequests", {"employeeId": "employeeId"}, "items.leaveRequestId"),
    "hr/createJobRequisition": ("hr/searchJobRequisitions", {"text": "title"}, "items.jobRequisitionId"),
    "hr/enrolInCourse": ("hr/listEnrolments", {}, "items.enrolmentId"),
    "sales/createCustomer": ("sales/getCustomer", {"customerId": "customerId"}, "customerId"),
    "sales/createOpportunity": ("sales/searchOpportunities", {"customerId": "customerId"}, "opportunities.opportunityId"),
    "sales/createQuote": ("sales/getQuote", {"quoteId": "quoteId"}, "quoteId"),
    "sales/createSalesOrder": ("sales/getSalesOrder", {"salesOrderId": "salesOrderId"}, "salesOrderId"),
    "warehouse/announceInboundDelivery": ("warehouse/listInboundDeliveries", {"supplierId": "supplierId"}, "inboundDeliveryId"),
    "warehouse/createOutboundDelivery": ("warehouse/listOutboundDeliveries", {"salesOrderId": "salesOrderId"}, "outboundDeliveryId"),
    "warehouse/createShipment": ("warehouse/trackShipment", {"shipmentId": "shipmentId"}, "shipmentId"),
    "travel/requestTrip": ("travel/getTrip", {"tripId": "tripId"}, "tripId"),
    "travel/createExpenseReport": ("travel/getExpenseReport", {"reportId": "reportId"}, "reportId"),
    "facilities/bookRoom": ("facilities/listRoomBookings", {"roomId": "roomId"}, "bookings.bookingId"),
    "facilities/createWorkOrder": ("facilities/getWorkOrder", {"workOrderId": "workOrderId"}, "workOrderId"),
    "facilities/registerVisitor": ("facilities/listVisitors", {}, "visits.visitId"),
    "facilities/reserveDesk": ("facilities/listDeskReservations", {}, "reservations.reservationId"),
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
        ("hr/cancelEnrolment", {"enrolmentId": "ENR-318205"}, "hr/listEnrolments", "items.enrolmentId"),
        ("facilities/releaseRoom", {"bookingId": "BK-204520"}, "facilities/listRoomBookings", "bookings.bookingId"),
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


def test_the_records_outlive_the_process_and_keep_their_seed(tmp_path: Path) -> None:
    with running(tmp_path) as company:
        made = company.ask("procurement/onboardSupplier", legalName="Fjord Tools AS")["supplierId"]
    with running(tmp_path) as company:
        assert company.ask("procurement/getSupplier", supplierId=made)["legalName"] == "Fjord Tools AS"
    with pytest.raises(InvalidArgumentError, match="seed 1"):
        MockCompany(CATALOG, tmp_path, seed=2)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, list[dict[str, Any]]]]:
    folder = tmp_path_factory.mktemp("seeded")
    MockCompany(CATALOG, folder, seed=1).close()
    store = RecordStore(folder / "company.sqlite")
    kinds = kinds_of(read_operations(CATALOG), read_facts())
    yield {name: store.all(name) for name in kinds.by_name}
    store.close()


def references(value: Any, roles: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """The identifiers anywhere in a record, by the kind that the name of their field means."""
    if isinstance(value, list):
        for item in value:
            yield from references(item, roles)
    elif isinstance(value, dict):
        for name, inner in value.items():
            for item in inner if isinstance(inner, list) else [inner]:
                if isinstance(item, str):
                    yield roles.get(name, name), item
            yield from references(inner, roles)


def test_every_reference_leads_to_a_record(seeded: Mapping[str, list[dict[str, Any]]]) -> None:
    facts = read_facts()
    roles = {role: key for key, names in facts.roles.items() for role in names}
    known = {key: {row[key] for row in rows} for key, rows in seeded.items() if rows and key in rows[0]}
    known["costCenterId"] |= {None}
    found = [
        (kind, key, value)
        for kind, rows in seeded.items()
        for row in rows
        for key, value in references(row, roles)
        if key in known and key != "parkingSpace" and value not in known[key]
    ]
    assert found == []
    assert (
        sum(1 for rows in seeded.values() for row in rows for key, _ in references(row, roles) if key in known) > 2500
    )
