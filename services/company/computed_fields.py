"""Fields that follow from other records, and so are never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, TypeAlias

from services.company.company_records import CompanyRecords
from services.company.record_store import Record

__all__ = ["COMPUTED", "money", "total_of"]

_Computed: TypeAlias = Callable[[CompanyRecords, Record], Any]
_ENTITLED_DAYS = {"ANNUAL": 30.0}
_AGES = ((0, "not due"), (30, "1-30"), (90, "31-90"))


def money(amount: float, like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An amount of money, in the currency of another."""
    return {"amount": round(amount, 2), "currency": (like or {}).get("currency", "EUR")}


def total_of(rows: Iterable[Mapping[str, Any]], field: str) -> dict[str, Any]:
    """The sum of a field of several records."""
    amounts = [row[field] for row in rows if field in row]
    return money(sum(amount["amount"] for amount in amounts), amounts[0] if amounts else None)


def _order_total(records: CompanyRecords, order: Record) -> Any:
    rows = records.rows("salesOrderItem", {"salesOrderId": order["salesOrderId"]})
    return total_of([row for row in rows if row["status"] != "cancelled"], "netPrice")


def _open_invoices(records: CompanyRecords, customer: Record) -> list[Record]:
    rows = records.rows("billingDocument", {"customerId": customer["customerId"]})
    return [row for row in rows if row.get("clearedOn") is None]


def _days_late(records: CompanyRecords, invoice: Record) -> int:
    return (records.facts.today - date.fromisoformat(invoice["dueDate"])).days


def _overdue(records: CompanyRecords, customer: Record) -> Any:
    late = [row for row in _open_invoices(records, customer) if _days_late(records, row) > 0]
    return total_of(late, "netAmount")


def _ages(records: CompanyRecords, customer: Record) -> Any:
    amounts = {name: 0.0 for _, name in _AGES} | {"over 90": 0.0}
    for row in _open_invoices(records, customer):
        late = _days_late(records, row)
        name = next((name for days, name in _AGES if late <= days), "over 90")
        amounts[name] += row["netAmount"]["amount"]
    return [{"days": name, "amount": round(amount, 2)} for name, amount in amounts.items()]


def _available(_: CompanyRecords, center: Record) -> Any:
    left = center["planned"]["amount"] - center["committed"]["amount"] - center["actual"]["amount"]
    return money(left, center["planned"])


def _balances(records: CompanyRecords, employee: Record) -> Any:
    taken: dict[str, float] = {}
    year = f"{records.facts.today.year}-"
    for request in records.rows("leaveRequestId", {"employeeId": employee["employeeId"], "status": "approved"}):
        if request["startDate"].startswith(year):
            taken[request["leaveTypeId"]] = taken.get(request["leaveTypeId"], 0.0) + request["days"]
    return [
        {
            "leaveTypeId": kind["leaveTypeId"],
            "leaveTypeName": kind["name"],
            "entitledDays": (entitled := _ENTITLED_DAYS.get(kind["leaveTypeId"], 365.0)),
            "takenDays": (days := taken.get(kind["leaveTypeId"], 0.0)),
            "remainingDays": entitled - days,
        }
        for kind in records.rows("leaveTypeId", {})
    ]


COMPUTED: Mapping[str, _Computed] = {
    "salesOrderId.total": _order_total,
    "quoteId.total": lambda _, quote: total_of(quote.get("items", ()), "netPrice"),
    "reportId.total": lambda records, report: total_of(
        records.rows("expenseItemId", {"reportId": report["reportId"]}), "transactionAmount"
    ),
    "materialId.totalUnrestricted": lambda records, material: sum(
        row["unrestrictedQty"] for row in records.rows("stockRow", {"materialId": material["materialId"]})
    ),
    "supplierId.approved": lambda _, supplier: all(step["state"] == "passed" for step in supplier["steps"]),
    "departmentId.headcount": lambda records, department: len(
        [
            row
            for row in records.rows("employeeId", {"departmentId": department["departmentId"]})
            if row["status"] != "left"
        ]
    ),
    "costCenterId.available": _available,
    "customerId.totalOpen": lambda records, customer: total_of(_open_invoices(records, customer), "netAmount"),
    "customerId.exposure": lambda records, customer: total_of(_open_invoices(records, customer), "netAmount"),
    "customerId.openItems": _open_invoices,
    "customerId.overdue": _overdue,
    "customerId.buckets": _ages,
    "employeeId.balances": _balances,
    "employeeId.name": lambda _, employee: f"{employee['firstName']} {employee['lastName']}",
}
"""``kind.field`` → its value, from the record."""
