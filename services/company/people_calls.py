"""Calls of HR, travel and facilities that compute, check a rule of the business, or change several records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from services.company.call_rules import CompanyCall, Special, create, found, listed, shown, subject_of
from services.company.computed_fields import COMPUTED, money
from services.company.refusal import conflict, wrong

__all__ = ["PEOPLE_CALLS"]

_OFFERS = 3
_KILOMETRE = 0.30


def _request_leave(call: CompanyCall) -> Any:
    first, last = (date.fromisoformat(call.sent[name]) for name in ("startDate", "endDate"))
    days = (last - first).days + 1
    if days < 1:
        raise wrong("body.endDate", "it is before startDate")
    call.records.check_references(call.sent, call.operation.system, "body")
    employee = call.records.get("employeeId", call.sent["employeeId"])
    balances = COMPUTED["employeeId.balances"](call.records, employee)
    left = next(row["remainingDays"] for row in balances if row["leaveTypeId"] == call.sent["leaveTypeId"])
    if days > left:
        raise conflict(f"employeeId {employee['employeeId']}: {left:g} days are left")
    return shown(call, create(call, {"days": days}))


def _grant_award(call: CompanyCall) -> Any:
    program = call.records.store.get("awardProgramId", call.sent["awardProgramId"])
    low, high = (program[name]["amount"] if program else 0 for name in ("minAmount", "maxAmount"))
    if program and not low <= call.sent["amount"]["amount"] <= high:
        raise wrong("body.amount", f"it must be from {low} to {high}")
    return shown(call, create(call, {"givenBy": {"employeeId": call.records.facts.user}}))


def _offers(call: CompanyCall) -> Any:
    """Offers for any journey: the same search finds the same ones."""
    said = json.dumps(call.values, sort_keys=True, ensure_ascii=True)
    rows = []
    for number in range(_OFFERS):
        digest = hashlib.sha256(f"{call.operation.id} {number} {said}".encode()).hexdigest()
        offer = call.records.store.get("offerId", f"off_{digest[:22]}")
        if offer is None:
            offer = call.records.create("offerId", {"offerId": f"off_{digest[:22]}", **_journey(call, number)})
        rows.append(offer)
    most = call.values.get("maxRate")
    return listed(call, [row for row in rows if most is None or row["price"]["amount"] <= most])


def _journey(call: CompanyCall, number: int) -> dict[str, Any]:
    values = call.values
    if "city" in values:
        nights = (date.fromisoformat(values["checkOut"]) - date.fromisoformat(values["checkIn"])).days
        if nights < 1:
            raise wrong("checkOut", "it must be after checkIn")
        return {"nights": nights, "address": {"street": f"Station Road {number + 1}", "city": values["city"]}}
    ways = [(values["from"], values["to"], values["departOn"])]
    if values.get("returnOn"):
        ways.append((values["to"], values["from"], values["returnOn"]))
    hours = (f"T{7 + 4 * number:02d}:00:00Z", f"T{9 + 4 * number:02d}:00:00Z")
    legs = [
        {
            "flightNumber": f"LH24{number}{at}",
            "from": start,
            "to": end,
            "departs": day + hours[0],
            "arrives": day + hours[1],
        }
        for at, (start, end, day) in enumerate(ways)
    ]
    return {"legs": legs, **({"cabin": values["cabin"]} if values.get("cabin") else {})}


def _book(call: CompanyCall) -> Any:
    offer = call.records.store.get("offerId", call.sent["offerId"]) or {}
    return shown(call, create(call, {"price": offer["price"]} if offer else {}))


def _mileage(call: CompanyCall) -> Any:
    amount = money(call.sent["km"] * _KILOMETRE)
    given = {
        "expenseType": "fuel",
        "transactionAmount": amount,
        "transactionDate": call.records.facts.today.isoformat(),
    }
    call.records.check_references(call.sent, call.operation.system, "body")
    return shown(call, create(call, {**given, "merchant": "private car"}))


def _attach(call: CompanyCall) -> Any:
    item = subject_of(call)
    given = {"receiptId": f"rcpt_{item['expenseItemId']}", "mediaType": call.sent.get("mediaType", "image/jpeg")}
    made = create(call, given)
    call.records.change("expenseItemId", {**item, "receiptId": made["receiptId"]})
    return shown(call, made)


def _free_rooms(call: CompanyCall) -> Any:
    taken = _taken(call, call.values["from"], call.values["to"])
    return listed(call, [row for row in found(call) if row["roomId"] not in taken])


def _taken(call: CompanyCall, start: str, end: str) -> set[str]:
    if start >= end:
        raise wrong("to", "it must be after the beginning")
    bookings = call.records.rows("facilities.bookingId", {})
    return {row["roomId"] for row in bookings if row["startsAt"] < end and start < row["endsAt"]}


def _book_room(call: CompanyCall) -> Any:
    if call.sent["roomId"] in _taken(call, call.sent["startsAt"], call.sent["endsAt"]):
        raise conflict(f"roomId {call.sent['roomId']}: it is booked then")
    return shown(call, create(call))


PEOPLE_CALLS: Mapping[str, Special] = {
    "requestLeave": _request_leave,
    "grantSpotAward": _grant_award,
    "searchFlights": _offers,
    "searchHotels": _offers,
    "bookFlight": _book,
    "bookHotel": _book,
    "claimMileage": _mileage,
    "attachReceipt": _attach,
    "searchRooms": _free_rooms,
    "bookRoom": _book_room,
}
"""Operation → what it does in place of its form's rule."""
