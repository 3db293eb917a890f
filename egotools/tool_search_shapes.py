"""The messages of tool search in the APIs of Anthropic and OpenAI, made of answers of :class:`egotools.Client`.

In both APIs a model calls a search tool, this client executes the search, and the API loads the tools that the result names::

    answer = client.retrieve(**anthropic_asked(block), k=10, schema_format="anthropic")
    tools = [*tools, *anthropic_tools(answer, known=tools)]
    messages.append({"role": "user", "content": [anthropic_result(block["id"], answer)]})

Functions over plain values: nothing is imported and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from egotools.client_errors import InvalidRequestError
from egotools.search_tool import SEARCH_TEXT, Asked, read_asked, search_parameters
from egotools.values import RankedTool, Response

__all__ = [
    "SEARCH_NAME",
    "anthropic_asked",
    "anthropic_result",
    "anthropic_search_tool",
    "anthropic_tools",
    "openai_asked",
    "openai_result",
    "openai_search_tool",
]

SEARCH_NAME = "search_tools"
"""The name of the search tool."""
_NOTHING = "No tool of this catalogue fits the request."


def anthropic_search_tool(description: str = SEARCH_TEXT) -> dict[str, Any]:
    """The search tool for ``tools`` of Anthropic's Messages API; it must be loaded from the start.

    :param description: with what lies behind the search: ``search_description(client.catalog())`` of :mod:`egotools.search_tool`.
    """
    return {"name": SEARCH_NAME, "description": description, "input_schema": search_parameters()}


def anthropic_asked(block: Mapping[str, Any]) -> Asked:
    """What a ``tool_use`` block of the search tool asks for: arguments of :meth:`egotools.Client.retrieve`.

    :raises InvalidRequestError: when it has neither a need nor a query.
    """
    return read_asked(block.get("input"))


def anthropic_tools(answer: Response, *, known: Iterable[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """The found tools for ``tools`` of the next request, deferred, without those that are there already.

    Added at the end and never reordered, they leave what a prompt cache holds as it is.

    :param answer: with the schema format ``anthropic``.
    """
    names = {tool.get("name") for tool in known}
    return [{**_schema(tool.schema), "defer_loading": True} for tool in _offered(answer) if tool.call_name not in names]


def anthropic_result(tool_use_id: str, answer: Response) -> dict[str, Any]:
    """The ``tool_result`` block: a reference to each found tool, or that nothing fits."""
    references = [{"type": "tool_reference", "tool_name": tool.call_name} for tool in _offered(answer)]
    return {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": references or [{"type": "text", "text": _NOTHING}],
    }


def openai_search_tool(description: str = SEARCH_TEXT) -> dict[str, Any]:
    """The tool search, executed by the client, for ``tools`` of OpenAI's Responses API.

    :param description: as of :func:`anthropic_search_tool`.
    """
    return {
        "type": "tool_search",
        "execution": "client",
        "description": description,
        "parameters": search_parameters(),
    }


def openai_asked(item: Mapping[str, Any]) -> Asked:
    """What a ``tool_search_call`` item asks for: arguments of :meth:`egotools.Client.retrieve`.

    :raises InvalidRequestError: when it has neither a need nor a query.
    """
    return read_asked(item.get("arguments"))


def openai_result(call_id: str | None, answer: Response) -> dict[str, Any]:
    """The ``tool_search_output`` item, with the found tools whole: they are loaded from it.

    :param answer: with the schema format ``openai`` or ``openai_strict``.
    """
    functions = [_schema(tool.schema.get("function", {})) for tool in _offered(answer)]
    return {
        "type": "tool_search_output",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "tools": [{"type": "function", "strict": False, **function, "defer_loading": True} for function in functions],
    }


def _offered(answer: Response) -> list[RankedTool]:
    """The found tools without those whose schema the server left out, and said why."""
    return [tool for tool in answer.tools if tool.schema_json or not tool.schema_notes]


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    if not schema:
        raise InvalidRequestError(
            "the answer has no schemas of this API",
            code="INVALID_ARGUMENT",
            subject="schema_format",
            remedy="Retrieve with schema_format anthropic for Anthropic, openai for OpenAI.",
        )
    return dict(schema)
