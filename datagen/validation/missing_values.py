"""Plain values that nobody says: required dates, numbers and codes of which a request has none left for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.parsed_request import Reading
from datagen.validation.path_fit import Fit
from datagen.validation.slots import Slot
from datagen.validation.stated_values import Stated

__all__ = ["unsaid"]

_SIDE_BY_SIDE = frozenset(("multi-intent", "ir-multi-intent"))
"""Classes in which each tool is told on its own."""
_RANGE = re.compile(
    r"\b\d{1,2}(?:[.:]\d\d)?(?:st|nd|rd|th|\.)?\s*(?:[ap]m\b)?\s*(?:-|–|/|to|till?|until|and|bis)\s*\d{1,2}(?!\d)"
)
_DAY_AND_MONTH = re.compile(r"\b(?:starting|to|until|till|on|from|since|by|dated|for)\s+\d{1,2}\.\d{1,2}\b(?![.,]?\d)")
_PERIOD = re.compile(
    r"\b(?:weeks?|weekends?|months?|quarters?|years?|mornings?|afternoons?|evenings?|nights?|days|hours?|hrs?|minutes?|mins?|h|lunch\w*|whole|all\s+day"
    r"|(?:half|full)[- ](?:a[- ])?day|spring|summer|autumn|winter|fortnight|easter|christmas|q[1-4]|(?:rest|end)\s+of)\b"
)
_HOURS = re.compile(r"(?<![\w-])\d{1,2}(?::\d\d)?-\d{1,2}(?::\d\d)? ?[ap]m\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|to)\s+(?:about\s+)?(?:noon|midnight|\d)")
_OPEN = re.compile(r"\b(?:from|starting|since|beginning|as\s+of|ab)\s+(?:the\s+)?$")
_COMPARED = re.compile(
    r"\b(?:more|less|fewer|greater|higher|lower|better|worse)\s+than\s+$|\b(?:under|over|below|above|beyond|exceeds?|exceeding|at\s+least|at\s+most|up\s+to)\s+$"
)
_COUNTED_OFF = re.compile(
    r"\b(?:line|item|pos|position|step|operation|level|floor|code|version|week|cw|period|severity|priority|room|number|no|nr|top|rev|revision|chapter|section|account|company|"
    r"credit|debit|under|part)s?\.?\s+(?:is\s+)?$"
)
"""What numbers things, in a row or by name, before the number."""
_UNITS = re.compile(r"\s*(?:units|pieces|pcs|pc|copies|people|persons|guests|pax|each|x|km|kilomet\w+|hours)\b")
_ONE = frozenset(("one", "both", "single", "half", "double", "twice", "zero", "couple", "dozen"))
_A_SINGLE = re.compile(
    r"\b(?:just\s+the\s+one|(?:the|an?)\s+(?:\w+est|next|first|same|best|single)\s+one|another|a\s+(?:new|replacement|spare|second|further|fresh)|an\s+extra|one\s+(?:of|more|piece|new|for))\b"
)
_ALL = re.compile(
    r"\b(?:everything|the\s+(?:rest|lot|balance|remainder|difference|whole\s+\w+|full\s+\w+|result|amount|remaining|missing)|what(?:ever)?(?:'s|\s+is)?\s+(?:left|remains|missing|remaining|over)"
    r"|all\s+of\s+(?:it|them)|half|money\s+left)\b"
)
_NUMBERS = ("money", "percent", "number")
_PLACES = frozenset(("plant", "location", "site", "warehouse", "factory", "bin", "airport", "element"))
_CAPITALS = re.compile(r"\b[A-Z]{3,6}\b")
_PARTS = frozenset(("item", "line", "position", "step", "operation"))


def unsaid(request: SyntheticRequest, reading: Reading, found: Fit) -> Slot | None:
    """The first required plain input that has no value in the request, none from an earlier tool and no default."""
    told = {(value.tool, value.parameter) for value in request.values} | found.supplied | found.passed
    open_slots = [
        slot
        for tool in found.tools
        for slot in tool.slots
        if slot.required and (slot.tool, slot.parameter) not in told and "[].[]" not in slot.parameter
    ]
    apart = request.request_class in _SIDE_BY_SIDE
    return (
        _dates([slot for slot in open_slots if slot.kind == "date"], reading, apart=apart)
        or _numbers([slot for slot in open_slots if _measures(slot)], reading, found, apart=apart)
        or _codes([slot for slot in open_slots if slot.kind == "code"], reading, found)
        or _addresses([slot for slot in open_slots if slot.kind == "email"], reading)
    )


def _measures(slot: Slot) -> bool:
    return slot.kind in ("amount", "count") and slot.words[-1:] not in [(word,) for word in _PARTS]


def _by_tool(slots: Sequence[Slot]) -> dict[str, list[Slot]]:
    tools: dict[str, list[Slot]] = {}
    for slot in slots:
        tools.setdefault(slot.tool, []).append(slot)
    return tools


def _dates(slots: Sequence[Slot], reading: Reading, *, apart: bool) -> Slot | None:
    if not slots:
        return None
    said = reading.of_kind("date", "time")
    ranges = [*_RANGE.findall(reading.plain), *_DAY_AND_MONTH.findall(reading.plain), *_HOURS.findall(reading.text)]
    tools = _by_tool(slots)
    if len(said) + len(ranges) < (len(tools) if apart else 1):
        return slots[-1]
    for needed in tools.values():
        ends = [slot for slot in needed if slot.words[-1:] != ("year",)]
        if len(ends) < 2 or ranges or _PERIOD.search(reading.plain) or _UNTIL.search(reading.plain):
            continue
        if ends[0].clock and all(len(reading.of_kind(kind)) < 2 for kind in ("date", "time")):
            return ends[-1]
        if len(said) == 1 and (_OPEN.search(reading.plain[: said[0].start])):
            return ends[-1]
    return None


def _numbers(slots: Sequence[Slot], reading: Reading, found: Fit, *, apart: bool) -> Slot | None:
    """Numbers that are already the value of another input, or number something, do not say how much."""
    if not slots:
        return None
    tools = _by_tool(slots)
    said = len(list(_measured(reading, found)))
    if any(slot.words[-1:] in (("hours",), ("hour",)) for slot in slots):
        said += sum(value.text[:1].isdigit() or "hour" in value.text.lower() for value in reading.of_kind("date"))
    if said < (len(tools) if apart else 1):
        whole = _ALL.search(reading.plain) or (
            any(slot.kind == "count" for slot in slots) and _A_SINGLE.search(reading.plain)
        )
        return None if whole else slots[-1]
    return None


def _measured(reading: Reading, found: Fit) -> Iterator[Stated]:
    taken = {value for _, value in found.stated}
    ranges = [match.span() for match in _RANGE.finditer(reading.plain)]
    tested = [clause for clause in reading.clauses if clause.kind == "condition"]
    for value in reading.of_kind(*_NUMBERS):
        before = reading.plain[max(0, value.start - 30) : value.start]
        if _UNITS.match(reading.plain, value.end):
            yield value
            continue
        if value.kind != "money":
            if value.text in taken or value.text.lower() in _ONE or _COUNTED_OFF.search(before):
                continue
            if any(start <= value.start < end for start, end in ranges) and reading.of_kind("date"):
                continue
        if _COMPARED.search(before) and any(clause.start <= value.start < clause.end for clause in tested):
            continue
        yield value
    for value in reading.of_kind("id"):
        if value.text.isdigit() and value.text not in taken and len(value.text) == 4 and value.text[0] != "0":
            yield value


def _codes(slots: Sequence[Slot], reading: Reading, found: Fit) -> Slot | None:
    stated = {(slot.tool, slot.parameter) for slot, _ in found.stated}
    needed: dict[str, Slot] = {}
    for slot in slots:
        if (slot.tool, slot.parameter) not in stated and not _given_before(slot, found):
            needed.setdefault(slot.entity, slot)
    if not needed:
        return None
    used = {value for _, value in found.stated}
    left = {value.text for value in reading.of_kind("id") if value.text not in used}
    if any(slot.words[-1] in _PLACES for slot in needed.values()):
        left |= {value.text.lower() for value in reading.of_kind("name") if _is_place(value, reading)}
    if any(slot.words[-1] == "code" for slot in needed.values()):
        left |= set(_CAPITALS.findall(reading.text))
        left |= {value.text for value in reading.of_kind("number") if value.text.startswith("0")}
    return next(reversed(needed.values())) if len(left) < len(needed) else None


def _given_before(slot: Slot, found: Fit) -> bool:
    """Whether an output of a tool before it has the name of an input."""
    for tool in found.tools:
        if tool.id == slot.tool:
            return False
        if slot.entity in tool.outputs:
            return True
    return False


def _is_place(name: Stated, reading: Reading) -> bool:
    """Whether a name may be a place's: it has a capital, or stands where places do."""
    before = reading.plain[max(0, name.start - 10) : name.start]
    return (name.text[0].isupper() or _AT.search(before) is not None) and not before.endswith("@")


_AT = re.compile(r"\b(?:in|at|from|to|into|near|via|of|for)\s+(?:the\s+)?$")


def _addresses(slots: Sequence[Slot], reading: Reading) -> Slot | None:
    if not slots or reading.of_kind("email") or reading.people or reading.first_person:
        return None
    return slots[0]
