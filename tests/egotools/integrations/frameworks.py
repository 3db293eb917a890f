"""Each framework as its users run it: a task, a source, and what comes out, for the conformance suite."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import openai

from egotools.integrations import ToolSource
from examples.agents import anthropic_loop, openai_loop
from tests.egotools.integrations.http_models import ChatOpenAI, OpenAI

TASK = "which orders has the customer Acme?"

Run = Callable[[ToolSource, bool | None], str]
"""Runs the task; the flag approves or rejects what the framework asks for, None leaves it open. Returns the last text."""


def langgraph(source: ToolSource, approve: bool | None) -> str:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from egotools.integrations.langgraph import create_agent

    graph = create_agent(ChatOpenAI(), source).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    state = graph.invoke({"messages": [("user", TASK)]}, config)
    if "__interrupt__" in state and approve is not None:
        state = graph.invoke(Command(resume=approve), config)
    return "interrupted" if "__interrupt__" in state else str(state["messages"][-1].content)


def langchain(source: ToolSource, approve: bool | None) -> str:
    from langchain_core.messages import HumanMessage

    from egotools.integrations.langchain import structured_tools

    messages: list[Any] = [HumanMessage(TASK)]
    while True:
        tools = {tool.name: tool for tool in structured_tools(source)}
        said = ChatOpenAI().bind_tools(list(tools.values())).invoke(messages)
        messages.append(said)
        if not said.tool_calls:
            return str(said.content)
        messages += [
            asyncio.run(tools[call["name"]].ainvoke({**call, "type": "tool_call"})) for call in said.tool_calls
        ]


def llamaindex(source: ToolSource, approve: bool | None) -> str:
    from llama_index.core.agent.workflow import FunctionAgent

    from egotools.integrations.llamaindex import ToolSourceRetriever

    async def run() -> str:
        agent = FunctionAgent(llm=OpenAI(), tool_retriever=ToolSourceRetriever(source), streaming=False)
        return str(await agent.run(TASK))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its workflows read every attribute of a pydantic model
        return asyncio.run(run())


def openai_agents(source: ToolSource, approve: bool | None) -> str:
    from agents import OpenAIResponsesModel, Runner, set_tracing_disabled

    from egotools.integrations.openai_agents import ToolSourceAgent

    set_tracing_disabled(True)

    async def run() -> str:
        async with openai.AsyncOpenAI() as client:
            agent = ToolSourceAgent("agent", source=source, model=OpenAIResponsesModel("scripted", client))
            result = await Runner.run(agent, TASK)
            if result.interruptions and approve is not None:
                state = result.to_state()
                for each in result.interruptions:
                    state.approve(each) if approve else state.reject(each)
                result = await Runner.run(agent, state)
            return "interrupted" if result.interruptions else str(result.final_output)

    return asyncio.run(run())


def pydantic_ai(source: ToolSource, approve: bool | None) -> str:
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.models.openai import OpenAIChatModel

    from egotools.integrations.pydantic_ai import ToolSourceToolset

    async def run() -> str:
        agent = Agent(OpenAIChatModel("scripted"), output_type=[str, DeferredToolRequests])
        toolsets = [ToolSourceToolset(source)]
        result: Any = await agent.run(TASK, toolsets=toolsets)
        if isinstance(result.output, DeferredToolRequests) and approve is not None:
            decisions: Any = DeferredToolResults(
                approvals={call.tool_call_id: approve for call in result.output.approvals}
            )
            history = result.all_messages()
            result = await agent.run(message_history=history, deferred_tool_results=decisions, toolsets=toolsets)
        return result.output if isinstance(result.output, str) else "interrupted"

    return asyncio.run(run())


def haystack(source: ToolSource, approve: bool | None) -> str:
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage

    from egotools.integrations.haystack import ToolSourceToolset

    agent = Agent(chat_generator=OpenAIChatGenerator(model="scripted"), tools=ToolSourceToolset(source))
    return str(agent.run(messages=[ChatMessage.from_user(TASK)])["last_message"].text)


def openai_plain(source: ToolSource, approve: bool | None) -> str:
    return openai_loop.run(TASK, source, "scripted")


def anthropic_plain(source: ToolSource, approve: bool | None) -> str:
    return anthropic_loop.run(TASK, source, "scripted")


@dataclass(frozen=True, slots=True)
class Framework:
    """One framework.

    :param asks: whether it has an approval of its own, which is used where the source has no ``confirm``.
    :param searches: whether it searches for the task before the first turn.
    """

    run: Run
    asks: bool = False
    searches: bool = False


FRAMEWORKS = {
    "langgraph": Framework(langgraph, asks=True),
    "langchain": Framework(langchain),
    "llamaindex": Framework(llamaindex, searches=True),
    "openai-agents": Framework(openai_agents, asks=True),
    "pydantic-ai": Framework(pydantic_ai, asks=True),
    "haystack": Framework(haystack),
    "openai": Framework(openai_plain),
    "anthropic": Framework(anthropic_plain),
}
