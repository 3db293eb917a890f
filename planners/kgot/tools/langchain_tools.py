"""Tools of LangChain in a run, and tools of a run in LangChain; needs the extra ``langchain``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import pydantic_core

from egotools import ClientError, Tool
from egotools.calling.invoker import ToolInvoker
from egotools.integrations.tool_source import Offer
from ontology.errors import EgotoolsError, ToolCallError
from ontology.tool_effects import Effect
from planners.calls.fenced_answer import fence_answer
from planners.kgot.tools.integrated_tool import MAX_DESCRIPTION
from planners.kgot.tools.tool_set import ToolSet

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["base_tools", "register_langchain"]

_MOST_LEVELS = 5
"""Of definitions that name one another, as in a tree: models fill no deeper arguments."""


def register_langchain(tools: ToolSet, tool: BaseTool, *, effect: Effect = "change") -> str:
    """Register a tool of LangChain and return its id. What it raises for its caller is an answer that is not ``ok``.

    :param effect: what a call does; LangChain does not say, so a call is taken to change something unless whoever registers knows better.
    :raises InvalidArgumentError: when its description is empty or longer than models take, or its name is taken or cannot be one.
    :raises MissingPackageError: without the extra ``langchain``.
    """
    _check_installed()
    schema = _schema(tool)
    return tools.register(
        _called(tool),
        name=re.sub(r"[^a-z0-9_]+", "_", tool.name.lower()).strip("_")[:64],
        description=tool.description.strip(),
        inputs={
            name: _inlined(each, schema.get("$defs", {}), 0) for name, each in schema.get("properties", {}).items()
        },
        required=tuple(schema.get("required", ())),
        effect=effect,
    )


def _called(tool: BaseTool) -> Callable[..., Awaitable[Any]]:
    from langchain_core.tools import ToolException

    async def call(**arguments: Any) -> Any:
        try:
            return pydantic_core.to_jsonable_python(await tool.ainvoke(arguments), inf_nan_mode="null", fallback=str)
        except (ToolException, ValueError) as error:  # a ValueError is one of arguments that do not fit the schema
            raise ToolCallError(
                f"{type(error).__name__}: {error}", subject=tool.name, remedy="Call it with other arguments"
            ) from error

    return call


def base_tools(tools: Iterable[Tool], invoker: ToolInvoker) -> list[BaseTool]:
    """Return tools for an agent of LangChain. They are awaited only; answers are fenced, and errors become messages.

    :param invoker: asks for consent where a call needs it.
    :raises MissingPackageError: without the extra ``langchain``.
    """
    _check_installed()
    return [_base_tool(tool, invoker) for tool in tools]


def _base_tool(tool: Tool, invoker: ToolInvoker) -> BaseTool:
    from langchain_core.tools import ToolException

    from egotools.integrations.langchain import structured_tool

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
    description = (tool.description or tool.title or tool.name)[:MAX_DESCRIPTION]
    return structured_tool(Offer(tool.call_name or tool.name, description, parameters), call, acall)


def _schema(tool: BaseTool) -> dict[str, Any]:
    """The JSON Schema of the arguments that a model gives: without those that a framework injects."""
    given: Any = tool.tool_call_schema
    return dict(given) if isinstance(given, dict) else dict(given.model_json_schema())


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


def _check_installed() -> None:
    """:raises MissingPackageError: without LangChain, or with a version that is not tested."""
    import egotools.integrations.langchain  # noqa: F401  # checks the versions
