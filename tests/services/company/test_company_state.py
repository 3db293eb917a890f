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


def test_changes_are_shown_by_every_view_of_a_record(company: RunningCompany) -> None:
    company.ask(
        "procurement/updateSupplier", supplierId="10300044", paymentTerms="7 days net", address={"city": "Porto"}
    )
    assert company.ask("procurement/getSupplier", supplierId="10300044")["paymentTerms"] == "7 days net"
    assert company.ask("procurement/searchSuppliers", q="Porto")["suppliers"][0]["supplierId"] == "10300044"
    company.ask("hr/updateEmployee", employeeId="E10483", jobTitle="Lead Buyer")
    assert company.ask("hr/searchEmployees", query="kowalska")["items"][0]["jobTitle"] == "Lead Buyer"
    company.ask("sales/changeBillingAddress", customerId="10100018", street="New Street 1", city="Bergen")
    assert company.ask("sales/searchCustomers", q="bergen")["customers"][0]["customerId"] == "10100018"


def test_a_state_allows_some_calls_only(company: RunningCompany) -> None:
    order = company.ask("sales/searchSalesOrders", status="open")["salesOrders"][0]["salesOrderId"]
    assert company.ask("sales/cancelSalesOrder", salesOrderId=order, reason="duplicate")["status"] == "cancelled"
    items = company.ask("sales/listSalesOrderItems", salesOrderId=order)["items"]
    assert {item["status"] for item in items} == {"cancelled"}
    status, body = company.call("sales/cancelSalesOrder", {"salesOrderId": order, "reason": "credit"})
    assert (status, body["code"]) == (409, "CONFLICT")
    assert company.call("procurement/unblockSupplier", {"supplierId": "10300043"})[0] == 409


def test_an_order_has_its_items_its_total_and_their_delivery(company: RunningCompany) -> None:
    items = [{"productId": "PRD-0412", "quantity": 3}, {"productId": "PRD-0413", "quantity": 4}]
    order = company.ask("sales/createSalesOrder", customerId="10100017", items=items)
    assert [item["quantity"] for item in order["items"]] == [3, 4]
    assert order["total"]["amount"] == pytest.approx(sum(item["netPrice"]["amount"] for item in order["items"]))
    delivery = company.ask("warehouse/createOutboundDelivery", salesOrderId=order["salesOrderId"], plant="LP01")
    assert [item["qty"] for item in delivery["items"]] == [3, 4]
    picks = [{"salesOrderItem": 10, "pickedQty": 3}]
    named = {"outboundDeliveryId": delivery["outboundDeliveryId"]}
    assert [row["pickedQty"] for row in company.ask("warehouse/confirmPicking", **named, picks=picks)["items"]] == [
        3,
        0,
    ]
    company.ask("warehouse/postGoodsIssue", **named)
    assert company.call("warehouse/postGoodsIssue", named)[0] == 409


def test_money_and_stock_are_moved_and_not_made(company: RunningCompany) -> None:
    def left() -> list[float]:
        found = [company.ask("finance/getBudget", costCenterId=each) for each in ("CC4122", "CC4123")]
        return [each["available"]["amount"] for each in found]

    before = left()
    ends = {"fromCostCenterId": "CC4122", "toCostCenterId": "CC4123", "fiscalYear": 2026}
    company.ask("finance/transferBudget", **ends, amount={"amount": 1000, "currency": "EUR"})
    assert left() == pytest.approx([before[0] - 1000, before[1] + 1000])
    assert company.call("finance/transferBudget", {**ends, "amount": {"amount": 10**9, "currency": "EUR"}})[0] == 409

    stock = company.ask("warehouse/getStockOverview", materialId="SP-10432")
    plant = stock["rows"][0]["plant"]
    company.ask("warehouse/transferStock", materialId="SP-10432", qty=5, fromPlant=plant, toPlant="LP09")
    moved = company.ask("warehouse/getStockOverview", materialId="SP-10432", plant="LP09")
    assert [row["unrestrictedQty"] for row in moved["rows"]] == [5]
    assert moved["totalUnrestricted"] == pytest.approx(stock["totalUnrestricted"])


def test_entries_balance_and_their_period_is_open(company: RunningCompany) -> None:
    lines = [{"glAccount": "470000", "debit": 20}, {"glAccount": "113100", "credit": 20}]
    entry = {"companyCode": "1010", "postingDate": "2026-11-02", "currency": "EUR", "lines": lines}
    number = company.ask("finance/postJournalEntry", **entry)["documentNumber"]
    assert company.call("finance/postJournalEntry", {**entry, "lines": lines[:1]})[0] == 400
    assert company.call("finance/postJournalEntry", {**entry, "postingDate": "2026-02-02"})[0] == 409
    named = {"documentNumber": number, "companyCode": "1010", "fiscalYear": 2026}
    reversal = company.ask("finance/reverseJournalEntry", **named)["reversalDocumentNumber"]
    shown = company.ask("finance/getJournalEntry", **{**named, "documentNumber": reversal})
    assert [(line.get("debit"), line.get("credit")) for line in shown["lines"]] == [(None, 20), (20, None)]
    assert company.call("finance/reverseJournalEntry", named)[0] == 409


