"""Executing a plan of calls: each call in its order, until one cannot be made or fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from egotools import AsyncClient, ClientError, Tool, ToolRequestError
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer
from egotools.tool_plan import OpenInput, PlanStep, ToolPlan
from planners.calls.step_values import ChooseRow, StepArguments, StepValues

__all__ = ["PlanExecution", "StepCall", "execute_plan", "planned_tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    """The call of a step.

    :param answer: None: there is none (yet).
    :param error: why there is none.
    """

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
    """What came of a plan.

    :param calls: in their order; the last one may have failed.
    :param remaining: the steps after it, which were not tried.
    :param open_inputs: values that were not known; then nothing was called.
    """

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
    """Return the documents of a plan's tools by their ids, of the plan's snapshot or a later one.

    :raises ClientError: when the server does not answer, or one is gone.
    """
    tools = await asyncio.gather(
        *(client.get_tool(each, schema_format="none", min_snapshot=plan.snapshot_id) for each in plan.tool_ids)
    )
    return {tool.id: tool for tool in tools}


async def execute_plan(
    plan: ToolPlan,
    tools: Mapping[str, Tool],
    invoker: ToolInvoker,
    *,
    have: Mapping[str, str] | None = None,
    answers: Mapping[str, Any] | None = None,
    choose: ChooseRow | None = None,
    observe: Callable[[StepCall], object] = lambda call: None,
) -> PlanExecution:
    """Make the calls of a plan in their order. While a required value is not known that no step fills, none is made.

    A list in an answer gives its first value, or the one that is chosen; :attr:`StepArguments.taken` says which.

    :param tools: id → document of each tool of the plan.
    :param invoker: asks for consent where it must.
    :param have: input, as the plan names it, → value as text: what the plan left open.
    :param answers: tool → what it answered before the plan, for inputs whose source is ``done``.
    :param choose: which of several values fills an input.
    :param observe: is called with each call before it is made, and after.
    """
    values = StepValues(tools, have or {}, answers or {}, choose)
    open_inputs = values.open_inputs(plan)
    if open_inputs:
        return PlanExecution(calls=(), remaining=plan.steps, open_inputs=open_inputs)
    calls: list[StepCall] = []
    for at, step in enumerate(plan.steps, start=1):
        call = StepCall(step=step, given=values.arguments(step))
        observe(call)
        call = await _made(call, tools[step.tool_id], invoker)
        observe(call)
        calls.append(call)
        if call.answer is None or not call.answer.ok:
            return PlanExecution(calls=tuple(calls), remaining=plan.steps[at:])
        values.answered(step.tool_id, call.answer.body)
    return PlanExecution(calls=tuple(calls))


async def _made(call: StepCall, tool: Tool, invoker: ToolInvoker) -> StepCall:
    if call.given.missing:
        names = " and ".join(call.given.missing)
        problem = f"step {call.step.number} has no value for {names}: the answers before it have none"
        return replace(call, error=ToolRequestError(problem, subject=tool.id, remedy="Give the value, and plan again."))
    try:
        return replace(call, answer=await invoker.invoke(tool, call.given.arguments))
    except ClientError as error:
        return replace(call, error=error)
