"""Non-minimal and insufficient paths: unneeded tools, and identifiers that no tool of the path finds."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.cues import refers_back
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.path_fit import PathFit

__all__ = ["find_unneeded_tool", "find_unresolved_name"]

_ONE_FLOW = frozenset(("single-intent", "explicit-multi-step", "implicit-multi-step"))
"""Classes whose tools all serve one intent."""


def find_unneeded_tool(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """Why a tool of the path is not needed, or empty."""
    if len(fit.tools) < 2:
        return ""
    return (
        _looks_up_stated(parsed, fit) or _too_many_ends(request, parsed, fit) or _nothing_asks_for(request, parsed, fit)
    )


def find_unresolved_name(parsed: ParsedRequest, fit: PathFit) -> str:
    """Why an identifier is unknown: it is stated by name or not at all, and no tool of the path finds it; or empty."""
    if not fit.missing:
        return ""
    slot = fit.missing[0]
    names = parsed.of_kind("name")
    how = f"is said by name only ({names[0].text!r})" if names else "is not in the request"
    return f"{slot} {how}, and no tool of the path finds it"


def _looks_up_stated(parsed: ParsedRequest, fit: PathFit) -> str:
    """A tool looks up what the request states."""
    stated = {one.slot.entity: one.value for one in fit.stated}
    for position in fit.ends:
        tool = fit.tools[position]
        required_later = {
            slot.entity
            for later in fit.tools[position + 1 :]
            for slot in later.slots
            if slot.required and slot.kind == "id"
        }
        found = tool.gives - ({slot.entity for slot in tool.slots} - {tool.entity})
        known = sorted(required_later & stated.keys() & found)
        if tool.resolves and not tool.knowledge and known and not _asks_without_identifier(parsed):
            return f"{tool.id} looks up the {known[0]} that the request states as {stated[known[0]]!r}"
    return ""


def _asks_without_identifier(parsed: ParsedRequest) -> bool:
    """Whether a clause is a want without an identifier."""
    wants = [clause for clause in parsed.clauses if clause.kind != "statement"]
    for number, clause in enumerate(wants):
        kinds = {value.kind for value in parsed.within(clause)}
        if "name" in kinds:
            return True
        identified = bool(kinds & {"id", "email"}) or (number > 0 and refers_back(clause.text))
        if not identified and clause.kind != "condition":
            return True
    return False


def _too_many_ends(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """More tools feed no other tool than the request has wants."""
    max_wants = parsed.max_wants
    if request.request_class == "conditional-multi-step":
        max_wants = max(max_wants, len(parsed.wants) + len(parsed.all_condition_cues), 2)
    ends = [at for at in fit.ends if not (fit.tools[at].about_asker and parsed.first_person)]
    if request.request_class == "implicit-multi-step" and not _are_rivals(ends, parsed, fit):
        return ""
    if len(ends) <= max_wants:
        return ""
    spare = min(ends, key=lambda at: (len(fit.tools[at].vocabulary & parsed.lemmas), not fit.tools[at].resolves, at))
    return f"{len(ends)} of its tools feed no other and the request asks for {max_wants}: {fit.tools[spare].id} serves nothing"


def _are_rivals(ends: Sequence[int], parsed: ParsedRequest, fit: PathFit) -> bool:
    """Whether two end tools require the same value, or one is unrelated to the path and to the request.

    The steps of an implicit request may well end in two tools, when what both give is put together.
    """
    required = [
        sorted({slot.entity for slot in fit.tools[at].slots if slot.required and slot.kind == "id"}) for at in ends
    ]
    if any(one and one in required[:number] for number, one in enumerate(required)):
        return True
    return any(at in fit.unrelated and not fit.tools[at].vocabulary & parsed.lemmas for at in ends)


def _nothing_asks_for(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """An unrelated tool that no want of the request needs."""
    listed = any(clause.joined for clause in parsed.clauses)
    may_be_spare = request.request_class in _ONE_FLOW or (len(fit.ends) > parsed.possible_wants and not listed)
    for position in fit.unrelated if may_be_spare else ():
        tool = fit.tools[position]
        named = tool.vocabulary & parsed.lemmas or tool.id in fit.certain_tools
        if not (named or tool.knowledge or tool.about_asker):
            return f"nothing in the request asks for {tool.id}, and no other tool needs it"
    return ""
