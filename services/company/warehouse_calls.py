"""Calls of the warehouse that change several records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.company.call_rules import CompanyCall, Special, act, create, listed, shown, subject_of
from services.company.refusal import conflict, wrong

__all__ = ["WAREHOUSE_CALLS"]


def _move_stock(call: CompanyCall, changes: Mapping[str, tuple[str, float]]) -> Any:
    """Change quantities of a material, plant → (field, difference), and write the document of it."""
    call.records.check_references(call.sent, call.operation.system, "body")
    for plant, (field, difference) in changes.items():
        rows = call.records.rows("stockRow", {"materialId": call.sent["materialId"], "plant": plant})
        if difference < 0:
            rows = [row for row in rows if row[field] >= -difference][:1]
            if not rows:
                raise conflict(f"materialId {call.sent['materialId']}: there is too little in {plant}")
        row = rows[0] if rows else None
        if row is None:
            given = {
                "materialId": call.sent["materialId"],
                "plant": plant,
                "unrestrictedQty": 0,
                "blockedQty": 0,
                "qualityQty": 0,
            }
            row = call.records.create("stockRow", given)
        call.records.change("stockRow", {**row, field: row[field] + difference})
    return shown(call, create(call))


def _transfer_stock(call: CompanyCall) -> Any:
    amount, source, target = (call.sent[name] for name in ("qty", "fromPlant", "toPlant"))
    if amount <= 0:
        raise wrong("body.qty", "it must be more than 0")
    changes = {} if source == target else {source: ("unrestrictedQty", -amount), target: ("unrestrictedQty", amount)}
    return _move_stock(call, changes)


def _block_stock(call: CompanyCall) -> Any:
    fields = ("unrestrictedQty", "blockedQty")
    source, target = fields if call.sent["action"] == "block" else fields[::-1]
    rows = call.records.rows("stockRow", {"materialId": call.sent["materialId"], "plant": call.sent["plant"]})
    rows = [row for row in rows if call.sent.get("batch") in (None, row["batch"])]
    left = call.sent.get("qty", sum(row[source] for row in rows))
    if left < 0 or left > sum(row[source] for row in rows):
        raise conflict(f"materialId {call.sent['materialId']}: there is too little in {call.sent['plant']}")
    for row in rows:
        moved = min(left, row[source])
        left -= moved
        call.records.change("stockRow", {**row, source: row[source] - moved, target: row[target] + moved})
    return shown(call, create(call))


def _deliver(call: CompanyCall) -> Any:
    call.records.check_references(call.sent, call.operation.system, "body")
    order = call.records.get("salesOrderId", call.sent["salesOrderId"])
    wanted = call.sent.get("salesOrderItems")
    items = [
        {
            "salesOrderItem": row["salesOrderItem"],
            "materialId": call.records.field(call.records.kinds.by_name["productId"], row["productId"], "materialId"),
            "qty": row["quantity"],
            "pickedQty": 0,
        }
        for row in call.records.rows("salesOrderItem", {"salesOrderId": order["salesOrderId"]})
        if wanted is None or row["salesOrderItem"] in wanted
    ]
    if len(items) < len(set(wanted or ())):
        raise wrong("body.salesOrderItems", "the order does not have all of them")
    return shown(call, create(call, {"items": items}))


def _pick(call: CompanyCall) -> Any:
    delivery = subject_of(call)
    picked = {pick.get("salesOrderItem"): pick.get("pickedQty", 0) for pick in call.sent.get("picks", ())}
    items = [{**row, "pickedQty": picked.get(row["salesOrderItem"], row["pickedQty"])} for row in delivery["items"]]
    return shown(call, act(call, {**delivery, "items": items}))


def _issue_goods(call: CompanyCall) -> Any:
    delivery = subject_of(call)
    act(call, delivery)
    call.records.change("outboundDeliveryId", {**delivery, "status": "issued"})
    return shown(call, create(call))


def _count(call: CompanyCall) -> Any:
    rows = call.records.rows("stockRow", {"plant": call.sent["plant"]})
    for member, field in (("bins", "bin"), ("materialIds", "materialId")):
        wanted = call.sent.get(member)
        rows = rows if wanted is None else [row for row in rows if row[field] in wanted]
    made = []
    for row in rows:
        given = {name: row[name] for name in ("plant", "bin", "materialId")}
        made.append(call.records.create("countId", {**given, "bookQty": row["unrestrictedQty"], "countedQty": 0}))
    return listed(call, made)


WAREHOUSE_CALLS: Mapping[str, Special] = {
    "transferStock": _transfer_stock,
    "adjustStock": lambda call: _move_stock(
        call, {call.sent["plant"]: ("unrestrictedQty", call.sent["qtyDifference"])}
    ),
    "blockStock": _block_stock,
    "createOutboundDelivery": _deliver,
    "confirmPicking": _pick,
    "postGoodsIssue": _issue_goods,
    "openCycleCount": _count,
}
"""Operation → what it does in place of its form's rule."""