def test_a_room_is_booked_once(company: RunningCompany) -> None:
    when = {"startsAt": "2027-01-05T08:00:00Z", "endsAt": "2027-01-05T10:00:00Z"}
    company.ask("facilities/bookRoom", roomId="GDN-1.01", **when)
    assert company.call("facilities/bookRoom", {"roomId": "GDN-1.01", **when})[0] == 409
    free = company.ask("facilities/searchRooms", **{"from": "2027-01-05T09:00:00Z", "to": "2027-01-05T09:30:00Z"})
    assert "GDN-1.01" not in at(free, "rooms.roomId")


def test_pages_of_a_list_make_the_whole(company: RunningCompany) -> None:
    whole = at(company.ask("hr/searchEmployees", query="", pageSize=200), "items.employeeId")
    pages, token = [], "0"
    while token:
        page = company.ask("hr/searchEmployees", query="", pageSize=7, pageToken=token)
        pages += at(page, "items.employeeId")
        token = page.get("nextPageToken", "")
    assert pages == whole
    assert len(whole) > 40


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


@pytest.mark.parametrize(
    ("kind", "reference", "field"),
    [
        ("invoiceId", "purchaseOrder", "supplierId"),
        ("purchaseOrder", "contractId", "supplierId"),
        ("inboundDeliveryId", "purchaseOrder", "supplierId"),
        ("paymentId", "invoiceId", "supplierId"),
        ("billingDocument", "salesOrderId", "customerId"),
        ("quoteId", "opportunityId", "customerId"),
        ("reportId", "tripId", "employeeId"),
        ("tripId", "employeeId", "costCenterId"),
        ("employeeId", "departmentId", "costCenterId"),
        ("enrolmentId", "courseId", "sessionDate"),
    ],
)
def test_records_that_refer_to_each_other_agree(
    seeded: Mapping[str, list[dict[str, Any]]], kind: str, reference: str, field: str
) -> None:
    there = {row[reference]: row for row in seeded[reference]}
    theirs = "nextSession" if field == "sessionDate" else field
    assert len(seeded[kind]) >= 20
    assert [row for row in seeded[kind] if row[field] != there[row[reference]][theirs]] == []


def test_leave_is_decided_by_the_line_manager(seeded: Mapping[str, list[dict[str, Any]]]) -> None:
    managers = {row["employeeId"]: row.get("managerId") for row in seeded["employeeId"]}
    assert [row for row in seeded["leaveRequestId"] if row.get("approverId") != managers[row["employeeId"]]] == []


def test_a_delivery_is_of_the_items_of_its_order(seeded: Mapping[str, list[dict[str, Any]]]) -> None:
    ordered = {(row["salesOrderId"], row["salesOrderItem"]): row["materialId"] for row in seeded["salesOrderItem"]}
    products = {row["productId"]: row["materialId"] for row in seeded["productId"]}
    assert all(row["materialId"] == products[row["productId"]] for row in seeded["salesOrderItem"])
    for delivery in seeded["outboundDeliveryId"]:
        items = [(delivery["salesOrderId"], item["salesOrderItem"]) for item in delivery["items"]]
        assert len(items) == len(set(items)) > 0
        assert [ordered[item] for item in items] == [item["materialId"] for item in delivery["items"]]


def test_seeded_entries_balance(seeded: Mapping[str, list[dict[str, Any]]]) -> None:
    for entry in seeded["documentNumber"]:
        assert sum(line.get("debit", 0) - line.get("credit", 0) for line in entry["lines"]) == 0


def test_a_seed_has_every_state_that_a_document_knows(seeded: Mapping[str, list[dict[str, Any]]]) -> None:
    assert {row["status"] for row in seeded["supplierId"]} == {"prospect", "approved", "blocked", "archived"}
    assert {row["status"] for row in seeded["invoiceId"]} == {"parked", "posted", "blocked", "paid", "cancelled"}
    assert {row["status"] for row in seeded["tripId"]} == {"draft", "requested", "approved", "declined", "closed"}


def test_the_facts_name_what_the_documents_have() -> None:
    facts, operations = read_facts(), read_operations(CATALOG)
    kinds = kinds_of(operations, facts)
    names = {operation.id for operation in operations}
    parameters = {parameter.name for operation in operations for parameter in operation.parameters}
    assert set(facts.operations) <= names
    assert {name.partition(".")[0] for name in facts.parameters if "." in name} <= names
    assert {name.rpartition(".")[2] for name in facts.parameters} <= parameters
    for name, kind in facts.kinds.items():
        found = kinds.by_name[name]
        known = {*found.properties, found.key}
        assert {field.partition(".")[0] for field in kind.fields} <= known, name
        assert set(kind.new) <= known, name
        assert all(set(row) <= known for row in kind.rows), name
    for operation in facts.operations.values():
        assert {*operation.choose, *operation.append.values()} <= {
            name for each in operations for name in (each.body or {}).get("properties", {})
        }
