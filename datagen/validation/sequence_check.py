"""The sequence check: whether the tools of a path follow each other, and each gets what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from datagen.synthetic_request import SyntheticRequest, Verdict
from datagen.validation.missing_values import unsaid
from datagen.validation.object_match import Objects
from datagen.validation.parsed_request import Reading, looks, read
from datagen.validation.path_fit import Fit, Fitter
from datagen.validation.slots import Slot

__all__ = ["SequenceCheck", "said"]

_DEPENDENT = frozenset(("explicit-multi-step", "implicit-multi-step", "conditional-multi-step"))


@dataclass(frozen=True, kw_only=True)
class SequenceCheck:
    """Validates the logical sequence by rules."""

    fitter: Fitter
    name: str = "rules.v1"
    check: str = "sequence"

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The verdict; what it fails for names the tool and its input."""
        reading, found = read(request.text), self.fitter.fit(request)
        fault = (
            _order(request, found)
            or _together(request, reading, found)
            or _inputs(request, reading, found)
            or self._objects_of(reading, found)
        )
        reason = fault or "each tool gets what it needs from the request, from a tool before it or by default"
        return Verdict(check=self.check, passed=not fault, reason=reason, by=self.name)

    def _objects_of(self, reading: Reading, found: Fit) -> str:
        """The request names one thing and the path works on another of its kind."""
        named = self._objects.mistaken(reading, found)
        return f"the request speaks of a {named}, and no tool of the path is about one" if named else ""

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self.fitter.all_tools())


def said(slot: Slot) -> str:
    """An input in words."""
    return f"{slot.parameter!r} of {slot.tool}"


def _order(request: SyntheticRequest, found: Fit) -> str:
    """A tool comes before the one that gives what it needs."""
    if found.late:
        slot, place = found.late[0]
        return f"{said(slot)} is what {found.tools[place].id} gives, which comes after it"
    if request.request_class not in _DEPENDENT:
        return ""
    if request.request_class == "explicit-multi-step" and (fault := _against_words(read(request.text), found)):
        return fault
    if request.request_class == "conditional-multi-step" and len(found.tools) > 1:
        writes = [place for place, tool in enumerate(found.tools) if not tool.reads]
        last = len(found.tools) - 1
        if writes and writes[0] == 0 and found.tools[last].reads and not any(source == 0 for source, _ in found.fed):
            return f"{found.tools[0].id} acts before {found.tools[last].id} looks whether the condition holds"
    if found.backward:
        first, later = (found.tools[place] for place in found.backward[0])
        return f"{first.id} takes what {later.id} gives, which comes after it"
    return ""


def _against_words(reading: Reading, found: Fit) -> str:
    """What is to be looked at first and done last comes the other way round in the path."""
    wants = reading.wants
    if len(wants) < 2 or len(found.tools) < 2 or not reading.sequence:
        return ""
    first, last = found.tools[0], found.tools[-1]
    if (
        looks(wants[0])
        and not looks(wants[-1])
        and not first.reads
        and last.reads
        and not any(at == 0 for at, _ in found.fed)
    ):
        return f"{first.id} acts before {last.id} looks, and the request says the other order"
    return ""


def _inputs(request: SyntheticRequest, reading: Reading, found: Fit) -> str:
    """A required input is neither said, nor supplied, nor a default."""
    if found.missing:
        return f"{said(found.missing[0])} is neither said in the request nor given by a tool before it"
    if found.once:
        return f"{said(found.once[0])} has no record of its own in the request"
    slot = unsaid(request, reading, found)
    return f"no value is said for {said(slot)}" if slot is not None else ""


def _together(request: SyntheticRequest, reading: Reading, found: Fit) -> str:
    """In a class of dependent steps, a tool has nothing to do with the others."""
    if request.request_class not in _DEPENDENT:
        return ""
    strange = sorted({*found.apart, *found.strangers})
    spoken = [tool.own or bool(tool.vocabulary & reading.lemmas) or tool.id in found.named for tool in found.tools]
    if request.request_class == "conditional-multi-step" or reading.dependence or reading.refers_back:
        strange = [at for at in strange if not spoken[at]]
    if not strange:
        return _leads_nowhere(request, found, spoken)
    place = next((at for at in strange if not spoken[at]), strange[0])
    others = ", ".join(other.id for at, other in enumerate(found.tools) if at != place)
    return f"{found.tools[place].id} shares no output, input or object with {others}"


def _leads_nowhere(request: SyntheticRequest, found: Fit, spoken: list[bool]) -> str:
    """A step that nobody speaks of gives nothing that another step takes."""
    if request.request_class == "conditional-multi-step":
        return ""
    place = next((at for at in found.idle if not spoken[at] and not found.tools[at].knowledge), None)
    return "" if place is None else f"nothing that {found.tools[place].id} gives is what a tool after it takes"
