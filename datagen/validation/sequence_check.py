"""The sequence check: whether the tools of a path follow each other, and each gets what it needs."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.synthetic_request import DEPENDENT_CLASSES, SyntheticRequest
from datagen.validation.answered_conditions import Attributes, asks_attribute
from datagen.validation.asked_object import AskedObjects
from datagen.validation.clause_parser import Clause
from datagen.validation.direction import find_swapped_ends, find_wrong_direction
from datagen.validation.minimality import find_superfluous_tool
from datagen.validation.missing_values import find_missing_value, find_unrecorded_input
from datagen.validation.object_match import ObjectNames
from datagen.validation.parsed_request import ParsedRequest, is_read_request, lemmas_of, parse_request
from datagen.validation.path_fit import PathFit, PathFitter
from datagen.validation.tool_slots import ToolSlots

__all__ = ["find_sequence_fault"]

_ORDERED = frozenset(("after", "before", "once", "when", "as", "afterwards", "having", "with", "the"))
"""First words of cues with which the parts of a request may stand in either order."""


def find_sequence_fault(
    request: SyntheticRequest, fitter: PathFitter, names: ObjectNames, asked: AskedObjects, attributes: Attributes
) -> str:
    """Why the path cannot serve the request; names the tool and its input. Empty when it can.

    :raises NotFoundError: when the catalogue lacks a tool of the path.
    """
    parsed, fit = parse_request(request.text), fitter.fit(request)
    fault = (
        _wrong_order(request, parsed, fit)
        or _disconnected(request, parsed, fit)
        or _missing_input(request, parsed, fit)
        or find_wrong_direction(parsed, fit)
        or find_swapped_ends(parsed, request.values)
        or _unanswered_condition(request, parsed, fit, attributes)
        or find_superfluous_tool(request, parsed, fit)
    )
    if fault:
        return fault
    about = parsed.without_general_questions if request.request_class == "ir-multi-intent" else parsed
    wrong = names.find_wrong_object(about, fit)
    if wrong:
        return f"the request speaks of a {wrong}, and no tool of the path is about one"
    return asked.find_other(about, fit, request.values)


def _wrong_order(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """A tool comes before the tool that supplies its input."""
    if fit.forward_references:
        reference = fit.forward_references[0]
        return f"{reference.slot} is what {fit.tools[reference.position].id} gives, which comes after it"
    if request.request_class not in DEPENDENT_CLASSES:
        return ""
    if _acts_before_it_looks(fit):
        first, last = fit.tools[0].id, fit.tools[-1].id
        if request.request_class == "explicit-multi-step" and _looks_before_it_acts(parsed):
            return f"{first} acts before {last} looks, and the request says the other order"
        if request.request_class == "conditional-multi-step":
            return f"{first} acts before {last} looks whether the condition holds"
    if fault := _said_in_another_order(request, parsed, fit):
        return fault
    if fit.reversed_pairs:
        one, later = (fit.tools[position] for position in fit.reversed_pairs[0])
        return f"{one.id} takes what {later.id} gives, which comes after it"
    return ""


def _said_in_another_order(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """Of two tools that feed each other nothing, the one comes first whose part of the request comes later.

    A condition comes before what depends on it. Where words say "after" or "before" the order of the parts says nothing.
    """
    if request.request_class not in ("explicit-multi-step", "conditional-multi-step"):
        return ""
    if not _ORDERED.isdisjoint(cue.split()[0] for cue in parsed.order_cues):
        return ""
    clauses = [clause for clause in parsed.clauses if clause.kind not in ("statement", "opening")]
    clauses.sort(key=lambda clause: (clause.kind != "condition", clause.start))
    for first, one in enumerate(fit.tools):
        for other in fit.tools[first + 1 :]:
            at_one, at_other = _said_at(one, fit, clauses), _said_at(other, fit, clauses)
            if at_one is not None and at_other is not None and at_one > at_other:
                return f"{one.id} comes before {other.id}, and the request says the other order"
    return ""


def _said_at(tool: ToolSlots, fit: PathFit, clauses: Sequence[Clause]) -> int | None:
    """The only part of the request with words of the name of a tool that no other has; None where there is none."""
    own = tool.name_words.difference(*(other.name_words for other in fit.tools if other is not tool))
    found = [at for at, clause in enumerate(clauses) if own & lemmas_of(clause.text)]
    return found[0] if len(found) == 1 else None


def _acts_before_it_looks(fit: PathFit) -> bool:
    """Whether the first tool changes something and feeds none, and the last one only reads."""
    first, last = fit.tools[0], fit.tools[-1]
    return not first.reads and last.reads and not any(source == 0 for source, _ in fit.fed)


def _looks_before_it_acts(parsed: ParsedRequest) -> bool:
    """Whether the request states a read first and an action last, in this order."""
    wants = parsed.wants
    if len(wants) < 2 or not parsed.order_cues:
        return False
    return is_read_request(wants[0]) and not is_read_request(wants[-1])


def _missing_input(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """A required input is neither stated, nor supplied, nor a default."""
    if fit.missing:
        return f"{fit.missing[0]} is neither said in the request nor given by a tool before it"
    if fit.underspecified:
        return f"{fit.underspecified[0]} has no record of its own in the request"
    slot = find_missing_value(request, parsed, fit) or find_unrecorded_input(request, parsed, fit)
    return f"no value is said for {slot}" if slot is not None else ""


def _disconnected(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """In a class of dependent steps, a tool shares no data with the others, or supplies none of their inputs."""
    if request.request_class not in DEPENDENT_CLASSES:
        return ""
    conditional = request.request_class == "conditional-multi-step"
    mentioned = [
        tool.about_asker or bool(tool.vocabulary & parsed.lemmas) or tool.id in fit.certain_tools for tool in fit.tools
    ]
    apart = sorted({*fit.unrelated, *fit.disconnected})
    if conditional or parsed.dependence_cues or parsed.refers_back:
        apart = [at for at in apart if not mentioned[at]]
    if apart:
        position = next((at for at in apart if not mentioned[at]), apart[0])
        others = ", ".join(other.id for at, other in enumerate(fit.tools) if at != position)
        return f"{fit.tools[position].id} shares no output, input or object with {others}"
    unused = (fit.tools[at].id for at in fit.unused if not mentioned[at] and not fit.tools[at].knowledge)
    tool = "" if conditional else next(unused, "")
    return f"nothing that {tool} gives is what a tool after it takes" if tool else ""


def _unanswered_condition(
    request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit, attributes: Attributes
) -> str:
    """No tool of the path gives what the condition compares, or a list is asked whether it has anything at all.

    Only a generated request records all its values, so only there a filter is known to be left out.
    """
    if request.request_class != "conditional-multi-step":
        return ""
    if fault := attributes.find_unanswered(request, parsed, fit):
        return fault
    filtered = {value.tool for value in request.values} | {slot[0] for slot in fit.supplied | fit.passed}
    tested = [tool for at, tool in enumerate(fit.tools) if tool.reads and at not in fit.ends]
    exists = request.generator and not asks_attribute(parsed)
    if (
        exists
        and tested
        and tested[-1].lists
        and tested[-1].id not in filtered
        and not _names_thing(parsed, tested[-1])
    ):
        return f"that {tested[-1].id} finds something is no condition, as nothing says what is looked for"
    return ""


def _names_thing(parsed: ParsedRequest, tool: ToolSlots) -> bool:
    """Whether a request says a name, and a list documents the names of what it gives, so that the list tells whether it exists."""
    return "name" in tool.attributes and bool(parsed.of_kind("name", "id", "quoted"))
