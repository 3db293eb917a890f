"""The class check: whether a request is of the class that its label says, by its cues and by its path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from datagen.synthetic_request import SyntheticRequest, Verdict
from datagen.validation.clause_parser import Clause
from datagen.validation.parsed_request import Reading, read
from datagen.validation.path_fit import Fit, Fitter

__all__ = ["ClassCheck"]


@dataclass(frozen=True, kw_only=True)
class ClassCheck:
    """Validates the class by rules."""

    fitter: Fitter
    name: str = "rules.v1"
    check: str = "class"

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The verdict; what it fails for names the cue and the class that it looks like."""
        rule = _RULES.get(request.request_class)
        if rule is None:
            reason: str = f"{request.request_class or 'an empty label'} is none of the six classes"
            return Verdict(check=self.check, passed=False, reason=reason, by=self.name)
        fault = rule(read(request.text), self.fitter.fit(request))
        reason = fault or f"its words and its path are those of {request.request_class}"
        return Verdict(check=self.check, passed=not fault, reason=reason, by=self.name)


def _conditional(reading: Reading) -> str:
    found = reading.condition
    return f"{found[0]!r} states a condition, as in conditional-multi-step" if found else ""


def _ordered(reading: Reading) -> str:
    return f"{reading.sequence[0]!r} says an order, as in explicit-multi-step" if reading.sequence else ""


def _single(reading: Reading, found: Fit) -> str:
    if fault := _conditional(reading) or _ordered(reading):
        return fault
    if reading.least > 1:
        return f"it asks for {reading.least} things, as in multi-intent"
    if len(found.tools) > 2:
        return f"its path has {len(found.tools)} tools, as in implicit-multi-step"
    if len(found.tools) == 2 and found.apart:
        return "its two tools have nothing to do with each other, as in multi-intent"
    if len(found.tools) == 2 and not all(tool.reads for tool in found.tools) and not found.fed:
        return "its two tools each do something, as in multi-intent"
    return ""


def _multi(reading: Reading, found: Fit) -> str:
    if fault := _conditional(reading) or _ordered(reading):
        return fault
    if reading.most < 2:
        return "it asks for one thing, as in single-intent or implicit-multi-step"
    if len(found.tools) < 2:
        return "its path has one tool, as in single-intent"
    if len(found.loose_ends) < 2:
        return "each of its tools feeds the next, as in a multi-step class"
    asked = [clause for clause in reading.clauses if clause.kind not in ("statement", "opening")]
    if any(tool.knowledge for tool in found.tools) and any(reading.general(clause, strictly=True) for clause in asked):
        return "one of its questions is of general knowledge, as in ir-multi-intent"
    made = [
        words
        for words in reading.dependence
        if re.match(r"bas|build|the\s+result|the\s+outcome|on\s+the\s+basis|depend|accord", words)
    ]
    if made and reading.least > 1:
        return f"{made[0]!r} makes one of them from the other, as in explicit-multi-step"
    return ""


def _dependent(found: Fit) -> str:
    return "" if len(found.tools) > 1 else "its path has one tool, as in single-intent"


def _explicit(reading: Reading, found: Fit) -> str:
    if fault := _conditional(reading) or _dependent(found):
        return fault
    knows = any(tool.knowledge for tool in found.tools)
    if knows and any(
        clause.kind == "question" and reading.general(clause, strictly=True) for clause in reading.clauses
    ):
        return "one of its questions is of general knowledge, as in ir-multi-intent"
    if reading.sequence or reading.dependence:
        return ""
    if reading.most > 1 and found.apart and not found.fed:
        return "its tools have nothing to do with each other, as in multi-intent"
    if reading.most > 1 and reading.refers_back and (found.fed or found.shared or len(found.tools) == 1):
        return ""
    if reading.most > 1:
        return "nothing says that one step depends on another, as in multi-intent"
    return "it says one step only, as in implicit-multi-step"


def _implicit(reading: Reading, found: Fit) -> str:
    if fault := _conditional(reading) or _ordered(reading) or _dependent(found):
        return fault
    if reading.least > 1:
        looks = "explicit-multi-step" if reading.refers_back else "multi-intent"
        return f"it asks for {reading.least} distinct things, as in {looks}"
    if reading.most > 1 and found.apart and not reading.refers_back:
        return "its tools have nothing to do with each other, as in multi-intent"
    return ""


def _conditioned(reading: Reading, found: Fit) -> str:
    if not reading.conditions:
        if reading.sequence:
            return f"no condition is stated, and {reading.sequence[0]!r} says an order, as in explicit-multi-step"
        return "no condition is stated on which the action depends"
    if not reading.condition:
        return "what it says with if is part of a general question, as in ir-multi-intent"
    return _dependent(found)


def _informed(reading: Reading, found: Fit) -> str:
    asked = [
        clause for clause in reading.clauses if clause.kind not in ("statement", "condition", "opening") or clause.hints
    ]
    knows = any(tool.knowledge for tool in found.tools)
    general = [
        clause
        for clause in asked
        if reading.general(clause, strictly=False) or (knows and reading.open_question(clause))
    ]
    strictly = [clause for clause in general if reading.general(clause, strictly=True)]
    if not (strictly or (general and (knows or all(clause.kind == "question" for clause in general)))):
        return "no question of general knowledge is asked, as in multi-intent"
    served = [place for place in found.ends if not found.tools[place].own]
    if not knows and not strictly and len(served) >= reading.most:
        return "each thing it asks for has a tool of the path, as in multi-intent: none is of general knowledge"
    if reading.condition and not _inside(reading, general):
        return _conditional(reading)
    if reading.most < 2:
        return "beside the question nothing personal is asked, as in single-intent"
    if len(strictly) == len(asked) and not any(clause.soft for clause in asked):
        return "all it asks is of general knowledge: no personal action"
    return ""


def _inside(reading: Reading, clauses: Sequence[Clause]) -> bool:
    """Whether each condition lies within one of these clauses."""
    return all(any(clause.start < start < clause.end for clause in clauses) for start, _ in reading.conditions)


_RULES: Mapping[str, Callable[[Reading, Fit], str]] = {
    "single-intent": _single,
    "multi-intent": _multi,
    "explicit-multi-step": _explicit,
    "implicit-multi-step": _implicit,
    "conditional-multi-step": _conditioned,
    "ir-multi-intent": _informed,
}
