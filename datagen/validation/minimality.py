"""Non-minimal paths: tools that a request neither asks for nor needs, and ends of a path that are more than its wants."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.answered_conditions import condition_texts
from datagen.validation.cues import refers_back
from datagen.validation.parsed_request import ParsedRequest, lemmas_of
from datagen.validation.path_fit import INDEPENDENT_CLASSES, PathFit
from datagen.validation.slots import SlotKey
from datagen.validation.tool_slots import ToolSlots

__all__ = ["find_spare_end", "find_superfluous_tool"]

_CONDITIONAL = "conditional-multi-step"


def find_superfluous_tool(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """Why a tool that only reads is not needed, or empty.

    It takes nothing from another tool, gives none anything but what the request states, and nothing asks for it. Where no values
    are recorded, more is asked: by its document it shares nothing with the path, and the tools are more than the wants. Found on the
    first two sets of requests with planted faults and on faults planted into requests of the shipped company: of the
    215 right requests of the sets none has such a tool, of the 1,026 of the shipped benchmark 4 have.
    """
    recorded = bool(request.values or request.generator)
    stated = {(value.tool, value.parameter) for value in request.values}
    stated |= set() if recorded else {one.slot.key for one in fit.stated}
    taking = {target for _, target, _ in fit.links}
    for position, tool in enumerate(fit.tools):
        given = [(fit.tools[target].id, parameter) for source, target, parameter in fit.links if source == position]
        if not _may_be_superfluous(position, request, parsed, fit):
            continue
        known, takes, spare = stated.issuperset(given), position in taking, len(fit.tools) > _max_steps(parsed)
        if given and known and not takes and not _is_asked(tool, request, parsed, fit):
            return f"{tool.id} looks up only what the request states"
        idle = _reads_again(position, fit) if takes else bool(given) and _is_replaced(position, stated, fit)
        if spare and idle and request.request_class not in INDEPENDENT_CLASSES:
            if not _is_named(tool, parsed, fit, if_nothing_own=False):
                return f"nothing in the request asks for {tool.id}, and no other tool needs what it gives"
        if takes or not known:
            continue
        apart = all(position not in ends for ends in fit.fed)
        if not recorded and not (apart and _are_too_many(parsed, fit)):
            continue
        if not given and _reads_what_is_acted_on(position, request, parsed, fit):
            return f"{tool.id} reads what another tool acts on, and the request asks for {parsed.max_wants}"
        if not given and not _is_named(tool, parsed, fit, if_nothing_own=True):
            return f"nothing in the request asks for {tool.id}, and no other tool requires what it gives"
    return ""


def _is_replaced(position: int, stated: Collection[SlotKey], fit: PathFit) -> bool:
    """Whether all that a tool gives is stated, optional, or given by an earlier tool as well."""
    required = {slot.key for tool in fit.tools for slot in tool.slots if slot.required}
    for source, target, parameter in fit.links:
        key = fit.tools[target].id, parameter
        earlier = any((one, target, parameter) in fit.links for one in range(position))
        if source == position and key in required and key not in stated and not earlier:
            return False
    return True


def _reads_again(position: int, fit: PathFit) -> bool:
    """Whether a tool gives no other anything, and only reads the record that a tool before it has found."""
    sources = [source for source, target, _ in fit.links if target == position]
    gives = any(source == position for source, _, _ in fit.links)
    return not gives and all(fit.tools[source].entity == fit.tools[position].entity for source in sources)


def find_spare_end(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """Why more tools feed no other tool than the request has wants, or empty."""
    max_wants = parsed.max_wants
    if request.request_class == _CONDITIONAL:
        max_wants = max(max_wants, len(parsed.wants) + len(parsed.all_condition_cues), 2)
    ends = [at for at in fit.ends if not (fit.tools[at].about_asker and parsed.first_person)]
    if request.request_class == "implicit-multi-step" and not _are_rivals(ends, parsed, fit):
        return ""
    if len(fit.tools) < 2 or len(ends) <= max_wants:
        return ""
    taking = {target for _, target in fit.fed} if request.request_class in INDEPENDENT_CLASSES else set()
    idle = [at for at in ends if at not in taking and not _has_own_value(fit.tools[at], request)]
    if not idle:
        return ""
    spare = min(idle, key=lambda at: (len(fit.tools[at].vocabulary & parsed.lemmas), not fit.tools[at].resolves, at))
    return f"more of its tools feed no other than the {max_wants} that the request asks for: {fit.tools[spare].id} serves nothing"


def _may_be_superfluous(position: int, request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> bool:
    """Whether a tool is a look-up beside another tool: not the goal, not the only one that a condition can be on."""
    tool, last = fit.tools[position], len(fit.tools) - 1
    if last == 0 or not tool.reads or tool.knowledge or (tool.about_asker and parsed.first_person):
        return False
    if position == last and position not in fit.unrelated and request.request_class not in INDEPENDENT_CLASSES:
        return False
    if request.request_class == _CONDITIONAL:
        if not any(other.reads for at, other in enumerate(fit.tools[:last]) if at != position):
            return False
        if _tests_condition(tool, [other for other in fit.tools if other is not tool], parsed):
            return False
    if request.request_class in INDEPENDENT_CLASSES and _has_value(tool, request) and not _are_too_many(parsed, fit):
        return False
    return not _has_own_value(tool, request)


def _tests_condition(tool: ToolSlots, others: Sequence[ToolSlots], parsed: ParsedRequest) -> bool:
    """Whether a condition has a word that one tool is about or gives, and no other one."""
    told = tool.vocabulary | tool.attributes
    own = told.difference(*(other.vocabulary | other.attributes for other in others))
    return any(not own.isdisjoint(lemmas_of(text)) for text in condition_texts(parsed, measured=False))


def _has_value(tool: ToolSlots, request: SyntheticRequest) -> bool:
    return any(value.tool == tool.id for value in request.values)


def _has_own_value(tool: ToolSlots, request: SyntheticRequest) -> bool:
    """Whether the request states something for a tool and for no other."""
    others = {value.value for value in request.values if value.tool != tool.id}
    return any(value.tool == tool.id and value.value not in others for value in request.values)


def _are_too_many(parsed: ParsedRequest, fit: PathFit) -> bool:
    return len(fit.tools) > parsed.max_wants


def _max_steps(parsed: ParsedRequest) -> int:
    """The number of tools that the wants and conditions of a request may need, each one."""
    return parsed.max_wants + len(parsed.all_condition_cues)


def _is_asked(tool: ToolSlots, request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> bool:
    """Whether a look-up of what is stated may be a want of its own."""
    if _are_too_many(parsed, fit) or not (_has_value(tool, request) or _asks_without_identifier(parsed)):
        return False
    return _is_named(tool, parsed, fit, if_nothing_own=False)


def _asks_without_identifier(parsed: ParsedRequest) -> bool:
    """Whether a part of the request that is no condition names something or states no identifier."""
    for number, clause in enumerate(clause for clause in parsed.clauses if clause.kind != "statement"):
        kinds = {value.kind for value in parsed.within(clause)}
        identified = bool(kinds & {"id", "email"}) or (number > 0 and refers_back(clause.text))
        if "name" in kinds or not (identified or clause.kind == "condition"):
            return True
    return False


def _is_named(tool: ToolSlots, parsed: ParsedRequest, fit: PathFit, *, if_nothing_own: bool) -> bool:
    """Whether a word of the tool is said that no other tool of the path has, or a value that only it can take.

    :param if_nothing_own: the answer for a tool that has no such word.
    """
    others = frozenset().union(*(other.vocabulary for other in fit.tools if other is not tool))
    own = tool.vocabulary - others
    reading = {other.id for other in fit.tools if other.reads and other is not tool}
    mine = {one.value for one in fit.stated if one.slot.tool == tool.id}
    theirs = {one.value for one in fit.stated if one.slot.tool in reading}
    if tool.id in fit.certain_tools and not mine <= theirs:
        return True
    return not own.isdisjoint(parsed.lemmas) if own else if_nothing_own


def _reads_what_is_acted_on(position: int, request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> bool:
    """Whether a tool reads the very thing that a later one acts on, feeds nothing, and is more than the wants."""
    if not _are_too_many(parsed, fit) or position in fit.needed:
        return False
    acting = {tool.id for tool in fit.tools[position + 1 :] if not tool.reads}
    acted_on = {value.value for value in request.values if value.tool in acting}
    return any(value.tool == fit.tools[position].id and value.value in acted_on for value in request.values)


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
