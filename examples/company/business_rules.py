"""What is by hand: leave that is left, rooms that are free and stock that is there; and what follows from other records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Any

from examples.company.api_documents import conflict, wrong
from examples.company.calls import CompanyCall, Computed, create, found, listed, shown, subject_of
from examples.company.records import CompanyRecords, Record, facts

_ENTITLED_DAYS = {"ANNUAL": 30.0}
_AGES = ((0, "not due"), (30, "1-30"), (90, "31-90"), (10**6, "over 90"))
_CHANCES = {"lead": 0.1, "qualified": 0.3, "proposal": 0.5, "negotiation": 0.8, "won": 1.0}
_DISCOUNTS = {"key": 12.0, "core": 5.0}
_KILOMETRE = 0.30


def _money(amount: float, like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"amount": round(amount, 2), "currency": (like or {}).get("currency", "EUR")}


def _total(rows: Iterable[Mapping[str, Any]], field: str) -> dict[str, Any]:
    amounts = [row[field] for row in rows if field in row]
    return _money(sum(amount["amount"] for amount in amounts), amounts[0] if amounts else None)


def _open_invoices(records: CompanyRecords, customer: Record) -> list[Record]:
    return records.rows("billingDocument", customerId=customer["customerId"], clearedOn=None)


def _days_late(invoice: Record) -> int:
    late: timedelta = facts()["today"] - date.fromisoformat(invoice["dueDate"])
    return late.days


def _ages(records: CompanyRecords, customer: Record) -> Any:
    amounts = {name: 0.0 for _, name in _AGES}
    for row in _open_invoices(records, customer):
        amounts[next(name for days, name in _AGES if _days_late(row) <= days)] += row["netAmount"]["amount"]
    return [{"days": name, "amount": round(amount, 2)} for name, amount in amounts.items()]


def _balances(records: CompanyRecords, employee: Record) -> list[dict[str, Any]]:
    taken: dict[str, float] = {}
    for request in records.rows("leaveRequestId", employeeId=employee["employeeId"], status="approved"):
        if request["startDate"][:4] == str(facts()["today"].year):
            taken[request["leaveTypeId"]] = taken.get(request["leaveTypeId"], 0.0) + request["days"]
    return [
        {
            "leaveTypeId": kind["leaveTypeId"],
            "leaveTypeName": kind["name"],
            "entitledDays": (entitled := _ENTITLED_DAYS.get(kind["leaveTypeId"], 365.0)),
            "takenDays": (days := taken.get(kind["leaveTypeId"], 0.0)),
            "remainingDays": entitled - days,
        }
        for kind in records.rows("leaveTypeId")
    ]


COMPUTED: Mapping[str, Computed] = {
    "salesOrderId.total": lambda records, order: _total(
        [
            row
            for row in records.rows("salesOrderItem", salesOrderId=order["salesOrderId"])
            if row["status"] != "cancelled"
        ],
        "netPrice",
    ),
    "quoteId.total": lambda _, quote: _total(quote.get("items", ()), "netPrice"),
    "reportId.total": lambda records, report: _total(
        records.rows("expenseItemId", reportId=report["reportId"]), "transactionAmount"
    ),
    "materialId.totalUnrestricted": lambda records, material: sum(
        row["unrestrictedQty"] for row in records.rows("stockRow", materialId=material["materialId"])
    ),
    "supplierId.approved": lambda _, supplier: all(step["state"] == "passed" for step in supplier["steps"]),
    "departmentId.headcount": lambda records, department: sum(
        row["status"] != "left" for row in records.rows("employeeId", departmentId=department["departmentId"])
    ),
    "costCenterId.available": lambda _, center: _money(
        center["planned"]["amount"] - center["committed"]["amount"] - center["actual"]["amount"], center["planned"]
    ),
    "customerId.totalOpen": lambda records, customer: _total(_open_invoices(records, customer), "netAmount"),
    "customerId.exposure": lambda records, customer: _total(_open_invoices(records, customer), "netAmount"),
    "customerId.openItems": _open_invoices,
    "customerId.overdue": lambda records, customer: _total(
        [row for row in _open_invoices(records, customer) if _days_late(row) > 0], "netAmount"
    ),
    "customerId.buckets": _ages,
    "employeeId.balances": _balances,
    "employeeId.name": lambda _, employee: f"{employee['firstName']} {employee['lastName']}",
}
"""``kind.field`` → its value, from the record; these are never stored."""


def _price(call: CompanyCall) -> Any:
    product, customer = subject_of(call), call.records.find("customerId", call.values["customerId"])
    if customer is None:
        raise wrong("customerId", f"there is no customer {call.values['customerId'][:80]!r}")
    discount = _DISCOUNTS.get(customer.get("segment", ""), 0.0)
    net = _money(product["listPrice"]["amount"] * (1 - discount / 100), product["listPrice"])
    return shown(call, {**product, "netPrice": net, "discountPercent": discount})


def _availability(call: CompanyCall) -> Any:
    product, today, wanted = subject_of(call), facts()["today"], call.values["quantity"]
    rows = call.records.rows("stockRow", materialId=product["materialId"])
    most = max(rows, key=lambda row: row["unrestrictedQty"], default={"unrestrictedQty": 0, "plant": product["plant"]})
    day, stock = call.values.get("requestedDate") or today.isoformat(), most["unrestrictedQty"]
    day = day if stock >= wanted else max(day, (today + timedelta(days=21)).isoformat())
    confirmed = {"confirmedQuantity": min(wanted, stock), "confirmedDate": day, "plant": most["plant"]}
    return shown(call, {**product, **confirmed})


def _offers(call: CompanyCall) -> Any:
    """Offers for any journey: the same search finds the same ones."""
    said = json.dumps(call.values, sort_keys=True, ensure_ascii=True)
    rows = []
    for number in range(3):
        digest = hashlib.sha256(f"{call.operation.id} {number} {said}".encode()).hexdigest()
        key, price = f"off_{digest[:22]}", _money(60 + int(digest[:6], 16) % 42_000 / 100)
        made = {"offerId": key, "price": price, **_journey(call.values, number)}
        rows.append(call.records.find("offerId", key) or call.records.create("offerId", made))
    most = call.values.get("maxRate")
    return listed(call, [row for row in rows if most is None or row["price"]["amount"] <= most])


def _journey(values: Mapping[str, Any], number: int) -> dict[str, Any]:
    if "city" in values:
        nights = (date.fromisoformat(values["checkOut"]) - date.fromisoformat(values["checkIn"])).days
        if nights < 1:
            raise wrong("checkOut", "it must be after checkIn")
        address = {"street": f"Station Road {number + 1}", "city": values["city"]}
        return {"nights": nights, "address": address, "hotelName": f"Station Hotel {number + 1}", "breakfast": True}
    ways = [(values["from"], values["to"], values["departOn"])]
    ways += [(values["to"], values["from"], values["returnOn"])] if values.get("returnOn") else []
    hours = {"departs": f"T{7 + 4 * number:02d}:00:00Z", "arrives": f"T{9 + 4 * number:02d}:00:00Z"}
    legs = [
        {"flightNumber": f"LH24{number}{at}", "from": start, "to": end, **{name: day + hours[name] for name in hours}}
        for at, (start, end, day) in enumerate(ways)
    ]
    return {"legs": legs, **({"cabin": values["cabin"]} if values.get("cabin") else {})}


def _request_leave(call: CompanyCall) -> Any:
    first, last = (date.fromisoformat(call.sent[name]) for name in ("startDate", "endDate"))
    days = (last - first).days + 1
    if days < 1:
        raise wrong("body.endDate", "it is before startDate")
    call.records.check_references(call.sent, call.operation.system, "body")
    employee = call.records.get("employeeId", call.sent["employeeId"])
    balances = {row["leaveTypeId"]: row["remainingDays"] for row in _balances(call.records, employee)}
    left = balances[call.sent["leaveTypeId"]]
    if days > left:
        raise conflict(f"employeeId {employee['employeeId']}: {left:g} days are left")
    return shown(call, create(call, {"days": days}))


def _taken(call: CompanyCall, start: str, end: str) -> set[str]:
    if start >= end:
        raise wrong("to", "it must be after the beginning")
    bookings = call.records.rows("facilities.bookingId")
    return {row["roomId"] for row in bookings if row["startsAt"] < end and start < row["endsAt"]}


def _free_rooms(call: CompanyCall) -> Any:
    taken = _taken(call, call.values["from"], call.values["to"])
    return listed(call, [row for row in found(call) if row["roomId"] not in taken])


def _book_room(call: CompanyCall) -> Any:
    if call.sent["roomId"] in _taken(call, call.sent["startsAt"], call.sent["endsAt"]):
        raise conflict(f"roomId {call.sent['roomId']}: it is booked then")
    return shown(call, create(call))


def _move_stock(call: CompanyCall, *changes: tuple[str, str, float]) -> Any:
    """Change quantities of a material, each (plant, field, difference), and write the document of it."""
    call.records.check_references(call.sent, call.operation.system, "body")
    material = call.sent["materialId"]
    for plant, field, difference in changes:
        rows = call.records.rows("stockRow", materialId=material, plant=plant)
        rows = [row for row in rows if row[field] >= -difference]
        if not rows and difference < 0:
            raise conflict(f"materialId {material}: there is too little in {plant}")
        empty = {"unrestrictedQty": 0, "blockedQty": 0, "qualityQty": 0}
        row = rows[0] if rows else call.records.create("stockRow", {"materialId": material, "plant": plant, **empty})
        call.records.change("stockRow", row, **{field: row[field] + difference})
    return shown(call, create(call))


def _transfer_stock(call: CompanyCall) -> Any:
    if call.sent["qty"] <= 0:
        raise wrong("body.qty", "it must be more than 0")
    ends = ((call.sent["fromPlant"], -call.sent["qty"]), (call.sent["toPlant"], call.sent["qty"]))
    return _move_stock(call, *((plant, "unrestrictedQty", change) for plant, change in ends))


def _block_stock(call: CompanyCall) -> Any:
    plant, sign = call.sent["plant"], 1 if call.sent["action"] == "block" else -1
    quantity = sign * call.sent.get("qty", 0)
    return _move_stock(call, (plant, "unrestrictedQty", -quantity), (plant, "blockedQty", quantity))


def _forecast(call: CompanyCall) -> Any:
    quarter, amounts = call.values["quarter"], {stage: list[float]() for stage in _CHANCES}
    for row in call.records.rows("opportunityId"):
        day = row.get("closeDate")
        in_quarter = day and f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}" == quarter
        if in_quarter and row["stage"] in _CHANCES and "expectedValue" in row:
            amounts[row["stage"]].append(row["expectedValue"]["amount"])
    total = sum(_CHANCES[stage] * sum(each) for stage, each in amounts.items())
    stages = [{"stage": name, "count": len(each), "amount": round(sum(each), 2)} for name, each in amounts.items()]
    return {"quarter": quarter, "weightedTotal": _money(total), "byStage": stages}


def _mileage(call: CompanyCall) -> Any:
    today = facts()["today"].isoformat()
    amount = _money(call.sent["km"] * _KILOMETRE)
    return shown(call, create(call, {"transactionAmount": amount, "transactionDate": today}))


SPECIAL: Mapping[str, Callable[[CompanyCall], Any]] = {
    "getCustomerPrice": _price,
    "checkAvailability": _availability,
    "getSalesForecast": _forecast,
    "searchFlights": _offers,
    "searchHotels": _offers,
    "requestLeave": _request_leave,
    "searchRooms": _free_rooms,
    "bookRoom": _book_room,
    "transferStock": _transfer_stock,
    "adjustStock": lambda call: _move_stock(call, (call.sent["plant"], "unrestrictedQty", call.sent["qtyDifference"])),
    "blockStock": _block_stock,
    "claimMileage": _mileage,
}
"""Operation → what it does in place of its form's rule, which returns the body of its answer."""
