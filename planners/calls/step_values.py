"""The arguments of a plan's steps: out of earlier answers, known values and defaults, each as the schema of its input wants it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from egotools import Tool, ToolRequestError
from egotools.calling.schema_kinds import items_of, kinds, properties_of
from egotools.calling.value_check import ValueCheck
from egotools.tool_plan import OpenInput, PlanInput, PlanStep, ToolPlan
from ontology.errors import ToolCallError
from planners.calls.answer_rows import AnswerRow, answer_rows, path_steps

__all__ = ["ChooseRow", "StepArguments", "StepValues", "TakenRow"]

_HAVE, _STEP = "have", "step"
_ITEMS = "[]"

ChooseRow: TypeAlias = Callable[[PlanInput, Sequence[AnswerRow]], int]
"""Which of the rows (two or more, of different identifiers) fills an input: its index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRow:
    """An argument that an earlier answer has filled.

    :param supplier: the tool that answered.
    :param output: path of the value in its answer.
    :param row: which one was taken, from 1.
    :param rows: how many different values the answer has there.
    """

    parameter: str
    supplier: str
    output: str
    row: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepArguments:
    """The arguments of one call.

    :param arguments: JSON values by the names of the tool's inputs.
    :param taken: those out of earlier answers.
    :param left_out: optional inputs whose known value their schema does not allow: the value is meant for another step.
    :param missing: required inputs that have no value.
    """

    arguments: dict[str, Any]
    taken: tuple[TakenRow, ...] = ()
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class StepValues:
    """The values of one run of a plan.

    :param tools: id → document of each tool of the plan.
    :param have: input, as the plan names it, → value as text, of the inputs that no step fills.
    :param answers: tool → what it has answered; of executed tools before the run.
    :param choose: see :data:`ChooseRow`; None: the first.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        have: Mapping[str, str],
        answers: Mapping[str, Any],
        choose: ChooseRow | None = None,
    ) -> None:
        self._tools = tools
        self._have = have
        self._answers = dict(answers)
        self._choose = choose
        self._chosen: dict[tuple[str, str], str] = {}

    def answered(self, tool_id: str, body: Any) -> None:
        """Take the answer of a tool."""
        self._answers[tool_id] = body
        self._chosen = {key: id_ for key, id_ in self._chosen.items() if key[0] != tool_id}

    def open_inputs(self, plan: ToolPlan) -> tuple[OpenInput, ...]:
        """Return the required inputs that no step fills and that have no value, each once."""
        steps: dict[tuple[str, str], list[int]] = {}
        said = {each.parameter: each.description for each in plan.open_inputs}
        for step in plan.steps:
            tool = self._tools[step.tool_id]
            for each in step.inputs:
                is_open = each.parameter and each.required and each.source != _STEP
                if is_open and self._text(each)[0] is None and _default(tool, each.parameter) is None:
                    steps.setdefault((each.parameter, each.source), []).append(step.number)
                    described = (one.description for one in tool.parameters if one.name == each.parameter)
                    said.setdefault(each.parameter, next(described, ""))
        return tuple(
            OpenInput(parameter=name, description=said[name], source=source, steps=tuple(numbers))
            for (name, source), numbers in steps.items()
        )

    def arguments(self, step: PlanStep) -> StepArguments:
        """Return the arguments of a step, with the answers so far."""
        tool = self._tools[step.tool_id]
        arguments: dict[str, Any] = {}
        taken, left_out, missing = [], [], []
        for each in step.inputs:
            if not each.parameter:
                continue  # the tool only had to go first
            text, row = self._text(each)
            value = _typed(text, tool, each.parameter) if text is not None else _default(tool, each.parameter)
            if value is None and each.required:
                missing.append(each.parameter)
            elif (
                value is not None and not each.required and row is None and not _is_allowed(value, tool, each.parameter)
            ):
                left_out.append(each.parameter)
            elif value is not None:
                _put(arguments, tool, each.parameter, value)
                taken += [row] if row is not None else []
        return StepArguments(arguments=arguments, taken=tuple(taken), left_out=tuple(left_out), missing=tuple(missing))

    def _text(self, each: PlanInput) -> tuple[str | None, TakenRow | None]:
        """Return the value of an input as text, and the row that it stands in; None where there is none."""
        if each.supplier:
            found = self._row(each)
            if found is not None or each.source == _STEP:
                return found or (None, None)
        if each.value or each.source == _HAVE:
            return each.value, None
        return self._have.get(each.parameter), None

    def _row(self, each: PlanInput) -> tuple[str, TakenRow] | None:
        body = self._answers.get(each.supplier)
        try:
            rows = answer_rows(body, each.output) if each.output else []
        except ToolCallError:  # the answer has another shape than its document says
            return None
        different = list({row.id: row for row in reversed(rows) if row.id}.values())[::-1]
        if not different:
            return None
        ids = [row.id for row in different]
        key = (each.supplier, each.output)
        if key not in self._chosen:  # asked once, so that all steps take the same one
            self._chosen[key] = ids[self._choose(each, different) if self._choose and len(ids) > 1 else 0]
        text = self._chosen[key]
        taken = TakenRow(
            parameter=each.parameter,
            supplier=each.supplier,
            output=each.output,
            row=ids.index(text) + 1,
            rows=len(ids),
        )
        return text, taken


def _schema_at(tool: Tool, parameter: str) -> Any:
    """Return the schema of an input, also of one inside of objects and lists (``lines[].quantity``)."""
    root = tool.input_schema
    top = properties_of(root, root)
    if parameter in top:
        return top[parameter]
    schema: Any = root
    for step in path_steps(parameter):
        schema = items_of(schema, root) if step == _ITEMS else properties_of(schema, root).get(step)
    return schema or {}


def _default(tool: Tool, parameter: str) -> Any:
    schema = _schema_at(tool, parameter)
    return schema.get("default") if isinstance(schema, Mapping) else None


def _typed(text: str, tool: Tool, parameter: str) -> Any:
    """Return a value as the schema of its input wants it: a text, or what the text is in JSON."""
    allowed = kinds(_schema_at(tool, parameter), tool.input_schema)
    if allowed is None or "string" in allowed:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _is_allowed(value: Any, tool: Tool, parameter: str) -> bool:
    try:
        ValueCheck(root=tool.input_schema).check(value, _schema_at(tool, parameter), parameter)
    except ToolRequestError:
        return False
    return True


def _put(arguments: dict[str, Any], tool: Tool, parameter: str, value: Any) -> None:
    """Set an argument; of a path the objects around it are made, and a list has one item."""
    names = properties_of(tool.input_schema, tool.input_schema)
    steps = path_steps(parameter)
    if parameter in names or steps[0] not in names:
        steps = (parameter,)
    place: Any = arguments
    for step, following in itertools.pairwise(steps):
        inner: Any = [] if following == _ITEMS else {}
        if step == _ITEMS:
            place[:] = place or [inner]
            place = place[0]
        else:
            place = place.setdefault(step, inner)
    if steps[-1] == _ITEMS:
        place.append(value)
    else:
        place[steps[-1]] = value
