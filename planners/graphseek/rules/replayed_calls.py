"""Invocations of a plan that is gone through anew in each turn: those of earlier turns have their outcomes, the first others are asked for.

So a plan is written as if each operator answered at once, and nothing is kept between turns.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planners.graphseek.results.result import Result
from planners.graphseek.turn import Fault, Invocation, Outcome, StepRecord

__all__ = ["FailedError", "NeededError", "ReplayedCalls"]

_DIRECTION = re.compile(r"use direction (in|out|both)")
_ROUNDED = re.compile(r"round|tolerance")
_HALF_DIGIT = 0.5
"""Of the last digit that a number is written with: what rounding takes away at most."""


class NeededError(Exception):
    """The plan cannot go on before these invocations have outcomes."""

    def __init__(self, invocations: Sequence[Invocation]) -> None:
        super().__init__("operators have to run")
        self.invocations = tuple(invocations)


class FailedError(Exception):
    """An operator gave nothing, also after its hint was followed once."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.problem}. {fault.hint}")
        self.fault = fault


class ReplayedCalls:
    """The invocations of the turns so far.

    :ivar notes: what was done otherwise than it was read, for the answer.
    :ivar made: what was invoked for a result, in its order; not what names were looked up with.
    """

    def __init__(self, records: Sequence[StepRecord]) -> None:
        self._known: dict[str, Outcome] = {}
        for record in records:
            for invocation, outcome in zip(record.invocations, record.outcomes, strict=True):
                if not (isinstance(outcome, Fault) and outcome.kind == "repeated"):
                    self._known[invocation.key] = outcome
        self.notes: list[str] = []
        self.made: list[Invocation] = []
        self._is_as_said = False

    @contextlib.contextmanager
    def as_said(self) -> Iterator[None]:
        """Within it no hint is followed, and what gives nothing ends it: what another direction leads to must not be left out."""
        before, self._is_as_said = self._is_as_said, True
        try:
            yield
        except FailedError as error:
            if error.fault.kind != "empty":
                raise
        finally:
            self._is_as_said = before

    def outcomes(self, *invocations: Invocation) -> list[Outcome]:
        """Return the outcomes of invocations that do not depend on one another.

        :raises NeededError: when one of them has not run.
        """
        missing = {each.key: each for each in invocations if each.key not in self._known}
        if missing:
            raise NeededError(list(missing.values()))
        return [self._known[each.key] for each in invocations]

    def result(self, operator: str, **arguments: Any) -> Result:
        """Return the result of one invocation; the hint of a fault is followed once.

        :raises FailedError: when there is none.
        :raises NeededError: when it has not run.
        """
        invocation = Invocation(operator=operator, arguments=arguments)
        (outcome,) = self.outcomes(invocation)
        self.made.append(invocation)
        if isinstance(outcome, Result):
            if outcome.cut and "limit" not in arguments:
                self._note(
                    f"{outcome.handle} has the first {outcome.size:,} rows only, so what rests on it may lack some"
                )
            return outcome
        other = None if self._is_as_said else _followed(arguments, outcome)
        if other is None:
            raise FailedError(outcome)
        self._note(f"{outcome.problem}; this was followed: {outcome.hint}")
        (second,) = self.outcomes(Invocation(operator=operator, arguments=other))
        if isinstance(second, Result):
            return second
        raise FailedError(second)

    @property
    def made_results(self) -> list[tuple[Invocation, Result]]:
        """What was invoked for a result, with what it gave."""
        outcomes = [(each, self._known[each.key]) for each in self.made]
        return [(each, outcome) for each, outcome in outcomes if isinstance(outcome, Result)]

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def stored(self, handle: str) -> Result:
        """Return a result by its handle."""
        return next(each for each in self._known.values() if isinstance(each, Result) and each.handle == handle)


def _followed(arguments: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
    """Return the arguments that a hint asks for: the other direction, or a tolerance around a number."""
    if fault.kind != "empty":
        return None
    if "direction" in arguments and (found := _DIRECTION.search(fault.hint)):
        return {**arguments, "direction": found[1]}
    if _ROUNDED.search(fault.hint):
        return _with_tolerance(arguments)
    return None


def _with_tolerance(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    changed = {**arguments}
    for name in ("filters", "relationship_filters", "neighbour_filters"):
        filters = []
        for each in arguments.get(name) or ():
            value = each.get("value")
            if each["operator"] == "=" and isinstance(value, float):
                decimals = len(repr(value).partition(".")[2])
                around = _HALF_DIGIT * 10.0**-decimals
                bounds = ((">=", value - around), ("<=", value + around))
                filters += [{**each, "operator": operator, "value": bound} for operator, bound in bounds]
                changed[name] = filters
            else:
                filters.append(each)
    return changed if changed != dict(arguments) else None
