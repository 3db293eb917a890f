"""Arguments of a tool, made from its schema and from what the company holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.harness.company import RunningCompany, tools

# Identifier → the tool that lists some, the arguments of that, and the path to them.
SOURCES: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "supplierId": ("procurement/searchSuppliers", {"q": "", "status": "approved"}, "suppliers.supplierId"),
    "categoryId": ("procurement/listCategories", {}, "categories.categoryId"),
    "rfqId": ("procurement/listRfqs", {"status": "published"}, "rfqs.rfqId"),
    "quotationId": ("procurement/listQuotations", {"rfqId": "7000000118"}, "quotations.quotationId"),
    "contractId": ("procurement/searchPurchaseContracts", {}, "contracts.contractId"),
    "employeeId": ("hr/searchEmployees", {"query": "head of"}, "items.employeeId"),
    "departmentId": ("hr/searchDepartments", {}, "items.departmentId"),
    "awardProgramId": ("hr/listAwardPrograms", {}, "items.awardProgramId"),
    "leaveTypeId": ("hr/listLeaveTypes", {}, "items.leaveTypeId"),
    "leaveRequestId": ("hr/listLeaveRequests", {"status": "pending"}, "items.leaveRequestId"),
    "jobRequisitionId": ("hr/searchJobRequisitions", {}, "items.jobRequisitionId"),
    "candidateId": ("hr/searchCandidates", {}, "items.candidateId"),
    "courseId": ("hr/searchCourses", {}, "items.courseId"),
    "enrolmentId": ("hr/listEnrolments", {}, "items.enrolmentId"),
    "glAccount": ("finance/searchGlAccounts", {"text": ""}, "accounts.glAccount"),
    "documentNumber": ("finance/listJournalEntries", {}, "entries.documentNumber"),
    "costCenterId": ("finance/searchCostCenters", {}, "costCenters.costCenterId"),
    "invoiceId": ("finance/searchSupplierInvoices", {"status": "posted"}, "invoices.invoiceId"),
    "purchaseOrder": ("finance/searchSupplierInvoices", {}, "invoices.purchaseOrder"),
    "billingDocument": ("finance/searchCustomerInvoices", {}, "invoices.billingDocument"),
    "customerId": ("sales/searchCustomers", {"q": ""}, "customers.customerId"),
    "contactId": ("sales/listCustomerContacts", {"customerId": "10100017"}, "contacts.contactId"),
    "productId": ("sales/searchProducts", {"text": ""}, "products.productId"),
    "opportunityId": ("sales/searchOpportunities", {}, "opportunities.opportunityId"),
    "quoteId": ("sales/listQuotes", {"status": "sent"}, "quotes.quoteId"),
    "salesOrderId": ("sales/searchSalesOrders", {"status": "open"}, "salesOrders.salesOrderId"),
    "materialId": ("warehouse/searchMaterials", {"text": ""}, "materialId"),
    "inboundDeliveryId": ("warehouse/listInboundDeliveries", {}, "inboundDeliveryId"),
    "outboundDeliveryId": ("warehouse/listOutboundDeliveries", {"status": "created"}, "outboundDeliveryId"),
    "carrierId": ("warehouse/searchCarriers", {}, "carrierId"),
    "shipmentId": ("warehouse/listShipments", {}, "shipmentId"),
    "allocationProfileId": ("warehouse/listAllocationProfiles", {}, "allocationProfileId"),
    "tripId": ("travel/listTrips", {"status": "requested"}, "trips.tripId"),
    "offerId": ("travel/searchHotels", {"city": "Lisbon", "checkIn": "2026-12-01", "checkOut": "2026-12-03"}, "offers.offerId"),
    "reportId": ("travel/searchExpenseReports", {"status": "submitted"}, "reports.reportId"),
    "expenseItemId": ("travel/getExpenseReport", {"reportId": "EXP-104733"}, "items.expenseItemId"),
    "buildingId": ("facilities/searchBuildings", {}, "buildings.buildingId"),
    "roomId": ("facilities/searchRooms", {"from": "2026-12-24T06:00:00Z", "to": "2026-12-24T07:00:00Z"}, "rooms.roomId"),
    "reservationId": ("facilities/listDeskReservations", {}, "reservations.reservationId"),
    "workOrderId": ("facilities/listWorkOrders", {}, "workOrders.workOrderId"),
    "visitId": ("facilities/listVisitors", {}, "visits.visitId"),
}  # fmt: skip

_ROLES = {
    "supplierIds": "supplierId", "fromCostCenterId": "costCenterId", "approverId": "employeeId", "managerId": "employeeId",
    "hiringManagerId": "employeeId", "interviewerIds": "employeeId", "accountOwnerId": "employeeId", "ownerEmployeeId": "employeeId",
    "hostEmployeeId": "employeeId", "organiserId": "employeeId", "injuredEmployeeId": "employeeId", "witnessIds": "employeeId",
    "responsibleEmployeeId": "employeeId", "categoryIds": "categoryId", "materialIds": "materialId",
    "outboundDeliveryIds": "outboundDeliveryId", "billingDocuments": "billingDocument",
}  # fmt: skip

# What a schema does not tell: values that make sense together.
STATED: Mapping[str, Mapping[str, Any]] = {
    "facilities/searchRooms": {"from": "2026-12-24T08:00:00Z", "to": "2026-12-24T09:00:00Z"},
    "facilities/bookRoom": {"startsAt": "2026-12-24T08:00:00Z", "endsAt": "2026-12-24T09:00:00Z"},
    "facilities/releaseRoom": {"bookingId": "BK-204519"},
    "facilities/orderRoomCatering": {"bookingId": "BK-204518"},
    "finance/getPeriodStatus": {"fiscalYear": 2026, "period": 11},
    "finance/getJournalEntry": {"companyCode": "1010", "fiscalYear": 2026},
    "finance/reverseJournalEntry": {"fiscalYear": 2026},
    "finance/postJournalEntry": {
        "companyCode": "1010",
        "fiscalYear": 2026,
        "postingDate": "2026-11-19",
        "lines": [{"glAccount": "470000", "debit": 12.5}, {"glAccount": "113100", "credit": 12.5}],
    },
    "finance/transferBudget": {"toCostCenterId": "CC4123", "amount": {"amount": 10, "currency": "EUR"}},
    "finance/releaseSupplierInvoice": {"invoiceId": "5105600124"},
    "finance/getPayment": {"paymentId": "1500000214"},
    "finance/getExchangeRate": {"from": "EUR", "to": "GBP"},
    "hr/cancelLeaveRequest": {"leaveRequestId": "LR-204518"},
    "hr/grantSpotAward": {"amount": {"amount": 100, "currency": "EUR"}},
    "hr/requestLeave": {"startDate": "2026-12-21", "endDate": "2026-12-23"},
    "procurement/blockSupplier": {"supplierId": "10300042"},
    "procurement/unblockSupplier": {"supplierId": "10300045"},
    "procurement/awardRfq": {"rfqId": "7000000118"},
    "procurement/listQuotations": {"rfqId": "7000000118"},
    "sales/sendQuote": {"quoteId": "Q-20319"},
    "sales/convertQuote": {"quoteId": "Q-20318"},
    "sales/getSalesForecast": {"quarter": "2026-Q4"},
    "sales/changeSalesOrderItem": {"salesOrderId": "SO-104238", "salesOrderItem": 10},
    "travel/cancelBooking": {"bookingId": "ord_00009hthhsUZ8W4LxQgkjo"},
    "travel/searchFlights": {"from": "LBA", "to": "LIS", "departOn": "2026-12-01"},
    "travel/bookFlight": {"offerId": None},
    "travel/searchHotels": {"city": "Lisbon", "checkIn": "2026-12-01", "checkOut": "2026-12-03"},
    "travel/updateExpenseItem": {"reportId": "EXP-104733", "expenseType": "taxi"},
    "travel/attachReceipt": {"reportId": "EXP-104733", "expenseItemId": "EXP-104733-01"},
    "travel/submitExpenseReport": {"reportId": "EXP-104733"},
    "travel/decideExpenseReport": {"reportId": "EXP-104734"},
    "travel/getPerDiemRate": {"country": "PT"},
    "warehouse/reserveDockSlot": {"dockSlotId": "DS-20261-05"},
    "warehouse/enterCount": {"countId": "PI-104218"},
    "warehouse/transferStock": {"materialId": "SP-10432", "qty": 2, "fromPlant": "LP03", "toPlant": "LP01"},
    "warehouse/blockStock": {"materialId": "SP-10432", "plant": "LP02", "qty": 1, "batch": "B-2603"},
    "warehouse/adjustStock": {"materialId": "SP-10432", "plant": "LP02", "qtyDifference": 1},
    "warehouse/createOutboundDelivery": {"salesOrderItems": [10]},
    "warehouse/listDockSlots": {"plant": "LP01", "day": "2026-11-21"},
    "hr/listShifts": {"week": "2026-W47"},
}


def held(company: RunningCompany, name: str) -> Any:
    """An identifier of the company: the last that a list shows, so that others keep what the first ones are used for."""
    tool_id, arguments, path = SOURCES[name]
    value = _listed(company, tool_id, tuple(sorted(arguments.items())))
    for part in path.split("."):
        value = [each[part] for each in value] if isinstance(value, list) else value[part]
    return value[-1]


@cache
def _listed(company: RunningCompany, tool_id: str, arguments: tuple[tuple[str, Any], ...]) -> Any:
    return company.ask(tool_id, **dict(arguments))


def made_arguments(company: RunningCompany, tool_id: str, *, everything: bool) -> dict[str, Any]:
    """Arguments of a tool.

    :param everything: whether optional ones are given too.
    """
    schema = dict(tools()[tool_id].input_schema or {})
    required = schema.get("required", ())
    stated = STATED.get(tool_id, {})
    found = {
        name: _made(company, name, inner, schema)
        for name, inner in schema.get("properties", {}).items()
        if name not in stated and (everything or name in required)
    }
    return {**found, **{name: _flight(company) if value is None else value for name, value in stated.items()}}


def _flight(company: RunningCompany) -> str:
    found = company.ask("travel/searchFlights", **STATED["travel/searchFlights"])
    return str(found["offers"][0]["offerId"])


def _made(company: RunningCompany, name: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    role = _ROLES.get(name, name)
    if kind == "array":
        return [_made(company, role, schema["items"], root)]
    if kind == "object":
        return {key: _made(company, key, inner, root) for key, inner in schema.get("properties", {}).items()}
    if role in SOURCES and kind == "string":
        return held(company, role)
    if "enum" in schema:
        return schema["enum"][0]
    if name in ("plant", "fromPlant", "toPlant"):
        return "LP02"
    by_form = {"date": "2026-12-01", "date-time": "2026-12-01T10:00:00Z", "email": "a@b.example"}
    simple = {"integer": 2, "number": 2.5, "boolean": True}
    examples = schema.get("examples") or [by_form.get(schema.get("format", ""), "a")]
    return simple.get(str(kind), examples[0])
