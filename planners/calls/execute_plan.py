"""Executing a plan of calls: each in its order, until one cannot be made or fails.

Arguments come out of earlier answers, known values and defaults, each as the schema of its input wants it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from egotools import AsyncClient, ClientError, Tool, ToolRequestError
from egotools.calling.input_arguments import ValueCheck, items_of, kinds, properties_of
from egotools.calling.invoker import ToolAnswer
from egotools.values import OpenInput, PlanInput, PlanStep, ToolPlan
from ontology.errors import ToolCallError
from planners.calls.bindings import answer_rows, path_steps
from planners.calls.tool_access import CallPipeline

_ITEMS = "[]"


@dataclass(frozen=True, slots=True)
class TakenRow:
    """An argument that the answer of an earlier tool has filled: a path in it, which of its different values there, from 1, of how many."""

    parameter: str
    supplier: str
    output: str
    row: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepArguments:
    """The arguments of one call."""

    arguments: dict[str, Any]
    taken: tuple[TakenRow, ...] = ()  # those out of earlier answers
    # optional inputs whose known value their schema does not allow: the value is meant for another step
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # required inputs that have no value


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    """The call of a step, with its answer or why there is none; neither as long as it is not made."""

    step: PlanStep
    given: StepArguments
    answer: ToolAnswer | None = None
    error: ClientError | None = None

    @property
    def ok(self) -> bool:
        """Whether the tool did what it was asked."""
        return self.answer is not None and self.answer.ok


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExecution:
    """The calls in their order, of which the last may have failed, the steps that were not tried, and values that were not known."""

    calls: tuple[StepCall, ...]
    remaining: tuple[PlanStep, ...] = ()
    open_inputs: tuple[OpenInput, ...] = ()

    @property
    def outcome(self) -> Literal["made", "value missing", "failed"]:
        """Whether all calls were made, a value that a call needs is missing, or a call failed."""
        if self.open_inputs or (self.calls and self.calls[-1].given.missing):
            return "value missing"
        return "made" if all(call.ok for call in self.calls) else "failed"


async def planned_tools(client: AsyncClient, plan: ToolPlan) -> dict[str, Tool]:
    """Return the documents of a plan's tools by their ids, of the plan's snapshot or a later one."""
    asked = (client.get_tool(each, schema_format="none", min_snapshot=plan.snapshot_id) for each in plan.tool_ids)
    return {tool.id: tool for tool in await asyncio.gather(*asked)}


async def execute_plan(
    plan: ToolPlan,
    tools: Mapping[str, Tool],
    pipeline: CallPipeline,
    *,
    have: Mapping[str, str] | None = None,
    observe: Callable[[StepCall], object] = lambda call: None,
) -> PlanExecution:
    """Make the calls of a plan in their order. While a required value is not known that no step fills, none is made.

    A list in an answer gives its first value; :attr:`StepArguments.taken` says of how many. A call that may change something is not made
    where a value that leads to it is one of several, which leaves open which is meant, or where an answer lacks one of its values.

    :param tools: id → document of each tool of the plan.
    :param pipeline: asks for consent where it must.
    :param have: input, as the plan names it, → value as text: what the plan left open.
    :param observe: is called with each call before it is made, and after.
    """
    have, answers = have or {}, dict[str, Any]()
    if open_inputs := _open_inputs(plan, tools, have, answers):
        return PlanExecution(calls=(), remaining=plan.steps, open_inputs=open_inputs)
    calls: list[StepCall] = []
    guessed: dict[str, tuple[PlanStep, TakenRow]] = {}  # tool id → the value, one of several, on which its answer hangs
    for at, step in enumerate(plan.steps, start=1):
        tool = tools[step.tool_id]
        call = StepCall(step=step, given=_arguments(step, tool, have, answers))
        rows = call.given.taken
        own = ((step, row) for row in rows if row.rows > 1)
        guess = next(own, next((guessed[row.supplier] for row in rows if row.supplier in guessed), None))
        observe(call)
        try:
            if call.given.missing:
                names = " and ".join(call.given.missing)
                problem = f"step {step.number} has no value for {names}: the answers before it have none"
                raise ToolRequestError(problem, subject=tool.id, remedy="Give the value, and plan again.")
            if guess is not None and tool.effect != "read":
                raise _one_of_several(*guess, tool)
            answer = await pipeline.invoke(tool, call.given.arguments, as_documented=guess is not None)
            call = replace(call, answer=answer)
        except ClientError as refused:
            call = replace(call, error=refused)
        observe(call)
        calls.append(call)
        if call.answer is None or not call.answer.ok:
            return PlanExecution(calls=tuple(calls), remaining=plan.steps[at:])
        answers[step.tool_id] = call.answer.body
        if guess is not None:
            guessed[step.tool_id] = guess
    return PlanExecution(calls=tuple(calls))


def _one_of_several(step: PlanStep, row: TakenRow, tool: Tool) -> ToolRequestError:
    which = f"{row.parameter} of step {step.number} is the first of {row.rows} values that {row.supplier} gave"
    problem = f"the call may change something, and it is not known for what: {which} ({row.output}); it was not made"
    return ToolRequestError(problem, subject=tool.id, remedy=f"Give the value ({row.parameter}), and plan again.")


def _open_inputs(
    plan: ToolPlan, tools: Mapping[str, Tool], have: Mapping[str, str], answers: Mapping[str, Any]
) -> tuple[OpenInput, ...]:
    """Return the required inputs that no step fills and that have no value, each once."""
    steps: dict[tuple[str, str], list[int]] = {}
    said = {each.parameter: each.description for each in plan.open_inputs}
    for step in plan.steps:
        tool = tools[step.tool_id]
        for each in step.inputs:
            is_open = each.parameter and each.required and each.source != "step"
            if is_open and _value(each, tool, have, answers)[0] is None:
                steps.setdefault((each.parameter, each.source), []).append(step.number)
                described = (one.description for one in tool.parameters if one.name == each.parameter)
                said.setdefault(each.parameter, next(described, ""))
    return tuple(
        OpenInput(parameter=name, description=said[name], source=source, steps=tuple(numbers))
        for (name, source), numbers in steps.items()
    )


def _arguments(step: PlanStep, tool: Tool, have: Mapping[str, str], answers: Mapping[str, Any]) -> StepArguments:
    arguments: dict[str, Any] = {}
    taken, left_out, missing = [], [], []
    for each in (given for given in step.inputs if given.parameter):  # without: the tool only had to go first
        value, row = _value(each, tool, have, answers)
        # What was to come of an answer and did not: a default, or no value at all, may change everything.
        is_lost = row is None and each.source == "step" and each.output and tool.effect != "read"
        if value is None or is_lost:
            missing += [each.parameter] if each.required or is_lost else []
        elif row is None and not each.required and not _is_allowed(value, tool, each.parameter):
            left_out.append(each.parameter)
        else:
            _put(arguments, tool, each.parameter, value)
            taken += [row] if row is not None else []
    return StepArguments(arguments=arguments, taken=tuple(taken), left_out=tuple(left_out), missing=tuple(missing))


def _value(
    each: PlanInput, tool: Tool, have: Mapping[str, str], answers: Mapping[str, Any]
) -> tuple[Any, TakenRow | None]:
    """Return the value of an input as its schema wants it, and the row that it stands in; None where there is none."""
    schema = _schema_at(tool, each.parameter)
    row, text = None, None
    ids: list[str] = []
    if each.supplier and each.output:
        with contextlib.suppress(ToolCallError):  # the answer has another shape than its document says
            rows = answer_rows(answers.get(each.supplier), each.output)
            ids = [id_ for id_ in dict.fromkeys(row.id for row in rows) if id_]
    if ids:
        text, row = ids[0], TakenRow(each.parameter, each.supplier, each.output, 1, len(ids))
    elif not (each.supplier and each.source == "step"):
        text = each.value if each.value or each.source == "have" else have.get(each.parameter)
    if text is None:
        return schema.get("default"), None
    allowed = kinds(schema, tool.input_schema)
    if allowed is not None and "string" not in allowed:
        with contextlib.suppress(ValueError):
            return json.loads(text), row
    return text, row


def _steps(tool: Tool, parameter: str) -> tuple[str, ...]:
    """Return the names on the way to an input inside of objects and lists (``lines[].quantity``)."""
    names, steps = properties_of(tool.input_schema, tool.input_schema), path_steps(parameter)
    return (parameter,) if parameter in names or steps[0] not in names else steps


def _schema_at(tool: Tool, parameter: str) -> Mapping[str, Any]:
    root: Any = tool.input_schema
    schema = root
    for step in _steps(tool, parameter):
        schema = items_of(schema, root) if step == _ITEMS else properties_of(schema, root).get(step)
    return schema if isinstance(schema, Mapping) else {}


def _is_allowed(value: Any, tool: Tool, parameter: str) -> bool:
    try:
        ValueCheck(root=tool.input_schema).check(value, _schema_at(tool, parameter), parameter)
    except ToolRequestError:
        return False
    return True


def _put(arguments: dict[str, Any], tool: Tool, parameter: str, value: Any) -> None:
    """Set an argument; of a path the objects around it are made, and a list has one item."""
    steps = _steps(tool, parameter)
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
