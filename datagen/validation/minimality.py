"""Tools too many and tools too few: whether a part of the path would do, and whether the path can do it at all."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.cues import refers_back
from datagen.validation.parsed_request import Reading
from datagen.validation.path_fit import Fit
from datagen.validation.sequence_check import said

__all__ = ["needless", "unresolved"]


def needless(request: SyntheticRequest, reading: Reading, found: Fit) -> str:
    """The tool that the request can do without, or empty."""
    if len(found.tools) < 2:
        return ""
    return (
        _looked_up(request, reading, found)
        or _too_many(request, reading, found)
        or _nothing_to_do(request, reading, found)
    )


def _looked_up(request: SyntheticRequest, reading: Reading, found: Fit) -> str:
    """A tool looks up what the request states."""
    ends = found.ends
    filled = {slot.entity: value for slot, value in found.stated}
    for place in ends:
        tool = found.tools[place]
        later = {
            slot.entity
            for other in found.tools[place + 1 :]
            for slot in other.slots
            if slot.required and slot.kind == "id"
        }
        used = {slot.entity for slot in tool.slots} - {tool.entity}
        given = sorted(entity for entity in later & filled.keys() if entity in tool.gives - used)
        if tool.resolves and not tool.knowledge and given and not _asked(reading):
            return f"{tool.id} looks up the {given[0]} that the request states as {filled[given[0]]!r}"
    return ""


def _asked(reading: Reading) -> bool:
    """Whether something is asked for that no identifier in the same words stands for."""
    asked = [clause for clause in reading.clauses if clause.kind != "statement"]
    for number, clause in enumerate(asked):
        within = reading.within(clause)
        if any(value.kind == "name" for value in within):
            return True
        named = any(value.kind in ("id", "email") for value in within) or (number > 0 and refers_back(clause.text))
        if not named and clause.kind != "condition":
            return True
    return False


def _too_many(request: SyntheticRequest, reading: Reading, found: Fit) -> str:
    """More tools end in nothing than things are asked for."""
    asked = reading.most
    if request.request_class == "conditional-multi-step":
        asked = max(asked, len(reading.wants) + len(reading.conditions), 2)
    ends = [place for place in found.ends if not (found.tools[place].own and reading.first_person)]
    if request.request_class == "implicit-multi-step" and not _rivals(found, ends, reading):
        return ""
    if len(ends) <= asked:
        return ""
    spare = min(
        ends,
        key=lambda place: (len(found.tools[place].vocabulary & reading.lemmas), not found.tools[place].resolves, place),
    )
    return f"{len(ends)} of its tools feed no other and the request asks for {asked}: {found.tools[spare].id} serves nothing"


def _rivals(found: Fit, ends: Sequence[int], reading: Reading) -> bool:
    """Whether two ends must be told the same, or one has nothing to do with the path and the request.

    The steps that a request leaves to be inferred may well end in two tools, when what both give is put together.
    """
    tools = [found.tools[place] for place in ends]
    told = [sorted({slot.entity for slot in tool.slots if slot.required and slot.kind == "id"}) for tool in tools]
    strange = any(place in found.apart and not found.tools[place].vocabulary & reading.lemmas for place in ends)
    return strange or any(one and one in told[:at] for at, one in enumerate(told))


def _nothing_to_do(request: SyntheticRequest, reading: Reading, found: Fit) -> str:
    """A tool of another trade that nothing in the request speaks of."""
    for place in found.apart:
        tool = found.tools[place]
        if tool.vocabulary & reading.lemmas or tool.knowledge or tool.own or tool.id in found.named:
            continue
        listed = any(clause.soft for clause in reading.clauses)
        spare = request.request_class in _ONE_FLOW or (len(found.ends) > reading.asked and not listed)
        if spare:
            return f"nothing in the request asks for {tool.id}, and no other tool needs it"
    return ""


_ONE_FLOW = frozenset(("single-intent", "explicit-multi-step", "implicit-multi-step"))


def unresolved(reading: Reading, found: Fit) -> str:
    """An identifier that is said by name only while no tool of the path finds it, or empty."""
    if not found.missing:
        return ""
    slot = found.missing[0]
    named = reading.of_kind("name")
    if named:
        return f"{said(slot)} is said by name only ({named[0].text!r}), and no tool of the path finds it"
    return f"{said(slot)} is not in the request, and no tool of the path finds it"
