"""The shipped catalogue: it loads whole, it is as large and as varied as promised, and its chains hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eval.queries import read_queries, with_needs
from ingest.sources import Catalog
from ontology.tool import Parameter, Tool

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "enterprise"


FORMATS = {
    "events": "mcp",
    "facilities": "openapi",
    "finance": "openapi",
    "hr": "openapi",
    "itsm": "mcp",
    "legal": "function",
    "manufacturing": "odata",
    "procurement": "openapi",
    "projects": "table",
    "purchasing": "odata",
    "sales": "openapi",
    "support": "table",
    "travel": "openapi",
    "warehouse": "openapi",
}

#: (a tool that gives it, the field as both sides call it but for case and separators, a tool that needs it)
CHAINS = [
    ("hr/searchEmployees", "employeeId", "hr/getEmployee"),
    ("hr/searchEmployees", "employeeId", "hr/grantSpotAward"),
    ("hr/searchEmployees", "employeeId", "hr/getManager"),
    ("hr/getEmployee", "departmentId", "hr/getDepartment"),
    ("hr/getEmployee", "careerLevel", "hr/listAwardPrograms"),
    ("hr/getEmployee", "costCenterId", "finance/getBudget"),
    ("hr/listAwardPrograms", "awardProgramId", "hr/grantSpotAward"),
    ("hr/listLeaveTypes", "leaveTypeId", "hr/requestLeave"),
    ("hr/listLeaveRequests", "leaveRequestId", "hr/decideLeaveRequest"),
    ("finance/searchGlAccounts", "glAccount", "finance/getGlAccountBalance"),
    ("finance/getGlAccountBalance", "glAccount", "finance/listJournalEntries"),
    ("finance/listJournalEntries", "documentNumber", "finance/reverseJournalEntry"),
    ("finance/searchSupplierInvoices", "invoiceId", "finance/createPayment"),
    ("finance/createPayment", "paymentId", "finance/getPayment"),
    ("procurement/searchSuppliers", "supplierId", "procurement/getSupplier"),
    ("procurement/searchSuppliers", "supplierId", "procurement/blockSupplier"),
    ("procurement/searchSuppliers", "supplierId", "procurement/getSupplierScorecard"),
    ("procurement/searchSuppliers", "supplierId", "procurement/listSupplierContacts"),
    ("procurement/searchSuppliers", "supplierId", "finance/searchSupplierInvoices"),
    ("procurement/searchSuppliers", "supplierId", "legal/open_legal_matter"),
    ("procurement/listQuotations", "quotationId", "procurement/awardRfq"),
    ("procurement/awardRfq", "purchaseOrder", "purchasing/read_PurchaseOrderHeader"),
    ("purchasing/query_PurchaseOrderItem", "PurchaseOrderItem", "purchasing/read_PurchaseOrderItem"),
    ("purchasing/query_PurchaseRequisitionHeader", "PurchaseRequisition", "purchasing/ConvertRequisitionToOrder"),
    ("purchasing/ConvertRequisitionToOrder", "PurchaseOrder", "purchasing/ReleasePurchaseOrder"),
    ("purchasing/query_PurchaseOrderItem", "PurchaseOrder", "warehouse/announceInboundDelivery"),
    ("sales/searchCustomers", "customerId", "sales/createQuote"),
    ("sales/searchCustomers", "customerId", "finance/getCreditExposure"),
    ("sales/searchCustomers", "customerId", "support/open_case"),
    ("sales/searchProducts", "productId", "sales/getCustomerPrice"),
    ("sales/createQuote", "quoteId", "sales/convertQuote"),
    ("sales/convertQuote", "salesOrderId", "warehouse/createOutboundDelivery"),
    ("warehouse/searchMaterials", "materialId", "warehouse/getStockOverview"),
    ("warehouse/createOutboundDelivery", "outboundDeliveryId", "warehouse/postGoodsIssue"),
    ("warehouse/searchCarriers", "carrierId", "warehouse/createShipment"),
    ("warehouse/createShipment", "shipmentId", "warehouse/trackShipment"),
    ("manufacturing/query_ProductionOrders", "OrderId", "manufacturing/ConfirmOperation"),
    ("itsm/find_user", "user_id", "itsm/reset_password"),
    ("itsm/search_incidents", "incident_id", "itsm/resolve_incident"),
    ("itsm/list_offerings", "offering_id", "itsm/create_service_request"),
    ("projects/get_upcoming_task_deadlines", "recipient_list", "projects/send_task_deadline_reminder"),
    ("projects/find_projects", "project_id", "projects/list_project_tasks"),
    ("projects/find_projects", "wbs_element", "projects/get_project_costs"),
    ("travel/requestTrip", "tripId", "travel/bookHotel"),
    ("travel/searchFlights", "offerId", "travel/bookFlight"),
    ("travel/searchExpenseReports", "reportId", "travel/updateExpenseItem"),
    ("travel/getExpenseReport", "expenseItemId", "travel/updateExpenseItem"),
    ("support/find_installed_equipment", "serial_number", "support/check_warranty"),
    ("support/find_installed_equipment", "site", "support/find_technicians"),
    ("support/find_technicians", "technician_id", "support/schedule_service_visit"),
    ("facilities/searchBuildings", "buildingId", "facilities/searchRooms"),
    ("facilities/searchRooms", "roomId", "facilities/bookRoom"),
    ("events/find_events", "event_id", "events/list_invitees"),
    ("events/send_survey", "survey_id", "events/get_survey_results"),
    ("facilities/bookRoom", "bookingId", "facilities/orderRoomCatering"),
    ("facilities/listDeskReservations", "reservationId", "facilities/cancelDeskReservation"),
    ("hr/listEnrolments", "enrolmentId", "hr/cancelEnrolment"),
    ("hr/listTrainingCertificates", "courseId", "hr/enrolInCourse"),
    ("itsm/find_groups", "group_id", "itsm/change_group_members"),
    ("manufacturing/query_WorkCenters", "WorkCenterId", "manufacturing/create_MaintenanceOrders"),
    ("procurement/searchSuppliers", "supplierId", "procurement/getOnboardingStatus"),
    ("projects/get_timesheet", "timesheet_id", "projects/approve_timesheet"),
    ("support/list_service_visits", "visit_id", "support/report_service_visit"),
]


@pytest.fixture(scope="module")
def tools(catalog: Catalog) -> dict[str, Tool]:
    return {tool.id: tool for tool in catalog.tools}


@pytest.fixture(scope="module")
def requests() -> list[dict[str, Any]]:
    text = (FOLDER / "requests.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _field(name: str) -> str:
    """The last part of a dotted name, without case, separators and list marks."""
    return re.sub(r"[\W_]", "", name.rpartition(".")[2]).casefold()


def _fields(parameters: tuple[Parameter, ...]) -> set[str]:
    return {_field(parameter.name) for parameter in parameters}


def test_everything_is_read_and_nothing_refused(catalog: Catalog) -> None:
    assert catalog.rejected == ()
    assert catalog.renamed == ()


def test_every_file_is_read_as_what_it_is(catalog: Catalog) -> None:
    formats = {tool.namespace: str(tool.metadata["format"]).partition(".")[0] for tool in catalog.tools}
    assert formats == FORMATS


def test_tools_of_the_requests_exist(requests: list[dict[str, Any]], tools: dict[str, Tool]) -> None:
    missing = {(row["id"], id_) for row in requests for id_ in row["tools"] if id_ not in tools}
    assert missing == set()


@pytest.mark.parametrize(("giver", "field", "taker"), CHAINS, ids=lambda value: str(value))
def test_chains(tools: dict[str, Tool], giver: str, field: str, taker: str) -> None:
    assert _field(field) in _fields(tools[giver].returns)
    assert _field(field) in _fields(tools[taker].parameters)


def test_links_become_dependencies(tools: dict[str, Tool]) -> None:
    needed = {(need.tool, need.parameter) for need in tools["sales/convertQuote"].depends_on}
    assert ("sales/createQuote", "quoteId") in needed


def test_capabilities_of_entity_sets_are_kept(tools: dict[str, Tool]) -> None:
    assert "purchasing/create_GoodsReceipt" in tools
    assert not {"purchasing/update_GoodsReceipt", "purchasing/create_InvoiceReceipt"} & tools.keys()
    assert not {"manufacturing/create_BillsOfMaterial", "manufacturing/delete_ProductionOrders"} & tools.keys()


@pytest.mark.parametrize(
    ("requests", "needs"),
    [
        ("enterprise/requests.jsonl", "enterprise/needs.jsonl"),
        ("enterprise/benchmark/hand.jsonl", "enterprise/benchmark/needs.jsonl"),
        ("real/requests.jsonl", "real/needs.jsonl"),
    ],
)
def test_every_request_has_needs_without_values(requests: str, needs: str) -> None:
    examples = FOLDER.parent
    queries = with_needs(read_queries([examples / requests], unanswerable=True), [examples / needs])
    assert (queries.without_needs, queries.unknown_needs) == (0, ())
    phrases = [need for query in queries.asked for need in query.needs or ()]
    assert all(query.needs for query in queries.asked)
    assert not any(character.isdigit() for need in phrases for character in need)
