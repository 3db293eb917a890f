"""Adapting operators within a run: a version that its model made is taken from the next step on, and told to whoever plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from planners.graphseek.adapt.operator_adapter import Adaptation
from planners.graphseek.agent.question_parts import QuestionParts, needed
from planners.graphseek.agent_events import OperatorAdapted
from planners.graphseek.turn import Fault, StepRecord
from planners.journal.recorded_steps import StepRecorder
from planners.journal.step_log import emit
from planners.stores.graph_schema import GraphSchema

__all__ = ["RunAdaptation", "with_approved"]

_ADAPTATION: TypeAdapter[Adaptation] = TypeAdapter(Adaptation)
_NEW = "The operator has a new version for this schema: make the call again"


def with_approved(parts: QuestionParts | None, schema: GraphSchema) -> QuestionParts | None:
    """Return the parts of a run with the approved versions of operators for the schema that the graph has now."""
    if parts is None or parts.adapter is None:
        return parts
    return replace(parts, operators=parts.adapter.serving(parts.operators, parts.graph, schema))


@dataclass(slots=True)
class RunAdaptation:
    """The versions of one run. A run that branches off does not take them over: it is another task.

    :ivar is_on: whether the run may ask for versions.
    :ivar renewed: operator → the step after which it has a new version: calls that failed before may be made again.
    """

    is_on: bool = False
    renewed: dict[str, int] = field(default_factory=dict)
    _tried: set[str] = field(default_factory=set)

    async def after(
        self,
        step: int,
        records: list[StepRecord],
        parts: QuestionParts | None,
        schema: GraphSchema,
        recorder: StepRecorder,
    ) -> QuestionParts | None:
        """Ask for a version where an operator failed in a step, and return the parts with it.

        :param records: up to that step; of a call that can be made again the hint then says so.
        :raises BudgetExceededError: when the budget is used up.
        """
        if not self.is_on or not any(isinstance(each, Fault) for each in records[-1].outcomes):
            return parts

        async def take() -> Any:
            known = needed(parts)
            if known.adapter is None:  # the run goes on without one
                return None
            made = await known.adapter.adapt(
                records, known.operators, known.graph, schema, known.catalog.fingerprint, self._tried
            )
            if made is None:
                return None
            name = made.version.name if made.version else ""
            emit(OperatorAdapted(step=step, operator=made.operator, version=name, problem=made.problem))
            return _ADAPTATION.dump_python(made, mode="json")

        given: Mapping[str, Any] | None = await recorder.step(f"adapt/{step}", take)
        return (
            parts if given is None else self._taken(step, records, parts, _ADAPTATION.validate_json(json.dumps(given)))
        )

    def _taken(
        self, step: int, records: list[StepRecord], parts: QuestionParts | None, made: Adaptation
    ) -> QuestionParts | None:
        self._tried.add(made.operator)
        if made.version is None:
            return parts
        self.renewed[made.operator] = step
        last = records[-1]
        told = tuple(
            replace(outcome, hint=_NEW) if call.operator == made.operator and isinstance(outcome, Fault) else outcome
            for call, outcome in last.pairs
        )
        records[-1] = replace(last, outcomes=told)
        if parts is None or parts.adapter is None:
            return parts
        adapter, version = parts.adapter, made.version
        operators = [
            adapter.operator(each, version) if each.name == made.operator else each for each in parts.operators
        ]
        return replace(parts, operators=tuple(operators))
