"""The integrated tools of a run: one function registers a tool; they are documents of the catalogue, and are called like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pydantic_core

from egotools import ClientError, PythonCall, Tool, ToolRequestError
from egotools.calling.invoker import ToolInvoker
from egotools.calling.live_tool import StrongerEffectError, stronger_effect
from egotools.calling.tool_answer import MAX_BYTES, ToolAnswer, too_large, too_slow
from egotools.calling.tool_request import build_request
from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    IsolationError,
    MissingExtraError,
    NotFoundError,
    ToolCallError,
)
from ontology.tool_effects import Effect
from planners.kgot.tools.integrated_tool import IntegratedTool

__all__ = ["NAMESPACE", "NOT_INSTALLED", "ToolSet"]

NAMESPACE = "kgot"
NOT_INSTALLED = "not installed"
"""Status of an answer of a tool that lacks a package or the isolation of code on this machine: another attempt helps when they are there."""
_LACKS = (MissingExtraError, IsolationError)


class ToolSet:
    """Tools by id ``NAMESPACE/NAME``. Make one for each run: tools keep what belongs to it."""

    def __init__(self) -> None:
        self._tools: dict[str, IntegratedTool] = {}
        self._unusable: dict[str, _Fault] = {}

    def register(
        self,
        function: Callable[..., Awaitable[Any]],
        *,
        name: str,
        description: str,
        inputs: Mapping[str, Mapping[str, Any]],
        required: tuple[str, ...] = (),
        outputs: Mapping[str, Mapping[str, Any]] | None = None,
        effect: Effect = "read",
        check: Callable[[], Awaitable[None]] | None = None,
        timeout_s: float = 120.0,
    ) -> str:
        """Add a tool and return its id. See :class:`IntegratedTool` for the parameters.

        :raises InvalidArgumentError: when the name is taken, or a part of the tool is not legal.
        """
        tool = IntegratedTool(
            name=name,
            description=description,
            function=function,
            inputs=inputs,
            required=required,
            outputs=outputs or {},
            effect=effect,
            check=check,
            timeout_s=timeout_s,
        )
        id_ = f"{NAMESPACE}/{name}"
        if id_ in self._tools:
            raise InvalidArgumentError("a tool of this name is registered", subject=name, remedy="Choose another name")
        self._tools[id_] = tool
        return id_

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order in which the tools were registered."""
        return tuple(self._tools)

    def effect(self, id_: str) -> Effect:
        """Return what a call of a tool does, as it was registered; of an unknown tool a change."""
        return self._tools[id_].effect if id_ in self._tools else "change"

    def documents(self) -> list[dict[str, Any]]:
        """Return the tools as a JSON list that ``egotools build`` reads; ids and schemas stay as they are."""
        return [tool.document(NAMESPACE) for tool in self._tools.values()]

    def tools(self) -> list[Tool]:
        """Return the tools as the service would return them."""
        return [tool.tool(NAMESPACE) for tool in self._tools.values()]

    async def ready(self) -> Mapping[str, str]:
        """Check all tools at once, at the start of a run, and return why some cannot be used: id → reason, and what to do.

        One that is not ready answers later calls with the reason.
        """
        faults = await asyncio.gather(*(_fault(tool) for tool in self._tools.values()))
        self._unusable = {id_: fault for id_, fault in zip(self._tools, faults, strict=True) if fault}
        return {id_: fault.why for id_, fault in self._unusable.items()}

    async def call(self, id_: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool. What goes wrong in it is an answer that is not ``ok``: ``{"error": …}``.

        :raises NotFoundError: when there is none of this id.
        :raises ToolRequestError: for an argument that its schema does not allow.
        :raises ClientDeadlineError: when it takes too long.
        :raises BudgetExceededError: when it asks a model, and the budget is used up.
        """
        tool = self._tools.get(id_)
        if tool is None:
            raise NotFoundError("there is no integrated tool of this id", subject=id_)
        if fault := self._unusable.get(id_):
            return ToolAnswer(ok=False, status=fault.status, body={"error": fault.why})
        request = build_request(tool.call(NAMESPACE), arguments, schema=tool.schema)
        if not isinstance(request, PythonCall):
            raise ToolRequestError("this tool is no function", subject=id_)
        return await _answer(tool, id_, request.arguments)

    def invoker(self, inner: ToolInvoker | None = None) -> ToolInvoker:
        """Return what answers calls of these tools itself, and hands on all others.

        It asks nobody for consent: hand it to :meth:`planners.calls.tool_access.ToolAccess.calling`, which does. A catalogue that
        says of a tool that it does less than it was registered with is not believed.

        :param inner: None: others are refused.
        """
        return _ToolSetInvoker(self, inner)


class _ToolSetInvoker:
    def __init__(self, tools: ToolSet, inner: ToolInvoker | None) -> None:
        self._tools = tools
        self._inner = inner

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`."""
        if tool.id in self._tools.ids:
            own = self._tools.effect(tool.id)
            if stronger_effect(tool.effect, own) != (tool.effect or "change"):
                raise StrongerEffectError(replace(tool, effect=own))
            return await self._tools.call(tool.id, arguments)
        if self._inner is None:
            raise ToolRequestError(
                "nothing here calls this tool", subject=tool.id, remedy=f"Tools: {', '.join(self._tools.ids)}."
            )
        return await self._inner.invoke(tool, arguments)


async def _answer(tool: IntegratedTool, id_: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    deadline = asyncio.timeout(tool.timeout_s)
    try:
        async with deadline:
            value = await tool.function(**arguments)
    except TimeoutError:
        if deadline.expired():
            raise too_slow(id_, tool.timeout_s) from None
        return _failed("the tool waited too long for something")
    except (BudgetExceededError, DeadlineError, ClientError):
        raise
    except EgotoolsError as error:
        return _failed(str(error), NOT_INSTALLED if isinstance(error, _LACKS) else "error")
    except Exception as error:  # of code that another registered
        return _failed(f"{type(error).__name__}: {error}")
    answer = value if isinstance(value, ToolAnswer) else ToolAnswer(ok=True, status="ok", body=value)
    return _sendable(answer, id_)


def _sendable(answer: ToolAnswer, id_: str) -> ToolAnswer:
    """Return the answer with a copy of its body as JSON values."""
    try:
        encoded = pydantic_core.to_json(answer.body, inf_nan_mode="null")
    except ValueError as error:  # also of text that UTF-8 does not have
        return _failed(f"the tool returned what JSON does not have ({error})")
    if len(encoded) > MAX_BYTES:
        raise too_large(id_, MAX_BYTES)
    return ToolAnswer(
        ok=answer.ok,
        status=answer.status,
        body=pydantic_core.from_json(encoded),
        size=len(encoded),
        notes=answer.notes,
    )


def _failed(problem: str, status: str = "error") -> ToolAnswer:
    return ToolAnswer(ok=False, status=status, body={"error": problem})


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a tool cannot be used, and the status of answers to its calls."""

    why: str
    status: str = "not ready"


async def _fault(tool: IntegratedTool) -> _Fault | None:
    """Return why a tool cannot be used; None where it can."""
    if tool.check is None:
        return None
    try:
        await tool.check()
    except _LACKS as error:
        return _Fault(str(error), NOT_INSTALLED)
    except (EgotoolsError, ClientError) as error:
        return _Fault(str(error))
    except Exception as error:
        return _Fault(str(ToolCallError(f"its check failed ({type(error).__name__}: {error})", subject=tool.name)))
    return None
