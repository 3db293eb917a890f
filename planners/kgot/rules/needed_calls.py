"""The calls that a need wants, of the tools that were found for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from egotools import ClientError, Tool
from egotools.tool_plan import ToolPlan
from planners.finding.tool_finder import FoundTool, FoundTools
from planners.finding.typed_binding import Binding, Misfit, bind
from planners.kgot.kgot_task import TaskView
from planners.kgot.rules.file_needs import tool_name
from planners.kgot.rules.graph_facts import GraphFacts
from planners.kgot.rules.made_calls import CallLog
from planners.kgot.rules.run_needs import Need, RulesMemory, ToolUse
from planners.kgot.step_makers import WantedCall
from planners.steps.step_values import StepValues

__all__ = ["CallPlanner", "calls_for"]


class CallPlanner(Protocol):
    """What plans calls: :class:`egotools.AsyncClient`."""

    async def plan(self, goals: Sequence[str] = (), *, have: Mapping[str, str] | None = None) -> ToolPlan:
        """Return the calls that lead to goal tools.

        :raises ClientError: when the server does not answer, or refuses.
        """
        ...


async def calls_for(
    need: Need, found: FoundTools, memory: RulesMemory, view: TaskView, planner: CallPlanner | None
) -> tuple[WantedCall, ...]:
    """Return the calls, and remember the tool for its purpose; where none fits, remember why.

    :param planner: plans each call; None: arguments are those of the binding.
    """
    if need.files:
        return _file_calls(need, found)
    use = memory.uses.get(need.purpose)
    tools = {each.tool.id: each.tool for each in found.tools}
    if use is None:
        use = _chosen(need, found, memory)
    if use is None or use.tool_id not in tools:
        if use is not None:
            memory.failed[need.purpose] = f"{use.tool_id} was not found again"
        return ()
    log = CallLog.of(GraphFacts.of(view.graph), view.calls)
    values = dict.fromkeys(need.values)
    arguments = (
        [log.arguments_of_value(use.binding, value) for value in values]
        if values
        else [log.arguments_of_lookup(use.binding, need.filters)]
    )
    wanted = [each for each in arguments if not log.was_called(use.tool_id, each)]
    tool = tools[use.tool_id]
    planned = await asyncio.gather(*(_planned(tool, each, planner) for each in wanted))
    return tuple(WantedCall(tool_id=use.tool_id, arguments=each) for each in planned)


def _file_calls(need: Need, found: FoundTools) -> tuple[WantedCall, ...]:
    tool = next((each.tool for each in found.tools if tool_name(each.tool.id) == need.tool), None)
    if tool is None:
        return ()
    pages = need.pages or (1,) * len(need.files)
    return tuple(
        WantedCall(tool_id=tool.id, arguments={"file": name, **({"page": page} if page > 1 else {})})
        for name, page in zip(need.files, pages, strict=True)
    )


def _chosen(need: Need, found: FoundTools, memory: RulesMemory) -> ToolUse | None:
    """Choose the first tool that reads and that does what is wanted, those with every known name before others."""
    if need.wanted is None:
        return None
    fitting: list[tuple[FoundTool, Binding]] = []
    misfits: list[str] = []
    for each in found.tools:
        if each.tool.effect != "read":
            misfits.append(f"{each.tool.id} may change something")
            continue
        binding = bind(each.tool, need.wanted)
        if isinstance(binding, Misfit):
            misfits.append(binding.reason)
        else:
            fitting.append((each, binding))
    if not fitting:
        memory.failed[need.purpose] = "; ".join(misfits[:3]) or "the service returned none"
        return None
    tool, binding = min(fitting, key=lambda both: (not both[1].exact, both[0].rank))
    memory.uses[need.purpose] = use = ToolUse(tool_id=tool.tool.id, binding=binding)
    return use


async def _planned(tool: Tool, arguments: Mapping[str, Any], planner: CallPlanner | None) -> dict[str, Any]:
    """Return the arguments of the call as the service plans it with the values that are known; where it does not, as they are."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str) and value}
    if planner is None or len(texts) < len(arguments):
        return dict(arguments)
    try:
        plan = await planner.plan((tool.id,), have=texts)
    except ClientError:
        return dict(arguments)
    if plan.tool_ids != (tool.id,):  # the values are known: nothing has to go first
        return dict(arguments)
    given = StepValues({tool.id: tool}, texts, {}).arguments(plan.steps[0])
    return given.arguments if not given.missing and given.arguments.keys() == texts.keys() else dict(arguments)
