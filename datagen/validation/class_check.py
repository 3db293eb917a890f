"""The class check: whether a request is of the class that its label says, by its cues and by its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from datagen.patterns import load_patterns
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.clause_parser import Clause
from datagen.validation.parsed_request import ParsedRequest, parse_request
from datagen.validation.path_fit import PathFit, PathFitter

__all__ = ["find_class_fault"]

_DERIVED = load_patterns("validation/cues")["derived"]
_MAX_IMPLICIT_TOOLS = 2  # of the path of a request with one intent


def find_class_fault(request: SyntheticRequest, fitter: PathFitter) -> str:
    """Why a request is not of its class; names the cue and the class that it looks like. Empty when it is.

    :raises NotFoundError: when the catalogue lacks a tool of the path.
    """
    rule = _RULES.get(request.request_class)
    if rule is None:
        return f"{request.request_class or 'an empty label'} is none of the six classes"
    return rule(parse_request(request.text), fitter.fit(request))


def _condition(parsed: ParsedRequest) -> str:
    cues = parsed.condition_cues
    return f"{cues[0]!r} states a condition, as in conditional-multi-step" if cues else ""


def _order(parsed: ParsedRequest) -> str:
    cues = parsed.order_cues
    return f"{cues[0]!r} says an order, as in explicit-multi-step" if cues else ""


def _one_tool(fit: PathFit) -> str:
    return "" if len(fit.tools) > 1 else "its path has one tool, as in single-intent"


def _has_knowledge(fit: PathFit) -> bool:
    return any(tool.knowledge for tool in fit.tools)


def _single_fault(parsed: ParsedRequest, fit: PathFit) -> str:
    if fault := _condition(parsed) or _order(parsed):
        return fault
    if parsed.min_asked > 1:
        return f"it asks for {parsed.min_asked} things, as in multi-intent"
    if len(fit.tools) > _MAX_IMPLICIT_TOOLS:
        return f"its path has {len(fit.tools)} tools, as in implicit-multi-step"
    if len(fit.tools) == 2 and fit.unrelated:
        return "its two tools have nothing to do with each other, as in multi-intent"
    if len(fit.tools) == 2 and not all(tool.reads for tool in fit.tools) and not fit.fed:
        return "its two tools each do something, as in multi-intent"
    return ""


def _multi_fault(parsed: ParsedRequest, fit: PathFit) -> str:
    if fault := _condition(parsed) or _order(parsed):
        return fault
    if parsed.max_wants < 2:
        return "it asks for one thing, as in single-intent or implicit-multi-step"
    if fault := _one_tool(fit):
        return fault
    if len(fit.not_needed) < 2:
        return "each of its tools feeds the next, as in a multi-step class"
    wants = [clause for clause in parsed.clauses if clause.kind not in ("statement", "opening")]
    if _has_knowledge(fit) and any(parsed.is_general(clause, strictly=True) for clause in wants):
        return "one of its questions is of general knowledge, as in ir-multi-intent"
    derived = next(filter(_DERIVED.match, parsed.dependence_cues), "")
    if derived and parsed.min_asked > 1:
        return f"{derived!r} makes one of them from the other, as in explicit-multi-step"
    return ""


def _explicit_fault(parsed: ParsedRequest, fit: PathFit) -> str:
    if fault := _condition(parsed) or _one_tool(fit):
        return fault
    questions = [clause for clause in parsed.clauses if clause.kind == "question"]
    if _has_knowledge(fit) and any(parsed.is_general(clause, strictly=True) for clause in questions):
        return "one of its questions is of general knowledge, as in ir-multi-intent"
    if parsed.order_cues or parsed.dependence_cues:
        return ""
    if parsed.max_wants < 2:
        return "it says one step only, as in implicit-multi-step"
    if fit.unrelated and not fit.fed:
        return "its tools have nothing to do with each other, as in multi-intent"
    if parsed.refers_back and (fit.fed or fit.shares_value):
        return ""
    return "nothing says that one step depends on another, as in multi-intent"


def _implicit_fault(parsed: ParsedRequest, fit: PathFit) -> str:
    if fault := _condition(parsed) or _order(parsed) or _one_tool(fit):
        return fault
    if parsed.min_asked > 1:
        looks_like = "explicit-multi-step" if parsed.refers_back else "multi-intent"
        return f"it asks for {parsed.min_asked} distinct things, as in {looks_like}"
    if parsed.max_wants > 1 and fit.unrelated and not parsed.refers_back:
        return "its tools have nothing to do with each other, as in multi-intent"
    return ""


def _conditional_fault(parsed: ParsedRequest, fit: PathFit) -> str:
    if not parsed.all_condition_cues:
        if cues := parsed.order_cues:
            return f"no condition is stated, and {cues[0]!r} says an order, as in explicit-multi-step"
        return "no condition is stated on which the action depends"
    if not parsed.condition_cues:
        return "what it says with if is part of a general question, as in ir-multi-intent"
    return _one_tool(fit)


def _general_question_fault(parsed: ParsedRequest, fit: PathFit) -> str:
    wants = [
        clause
        for clause in parsed.clauses
        if clause.kind not in ("statement", "condition", "opening") or clause.may_be_want
    ]
    knowledge = _has_knowledge(fit)
    general = [
        clause
        for clause in wants
        if parsed.is_general(clause, strictly=False) or (knowledge and parsed.is_open_question(clause))
    ]
    strictly = [clause for clause in general if parsed.is_general(clause, strictly=True)]
    if not strictly and not (general and (knowledge or all(clause.kind == "question" for clause in general))):
        return "no question of general knowledge is asked, as in multi-intent"
    served = [position for position in fit.ends if not fit.tools[position].about_asker]
    if not knowledge and not strictly and len(served) >= parsed.max_wants:
        return "each thing it asks for has a tool of the path, as in multi-intent: none is of general knowledge"
    if parsed.condition_cues and not _conditions_within(parsed, general):
        return _condition(parsed)
    if parsed.max_wants < 2:
        return "beside the question nothing personal is asked, as in single-intent"
    if len(strictly) == len(wants) and not any(clause.joined for clause in wants):
        return "all it asks is of general knowledge: no personal action"
    return ""


def _conditions_within(parsed: ParsedRequest, clauses: Sequence[Clause]) -> bool:
    """Whether each condition lies within one of these clauses."""
    return all(any(clause.start < cue.start < clause.end for clause in clauses) for cue in parsed.all_condition_cues)


_RULES: Mapping[str, Callable[[ParsedRequest, PathFit], str]] = {
    "single-intent": _single_fault,
    "multi-intent": _multi_fault,
    "explicit-multi-step": _explicit_fault,
    "implicit-multi-step": _implicit_fault,
    "conditional-multi-step": _conditional_fault,
    "ir-multi-intent": _general_question_fault,
}
