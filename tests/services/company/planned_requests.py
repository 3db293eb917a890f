"""The shipped multi-step requests by the parts of the planners: each step's tool is found over gRPC, chosen by its types, and called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from egotools import AsyncClient, Tool
from egotools.calling.invoker import ToolInvoker
from planners.finding.tool_finder import ToolFinder
from planners.steps.execute_plan import PlanExecution, execute_plan, planned_tools
from tests.services.company.company_requests import CompanyRequest, value_at


@dataclass(frozen=True)
class FoundStep:
    """The tool of a step.

    :param rank: that of the tool of the file among the found ones; None where it was not found.
    :param chosen: the first found tool that fits; None where none does.
    """

    rank: int | None
    chosen: Tool | None


def is_path(value: Any) -> bool:
    """Whether an argument of the file is a path into an earlier answer."""
    return isinstance(value, str) and value.startswith("$")


def output_path(path: str, of_list: bool) -> str:
    """``suppliers[].supplierId`` of ``$1.suppliers.0.supplierId``.

    :param of_list: whether the call was made for several values, so that the path begins with the number of a call.
    """
    steps = path.split(".")[1:]
    text = ""
    for step in steps[1:] if of_list else steps:
        text += "[]" if step == "*" or step.isdigit() else f".{step}" if text else step
    return text


async def find_step(finder: ToolFinder, request: CompanyRequest, number: int) -> FoundStep:
    """Choose a tool for a step (from 1) by what it takes, gives and does; the file's tool has no part in it.

    :returns: the first found tool that takes the arguments, needs no others, gives what later steps and the answer read, and
        changes something just where the step does.
    """
    call = request.calls[number - 1]
    found = (await finder.find(call["need"])).tools
    rank = next((each.rank for each in found if each.tool.id == call["tool"]), None)
    wanted = _read_later(request, number)
    fitting = (each.tool for each in found if _fits(each.tool, set(call["arguments"]), wanted))
    return FoundStep(
        rank, next((tool for tool in fitting if (tool.effect == "read") != call.get("writes", False)), None)
    )


def _fits(tool: Tool, arguments: set[str], wanted: set[str]) -> bool:
    needed = set(tool.input_schema.get("required", ()))
    takes = set(tool.input_schema.get("properties", ()))
    return needed <= arguments <= takes and wanted <= {each.name for each in tool.returns}


def is_for_several(call: Mapping[str, Any]) -> bool:
    """Whether a call is made for each of several values."""
    return any(is_path(value) and ".*" in value for value in call["arguments"].values())


def _read_later(request: CompanyRequest, number: int) -> set[str]:
    values = [value for call in request.calls for value in call["arguments"].values() if is_path(value)]
    of_list = is_for_several(request.calls[number - 1])
    return {output_path(path, of_list) for path in (*values, *request.answer) if path.startswith(f"${number}.")}


async def run_planned(finder: ToolFinder, invoker: ToolInvoker, request: CompanyRequest) -> tuple[list[str], list[Any]]:
    """Find, choose and call the tools of a request, step by step; returns their ids, and their answers as in the file's paths.

    :raises PermissionDeniedError: when a call that changes something is not confirmed.
    """
    ids: list[str] = []
    answers: list[Any] = []
    for number, call in enumerate(request.calls, start=1):
        tool = (await find_step(finder, request, number)).chosen
        assert tool is not None, (request.id, call["need"])
        ids.append(tool.id)
        arguments = {
            name: value_at(answers, value) if is_path(value) else value for name, value in call["arguments"].items()
        }
        several = next((name for name, value in call["arguments"].items() if is_path(value) and ".*" in value), None)
        made = [{**arguments, several: each} for each in arguments[several]] if several else [arguments]
        bodies = []
        for each in made:
            answer = await invoker.invoke(tool, each)
            assert answer.ok, (request.id, tool.id, each, answer)
            bodies.append(answer.body)
        answers.append(bodies if several else bodies[0])
    return ids, answers


@dataclass
class ExecutedRequest:
    """What came of a request by plans of the service.

    :param last: the execution that ended it.
    :param tools: those that were called, in order.
    :param bodies: tool → what it answered.
    """

    last: PlanExecution | None = None
    tools: list[str] = field(default_factory=list)
    bodies: dict[str, Any] = field(default_factory=dict)

    async def execute(
        self, client: AsyncClient, invoker: ToolInvoker, query: str, goals: list[str], have: dict[str, str]
    ) -> bool:
        """Plan towards some tools, with what was called before, and execute the plan; returns whether all calls were made."""
        plan = await client.plan(goals, query=query, done=list(self.bodies), have=have)
        tools = await planned_tools(client, plan)
        self.last = await execute_plan(plan, tools, invoker, have=have, answers=self.bodies)
        for call in self.last.calls:
            if call.answer is not None:
                self.tools.append(call.step.tool_id)
                self.bodies[call.step.tool_id] = call.answer.body
        return self.last.outcome == "made"

    def has_answer(self, request: CompanyRequest) -> bool:
        """Whether the values of the file stand in the answers."""
        answers = [self.bodies.get(call["tool"]) for call in request.calls]
        try:
            return all(value_at(answers, path) == value for path, value in request.answer.items())
        except (KeyError, IndexError, TypeError, ValueError):
            return False


async def run_by_plans(
    client: AsyncClient, invoker: ToolInvoker, request: CompanyRequest, *, at_once: bool
) -> ExecutedRequest:
    """Execute a request by plans: the tools that it speaks of are looked up by their words, order and bindings are the service's.

    :param at_once: whether one plan leads to all of them; else one plan after the other, each with the values that its step states.
    """
    finder, made = ToolFinder(client), ExecutedRequest()
    found = [(await find_step(finder, request, number)).chosen for number in range(1, len(request.calls) + 1)]
    goals = [tool.id for tool in found if tool is not None]
    stated = [_stated(call) for call in request.calls]
    if at_once:
        have = {name: text for each in stated for name, text in each.items()}
        await made.execute(client, invoker, request.request, list(dict.fromkeys(goals)), have)
        return made
    for goal, have in zip(goals, stated, strict=True):
        if not await made.execute(client, invoker, request.request, [goal], have):
            break
    return made


def _stated(call: Mapping[str, Any]) -> dict[str, str]:
    values = {name: value for name, value in call["arguments"].items() if not is_path(value)}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
