"""Calls of sales, procurement and finance that compute, check a rule of the business, or change several records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from services.company.call_rules import CompanyCall, Special, act, create, shown, subject_of
from services.company.computed_fields import COMPUTED, money
from services.company.refusal import conflict, wrong

__all__ = ["TRADE_CALLS"]

_CHANCES = {"lead": 0.1, "qualified": 0.3, "proposal": 0.5, "negotiation": 0.8, "won": 1.0}
_DISCOUNTS = {"key": 12.0, "core": 5.0}


def _price(call: CompanyCall) -> Any:
    product = subject_of(call)
    customer = call.records.store.get("customerId", call.values["customerId"])
    if customer is None:
        raise wrong("customerId", f"there is no customer {call.values['customerId'][:80]!r}")
    discount = _DISCOUNTS.get(customer.get("segment", ""), 0.0)
    net = money(product["listPrice"]["amount"] * (1 - discount / 100), product["listPrice"])
    return shown(call, {**product, "netPrice": net, "discountPercent": discount})


def _availability(call: CompanyCall) -> Any:
    product, today = subject_of(call), call.records.facts.today
    rows = call.records.rows("stockRow", {"materialId": product["materialId"]})
    most = max(rows, key=lambda row: row["unrestrictedQty"], default=None)
    stock = most["unrestrictedQty"] if most else 0
    wanted = call.values["quantity"]
    day = call.values.get("requestedDate") or today.isoformat()
    day = day if stock >= wanted else max(day, (today + timedelta(days=21)).isoformat())
    confirmed = {"confirmedQuantity": min(wanted, stock), "confirmedDate": day}
    return shown(call, {**product, **confirmed, "plant": most["plant"] if most else product["plant"]})


def _forecast(call: CompanyCall) -> Any:
    quarter = call.values["quarter"]
    rows = [
        row
        for row in call.records.rows("opportunityId", {})
        if _quarter(row.get("closeDate")) == quarter and row["stage"] in _CHANCES and "expectedValue" in row
    ]
    stages = {stage: [row["expectedValue"]["amount"] for row in rows if row["stage"] == stage] for stage in _CHANCES}
    total = sum(_CHANCES[stage] * sum(amounts) for stage, amounts in stages.items())
    by_stage = [
        {"stage": name, "count": len(amounts), "amount": round(sum(amounts), 2)} for name, amounts in stages.items()
    ]
    return {"quarter": quarter, "weightedTotal": money(total), "byStage": by_stage}


def _quarter(day: str | None) -> str:
    return f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}" if day else ""


def _convert_quote(call: CompanyCall) -> Any:
    quote = subject_of(call)
    if quote["status"] not in ("accepted", "sent"):
        raise conflict(f"quoteId {quote['quoteId']}: status is {quote['status']}")
    if call.records.rows("salesOrderId", {"quoteId": quote["quoteId"]}):
        raise conflict(f"quoteId {quote['quoteId']}: it was converted before")
    order = create(call, {"quoteId": quote["quoteId"], "customerId": quote["customerId"]})
    for item in quote.get("items", ()):
        given = {name: item[name] for name in ("productId", "quantity", "netPrice") if name in item}
        call.records.create("salesOrderItem", {**given, "salesOrderId": order["salesOrderId"]})
    call.records.change("quoteId", {**quote, "status": "accepted"})
    return shown(call, order)


def _cancel_order(call: CompanyCall) -> Any:
    order = act(call, subject_of(call))
    for item in call.records.rows("salesOrderItem", {"salesOrderId": order["salesOrderId"]}):
        call.records.change("salesOrderItem", {**item, "status": "cancelled"})
    return shown(call, order)


def _award(call: CompanyCall) -> Any:
    rfq = subject_of(call)
    quotation = call.records.store.get("quotationId", call.sent["quotationId"])
    if quotation is None or quotation["rfqId"] != rfq["rfqId"]:
        raise wrong("body.quotationId", f"it is no quotation for {rfq['rfqId']}")
    rfq = act(call, rfq)
    given = {"supplierId": quotation["supplierId"], "value": quotation["totalPrice"], "contractId": None}
    order = call.records.create("purchaseOrder", {**given, "releasedOn": call.records.facts.today.isoformat()})
    rfq |= {"supplierId": quotation["supplierId"], "purchaseOrder": order["purchaseOrder"]}
    call.records.change("rfqId", rfq)
    return shown(call, rfq)


def _post_entry(call: CompanyCall) -> Any:
    lines = call.sent["lines"]
    difference = sum(line.get("debit", 0) for line in lines) - sum(line.get("credit", 0) for line in lines)
    if not lines or abs(difference) > 0.005:
        raise wrong("body.lines", f"debits and credits differ by {difference:.2f}")
    year, month = call.sent["postingDate"][:4], int(call.sent["postingDate"][5:7])
    periods = call.records.rows("postingPeriod", {"fiscalYear": int(year), "period": month})
    if not periods or periods[0]["status"] == "closed":
        raise conflict(f"the period {year}/{month} is not open")
    return shown(call, create(call, {"fiscalYear": int(year)}))


def _reverse_entry(call: CompanyCall) -> Any:
    entry = subject_of(call)
    if entry.get("reversedBy") or entry.get("reverses"):
        raise conflict(f"documentNumber {entry['documentNumber']}: it was reversed, or is a reversal")
    sides = {"debit": "credit", "credit": "debit"}
    lines = [{sides.get(name, name): value for name, value in line.items()} for line in entry["lines"]]
    day = call.sent.get("reversalDate") or call.records.facts.today.isoformat()
    given = {**entry, "lines": lines, "postingDate": day, "reference": f"reversal of {entry['documentNumber']}"}
    given = {name: value for name, value in given.items() if name != "documentNumber"}
    made = call.records.create("documentNumber", {**given, "reverses": entry["documentNumber"]})
    call.records.change("documentNumber", {**entry, "reversedBy": made["documentNumber"]})
    return {"reversalDocumentNumber": made["documentNumber"]}


def _transfer_budget(call: CompanyCall) -> Any:
    amount = call.sent["amount"]["amount"]
    ends = [call.records.store.get("costCenterId", call.sent[name]) for name in ("fromCostCenterId", "toCostCenterId")]
    source, target = (end or {} for end in ends)
    if not source or not target or source == target:
        raise wrong("body", "it must name two cost centers")
    if amount <= 0 or amount > COMPUTED["costCenterId.available"](call.records, source)["amount"]:
        raise conflict(f"costCenterId {source['costCenterId']}: the budget that is left is too small")
    left = []
    for center, change in ((source, -amount), (target, amount)):
        center["planned"] = money(center["planned"]["amount"] + change, center["planned"])
        call.records.change("costCenterId", center)
        left.append(COMPUTED["costCenterId.available"](call.records, center))
    return shown(call, create(call, {"fromAvailable": left[0], "toAvailable": left[1]}))


def _pay(call: CompanyCall) -> Any:
    invoice = call.records.store.get("invoiceId", call.sent["invoiceId"]) or {}
    if invoice and invoice["status"] != "posted":
        raise conflict(f"invoiceId {invoice['invoiceId']}: status is {invoice['status']}")
    return shown(call, create(call))


TRADE_CALLS: Mapping[str, Special] = {
    "getCustomerPrice": _price,
    "checkAvailability": _availability,
    "getSalesForecast": _forecast,
    "convertQuote": _convert_quote,
    "cancelSalesOrder": _cancel_order,
    "awardRfq": _award,
    "postJournalEntry": _post_entry,
    "reverseJournalEntry": _reverse_entry,
    "transferBudget": _transfer_budget,
    "createPayment": _pay,
}
"""Operation → what it does in place of its form's rule."""
