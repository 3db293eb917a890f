"""The integrated tools of a run: one call registers a function; they are documents of the catalogue, and are called like any other.

Tools of LangChain are registered by :func:`register_langchain`; :func:`base_tools` goes the other way. Both need the extra ``langchain``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pydantic_core

from egotools import ClientError, Tool, ToolRequestError
from egotools.call import Argument, Call
from egotools.calling.invoker import MAX_BYTES, ToolAnswer, ToolInvoker, too_large, too_slow
from egotools.calling.mcp_session import StrongerEffectError, stronger_effect
from egotools.calling.tool_request import build_request
from egotools.integrations.tool_source import Offer
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
from planners.calls.tool_finder import Finder, FoundTool, FoundTools
from planners.calls.untrusted import fence_answer

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["NAMESPACE", "NOT_INSTALLED", "IntegratedTool", "ToolSet", "base_tools", "register_langchain"]

NAMESPACE = "kgot"
NOT_INSTALLED = "not installed"
"""Status of an answer of a tool that lacks a package or the isolation of code on this machine: another attempt helps when they are there."""
_MAX_DESCRIPTION = 1_024
"""Characters of a description: servers with the OpenAI interface refuse a function with more."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # legal as a function of every model runtime
_MOST_LEVELS = 5
"""Of definitions that name one another, as in a tree: models fill no deeper arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegratedTool:
    """A tool that runs in this process.

    :param name: letters, digits and ``_``.
    :param function: takes the arguments by name; returns JSON values, or a whole :class:`ToolAnswer`.
    :param inputs: name → JSON Schema of each argument.
    :param required: names of the arguments without which it cannot be called.
    :param check: raises why the tool cannot be used here; None: it always can.
    :param timeout_s: seconds for a call.
    :raises InvalidArgumentError: when the name is none, the description is empty or too long, or a required argument is unknown.
    """

    name: str
    description: str
    function: Callable[..., Awaitable[Any]]
    inputs: Mapping[str, Mapping[str, Any]]
    required: Sequence[str] = ()
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    effect: Effect = "read"
    check: Callable[[], Awaitable[None]] | None = None
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        fault = ""
        if not _NAME.fullmatch(self.name):
            fault = "this is no name of a tool: it has letters, digits and _, at most 64"
        elif not 0 < len(self.description.strip()) <= _MAX_DESCRIPTION:
            fault = f"the description has {len(self.description):,} characters, and not 1 to {_MAX_DESCRIPTION:,}"
        elif unknown := set(self.required) - set(self.inputs):
            fault = f"the required argument {min(unknown)!r} is not among its inputs"
        if fault:
            raise InvalidArgumentError(fault, subject=self.name)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        properties = {name: dict(schema) for name, schema in self.inputs.items()}
        required = list(self.required)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def document(self) -> dict[str, Any]:
        """Return the tool as a row of a table of tools, which ``egotools build`` reads."""

        def row(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
            return {"name": name, "type": schema.get("type", "string"), "description": schema.get("description", "")}

        hints = {"read_only": self.effect == "read"} | ({"idempotent": True} if self.effect == "idempotent" else {})
        arguments = [{"name": name, "location": "argument"} for name in self.inputs]
        return {
            "id": f"{NAMESPACE}/{self.name}",
            "name": self.name,
            "description": self.description,
            "parameters": [row(*each) | {"required": each[0] in self.required} for each in self.inputs.items()],
            "returns": [row(*each) for each in self.outputs.items()],
            "input_schema": self.schema,
            "call": {"protocol": "python", "operation": f"{NAMESPACE}:{self.name}", "arguments": arguments},
            "metadata": {"namespace": NAMESPACE, **hints},
        }

    def tool(self) -> Tool:
        """Return the tool as the service would return it, for who binds tools without asking the service."""
        arguments = tuple(Argument(name=name, location="argument") for name in self.inputs)
        return Tool(
            id=f"{NAMESPACE}/{self.name}",
            name=self.name,
            title=self.name,
            description=self.description,
            namespace=NAMESPACE,
            input_schema_json=json.dumps(self.schema),
            call=Call(protocol="python", operation=f"{NAMESPACE}:{self.name}", arguments=arguments),
            call_name=self.name,
            effect=self.effect,
        )


class ToolSet:
    """Tools by id ``kgot/NAME``. Make one for each run: tools keep what belongs to it."""

    def __init__(self) -> None:
        self._tools: dict[str, IntegratedTool] = {}
        self._unusable: dict[str, ToolAnswer] = {}

    def register(self, function: Callable[..., Awaitable[Any]], **parts: Any) -> str:
        """Add a tool and return its id. See :class:`IntegratedTool` for its parts.

        :raises InvalidArgumentError: when the name is taken, or a part of the tool is not legal.
        """
        tool = IntegratedTool(function=function, **parts)
        id_ = f"{NAMESPACE}/{tool.name}"
        if id_ in self._tools:
            raise InvalidArgumentError("a tool of this name is registered", subject=tool.name)
        self._tools[id_] = tool
        return id_

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order in which the tools were registered."""
        return tuple(self._tools)

    def documents(self) -> list[dict[str, Any]]:
        """Return the tools as a JSON list that ``egotools build`` reads; ids and schemas stay as they are."""
        return [tool.document() for tool in self._tools.values()]

    def tools(self) -> list[Tool]:
        """Return the tools as the service would return them."""
        return [tool.tool() for tool in self._tools.values()]

    async def ready(self) -> Mapping[str, str]:
        """Check all tools at once, at the start of a run, and return why some cannot be used: id → reason, and what to do.

        One that is not ready answers later calls with the reason.
        """
        faults = await asyncio.gather(*(_fault(tool) for tool in self._tools.values()))
        self._unusable.clear()
        self._unusable |= {id_: fault for id_, fault in zip(self._tools, faults, strict=True) if fault is not None}
        return {id_: fault.body["error"] for id_, fault in self._unusable.items()}

    async def call(self, id_: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool. What goes wrong in it is an answer that is not ``ok``: ``{"error": …}``.

        :raises NotFoundError: when there is none of this id.
        :raises ToolRequestError: for an argument that its schema does not allow.
        :raises ClientDeadlineError: when it takes too long.
        :raises BudgetExceededError: when it asks a model, and the budget is used up.
        """
        if id_ in self._unusable:
            return self._unusable[id_]
        if id_ not in self._tools:
            raise NotFoundError("there is no integrated tool of this id", subject=id_)
        tool = self._tools[id_]
        request: Any = build_request(tool.tool().call, arguments, schema=tool.schema)
        return await _answer(tool, id_, request.arguments)

    def invoker(self, inner: ToolInvoker | None = None) -> ToolInvoker:
        """Return what answers calls of these tools itself, and hands on all others.

        It asks nobody for consent: hand it to :meth:`planners.calls.tool_access.ToolAccess.calling`, which does. A catalogue that
        says of a tool that it does less than it was registered with is not believed.

        :param inner: None: others are refused.
        """
        return _ToolSetInvoker(self, self._tools, inner)

    def finder(self, inner: Finder, *, most: int, always: Collection[str] = ()) -> Finder:
        """Return what finds tools without those that are not ready, and with some that are always at hand.

        :param most: tools of an answer.
        :param always: ids of tools of this set; they take the last places where a search does not find them.
        """
        return _ReadyFinder(inner, most, self._unusable, [tool for tool in self.tools() if tool.id in always])


@dataclass(frozen=True, slots=True)
class _ToolSetInvoker:
    tools: ToolSet
    own: Mapping[str, IntegratedTool]
    inner: ToolInvoker | None

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        if tool.id in self.own:
            effect = self.own[tool.id].effect
            if stronger_effect(tool.effect, effect) != (tool.effect or "change"):
                raise StrongerEffectError(replace(tool, effect=effect))
            return await self.tools.call(tool.id, arguments)
        if self.inner is not None:
            return await self.inner.invoke(tool, arguments)
        known = f"Tools: {', '.join(self.own)}."
        raise ToolRequestError("nothing here calls this tool", subject=tool.id, remedy=known)


@dataclass(frozen=True, slots=True)
class _ReadyFinder:
    inner: Finder
    most: int
    unready: Collection[str]
    always: Sequence[Tool]

    async def find(self, request: str) -> FoundTools:
        found = await self.inner.find(request)
        always = {tool.id: tool for tool in self.always if tool.id not in self.unready}
        ready = {each.tool.id: each for each in found.tools if each.tool.id not in self.unready}
        others = [id_ for id_ in ready if id_ not in always][: max(0, self.most - len(always))]
        tools = [each for id_, each in ready.items() if id_ in always or id_ in others]
        why = "always at hand for the files of a task"
        added = [tool for id_, tool in always.items() if id_ not in ready]
        tools += [FoundTool(rank=0, score=0.0, explanation=why, tool=tool) for tool in added]
        return replace(found, tools=tuple(replace(each, rank=rank) for rank, each in enumerate(tools, 1)))


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
    except Exception as error:  # also of code that another registered
        return _failed(error)
    answer = value if isinstance(value, ToolAnswer) else ToolAnswer(ok=True, status="ok", body=value)
    try:
        encoded = pydantic_core.to_json(answer.body, inf_nan_mode="null")
    except ValueError as error:  # also of text that UTF-8 does not have
        return _failed(f"the tool returned what JSON does not have ({error})")
    if len(encoded) > MAX_BYTES:
        raise too_large(id_, MAX_BYTES)
    return replace(answer, body=pydantic_core.from_json(encoded), size=len(encoded))


async def _fault(tool: IntegratedTool) -> ToolAnswer | None:
    """Return the answer of a tool that cannot be used, which says why; None where it can."""
    try:
        if tool.check is not None:
            await tool.check()
    except Exception as error:
        return _failed(error, "not ready")
    return None


def _failed(problem: str | Exception, status: str = "error") -> ToolAnswer:
    if isinstance(problem, MissingExtraError | IsolationError):
        status = NOT_INSTALLED
    if isinstance(problem, Exception) and not isinstance(problem, EgotoolsError | ClientError):
        problem = f"{type(problem).__name__}: {problem}"
    return ToolAnswer(ok=False, status=status, body={"error": str(problem)})


def register_langchain(tools: ToolSet, tool: BaseTool, *, effect: Effect = "change") -> str:
    """Register a tool of LangChain and return its id. What it raises for its caller is an answer that is not ``ok``.

    :param effect: what a call does; LangChain does not say, so a call is taken to change something unless whoever registers knows better.
    :raises InvalidArgumentError: when its description is empty or longer than models take, or its name is taken or cannot be one.
    :raises MissingPackageError: without the extra ``langchain``.
    """
    import egotools.integrations.langchain  # noqa: F401, I001  # first: it checks the versions
    from langchain_core.tools import ToolException

    async def call(**arguments: Any) -> Any:
        try:
            return pydantic_core.to_jsonable_python(await tool.ainvoke(arguments), inf_nan_mode="null", fallback=str)
        except (ToolException, ValueError) as error:  # a ValueError is one of arguments that do not fit the schema
            problem = f"{type(error).__name__}: {error}"
            raise ToolCallError(problem, subject=tool.name, remedy="Call it with other arguments") from error

    given: Any = tool.tool_call_schema  # of the arguments that a model gives: without those that a framework injects
    schema = dict(given) if isinstance(given, dict) else dict(given.model_json_schema())
    definitions = schema.get("$defs", {})
    return tools.register(
        call,
        name=re.sub(r"[^a-z0-9_]+", "_", tool.name.lower()).strip("_")[:64],
        description=tool.description.strip(),
        inputs={name: _inlined(each, definitions, 0) for name, each in schema.get("properties", {}).items()},
        required=tuple(schema.get("required", ())),
        effect=effect,
    )


def _inlined(schema: Any, definitions: dict[str, Any], depth: int) -> Any:
    """Return a part of a schema with its definitions in the places that name them; what lies too deep allows anything."""
    if isinstance(schema, list):
        return [_inlined(each, definitions, depth) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        found = {} if depth >= _MOST_LEVELS else _inlined(definitions[name], definitions, depth + 1)
        return {**found, **{key: each for key, each in schema.items() if key != "$ref"}}
    return {key: _inlined(each, definitions, depth) for key, each in schema.items()}


def base_tools(tools: Iterable[Tool], invoker: ToolInvoker) -> list[BaseTool]:
    """Return tools for an agent of LangChain. They are awaited only; answers are fenced, and errors become messages.

    :param invoker: asks for consent where a call needs it.
    :raises MissingPackageError: without the extra ``langchain``.
    """
    from egotools.integrations.langchain import structured_tool  # noqa: I001  # first: it checks the versions
    from langchain_core.tools import ToolException

    def base_tool(tool: Tool) -> BaseTool:
        async def acall(arguments: dict[str, Any]) -> str:
            try:
                answer = await invoker.invoke(tool, arguments)
            except (ClientError, EgotoolsError) as error:
                raise ToolException(str(error)) from error
            text = fence_answer(answer, tool_id=tool.id).text
            if not answer.ok:
                raise ToolException(text)
            return text

        def call(arguments: dict[str, Any]) -> str:
            raise ToolException("this tool is only awaited: call the agent with ainvoke")

        schema = tool.input_schema
        parameters = {**schema, "type": "object", "properties": dict(schema.get("properties") or {})}
        description = (tool.description or tool.title or tool.name)[:_MAX_DESCRIPTION]
        return structured_tool(Offer(tool.call_name or tool.name, description, parameters), call, acall)

    return [base_tool(tool) for tool in tools]
