"""LangGraph: an agent that retrieves its tools, called as that of ``langgraph-bigtool``.

All that a conversation found and did is in the state of the graph: a checkpoint can be resumed by another process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from egotools.integrations import framework
from egotools.integrations.langchain import structured_tools
from egotools.integrations.tool_source import AnyTool, ToolSource

with framework("langgraph"):
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import Send, interrupt


def _joined(left: list[str], right: list[str]) -> list[str]:
    """The ids once each, the newest last."""
    return list(dict.fromkeys(reversed([*left, *right])))[::-1]


class ToolsState(MessagesState):
    """The messages, and what the conversation knows of tools.

    :param selected_tool_ids: ids of the tools that are bound for the next turn.
    :param done_tool_ids: ids of those that were called with success.
    :param known_values: names of values that answers gave; the values are empty.
    """

    selected_tool_ids: Annotated[list[str], _joined]
    done_tool_ids: Annotated[list[str], _joined]
    known_values: Annotated[dict[str, str], lambda left, right: {**left, **right}]


def create_agent(llm: Any, source: ToolSource) -> StateGraph[Any]:
    """Return the graph of an agent; compile it, with a checkpointer if calls are to be approved.

    The model is given the search and what it found. A call that may change something interrupts the graph, unless the source has
    ``confirm``: resume it with ``Command(resume=True)`` or ``Command(resume=False)``.

    :param llm: a chat model with ``bind_tools``.
    :param source: with ``search_name="retrieve_tools"`` the search has the name that it has in ``langgraph-bigtool``.
    """

    def agent(state: ToolsState) -> dict[str, Any]:
        task = _task(source, state)
        model = llm.bind_tools(structured_tools(task))
        return {"messages": [model.invoke(state["messages"])]}

    def call_tool(state: Any) -> dict[str, Any]:
        task, call = _task(source, state), state["call"]
        tool = next((tool for tool in structured_tools(task, _interrupt) if tool.name == call["name"]), None)
        if tool is None:
            text = f"There is no tool {call['name']!r} here. Search with {task.search_name} first."
            return {"messages": [ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")]}
        before = set(task.tools)
        message = tool.invoke({**call, "type": "tool_call"})
        source.remember(task.tools.values())
        new = [tool.id for name, tool in task.tools.items() if name not in before]
        return {
            "messages": [message],
            "selected_tool_ids": new,
            "done_tool_ids": list(task.done),
            "known_values": dict(task.have),
        }

    graph = StateGraph(ToolsState)
    graph.add_node("agent", agent)
    graph.add_node("call_tool", call_tool)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", _next, ["call_tool", END])
    graph.add_edge("call_tool", "agent")
    return graph


def _next(state: ToolsState) -> list[Send] | Literal["__end__"]:
    """Each call is a task of its own: resuming one that was interrupted repeats no other."""
    last = state["messages"][-1]
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    return [Send("call_tool", {**state, "call": call}) for call in calls] or "__end__"


def _task(source: ToolSource, state: Mapping[str, Any]) -> ToolSource:
    task = source.fresh(state.get("selected_tool_ids", ()))
    task.done.update(dict.fromkeys(state.get("done_tool_ids", ())))
    task.have.update(state.get("known_values", {}))
    return task


def _interrupt(tool: AnyTool, arguments: Mapping[str, Any]) -> bool:
    return interrupt({"tool": tool.id, "name": tool.call_name, "arguments": dict(arguments)}) is True
