"""Twenty tasks over 312 + 40 tools through ``egotools mcp``: ``python -m research.agent_runs.run_agents --endpoint URL``.

``scripted`` makes the calls of a task, but only with tools that the search has given it; ``bound`` makes them with all tools in the prompt;
``model`` is an agent loop of pydantic-ai with the model of the endpoint. Prompts are counted by the endpoint's template and tokenizer. What
is done is judged by the records afterwards, what is said by the texts that it must have.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import mcp_types as types
import typer
from mcp import Client
from pydantic import BaseModel

from ontology.files import write_file
from research.agent_runs.agent_world import (
    AgentWorld,
    Records,
    Task,
    agent_world,
    build_catalogue,
    filled,
    read_tasks,
    solved,
)
from research.agent_runs.chat_endpoint import ChatEndpoint
from scripts.run_command import run_command
from services.server.process import server_process

__all__ = ["Run", "scripted"]

_INSTRUCTIONS = (
    "You do what a colleague asks, with the tools of the company. Today is 2026-11-20. search_tools finds tools for a need in plain words; "
    "call_tool calls one that was found, by its id, with arguments by its inputSchema. A name is no id: find the record first. "
    "When all is done, call final_result with what the colleague wants to know."
)
_OFFERED = ("search_tools", "call_tool")
_STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One task by one policy; ``failure`` is empty where it is solved."""

    task: str
    policy: str
    failure: str
    calls: int
    prompts: int
    prompt_tokens: int
    seconds: float


class Answer(BaseModel):
    """The end of a task: what the colleague is told."""

    text: str


async def _consent(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    """The user says yes: the tasks ask for what is done."""
    fields = getattr(params, "requested_schema", {}).get("properties", {})
    return types.ElicitResult(action="accept", content=dict.fromkeys(fields, True))


class _Conversation:
    """The prompts that a scripted policy would put before the model, and their tokens."""

    def __init__(self, endpoint: ChatEndpoint, request: str, tools: Sequence[tuple[str, str, Any]]) -> None:
        final = ("final_result", "The end of a task.", Answer.model_json_schema())
        self._endpoint = endpoint
        self._messages = [endpoint.system(_INSTRUCTIONS, [*tools, final]), {"role": "user", "content": request}]
        self.prompts = self.tokens = 0

    def turn(self, tool: str, arguments: Mapping[str, Any], answer: str = "") -> None:
        """Count the prompt before a call, then add the call and its answer."""
        self.prompts += 1
        self.tokens += self._endpoint.tokens(self._messages)
        said = json.dumps({"tool": tool, "arguments": dict(arguments)})
        self._messages.append({"role": "assistant", "content": said})
        self._messages.append({"role": "user", "content": f"{tool} answers: {self._endpoint.shown(answer)}"})


async def scripted(
    task: Task, world: AgentWorld, endpoint: ChatEndpoint, *, words: str, k: int, bound: Sequence[Any] = ()
) -> tuple[Run, str]:
    """Make the calls of a task in order.

    :param words: what is searched before each call: the task's own ``request``, with what is done, or the ``need`` of the call.
    :param bound: name, description and schema of all tools; then nothing is searched.
    :returns: the run, and all that the tools answered.
    """
    started, failure, calls = time.perf_counter(), "", 0
    answers: list[list[Any]] = []
    done: list[str] = []
    async with Client(world.server, elicitation_callback=_consent, read_timeout_seconds=60) as client:
        listed = [(tool.name, tool.description or "", tool.input_schema) for tool in (await client.list_tools()).tools]
        talk = _Conversation(endpoint, task.request, bound or [tool for tool in listed if tool[0] in _OFFERED])
        for call in task.calls:
            if not bound:
                query = {"query": task.request if words == "request" else call["need"], "k": k, "done": done}
                found = _text(await client.call_tool("search_tools", query))
                talk.turn("search_tools", query, found)
                if call["tool"] not in {tool["id"] for tool in json.loads(found)["tools"]}:
                    failure = f"not found: {call['tool']}"
                    break
            answers.append([])
            for arguments in filled(call["arguments"], answers):
                result = await client.call_tool("call_tool", {"id": call["tool"], "arguments": arguments})
                talk.turn(call["tool"] if bound else "call_tool", arguments, _text(result))
                calls += 1
                if result.is_error:
                    raise RuntimeError(f"{task.id}: {call['tool']}: {_text(result)}")
                answers[-1].append(_value(_text(result)))
            done.append(call["tool"])
        talk.turn("final_result", {})
    policy = "bound" if bound else f"scripted, {words}"
    run = Run(
        task=task.id,
        policy=policy,
        failure=failure,
        calls=calls,
        prompts=talk.prompts,
        prompt_tokens=talk.tokens,
        seconds=time.perf_counter() - started,
    )
    return run, json.dumps(answers, ensure_ascii=False)


def _text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def _value(fenced: str) -> Any:
    """The JSON inside of a fenced answer."""
    for line in (fenced, *fenced.splitlines()):
        try:
            return json.loads(line)
        except ValueError:
            continue
    start = min(at for at in (fenced.find("{"), fenced.find("[")) if at >= 0)
    return json.JSONDecoder().raw_decode(fenced[start:])[0]


async def by_model(task: Task, world: AgentWorld, endpoint: ChatEndpoint, *, limit_s: float) -> tuple[Run, str]:
    """Let the model do a task in the agent loop of pydantic-ai. Its MCP client cannot be asked for consent, so tasks that change something stay undone."""
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.usage import RunUsage, UsageLimits

    started, usage, failure, said = time.perf_counter(), RunUsage(), "", ""
    transport = StdioTransport(command=world.server.command, args=list(world.server.args))
    tools = MCPToolset(transport, init_timeout=60, read_timeout=60)
    agent = Agent(
        endpoint.model(),
        toolsets=[tools.filtered(lambda context, tool: tool.name in _OFFERED)],
        output_type=Answer,
        instructions=_INSTRUCTIONS,
        retries=3,
    )
    try:
        async with asyncio.timeout(limit_s):
            said = (
                await agent.run(task.request, usage=usage, usage_limits=UsageLimits(request_limit=_STEPS))
            ).output.text
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"[:200]
    seconds = time.perf_counter() - started
    return Run(
        task=task.id,
        policy="model",
        failure=failure,
        calls=usage.tool_calls,
        prompts=usage.requests,
        prompt_tokens=usage.input_tokens,
        seconds=seconds,
    ), said


def main(
    endpoint: Annotated[
        str, typer.Option(help="A server of llama.cpp with the model: it counts tokens, and is the model.")
    ],
    policies: Annotated[str, typer.Option(help="Of request, need, model; bound always runs.")] = "request,need",
    only: Annotated[str, typer.Option(help="Ids of tasks, with commas.")] = "",
    k: Annotated[int, typer.Option(help="Tools that a search gives.")] = 10,
    shown: Annotated[int, typer.Option(help="Characters of a tool's answer that the model gets.")] = 8_000,
    limit_s: Annotated[float, typer.Option(help="Seconds of a task by the model.")] = 1_800.0,
    out: Annotated[Path, typer.Option(help="File of the runs.")] = Path("out/agent-runs.jsonl"),
) -> None:
    """Run the tasks; print each run and the table."""
    chat = ChatEndpoint(endpoint, shown=shown, timeout_s=limit_s)
    wanted = [task for task in read_tasks() if not only or task.id in only.split(",")]
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="egotools-agents-") as name:
        folder = Path(name)
        tools = build_catalogue(folder / "store", folder)
        with server_process(folder / "store") as server:
            bound = asyncio.run(_all_tools(server["address"]))
            print(f"{tools} tools; their schemas are {chat.tokens([chat.system('', bound)]):,} tokens")
            for task in wanted:
                for run in _of_task(
                    task, folder / task.id, server["address"], chat, bound, policies.split(","), k, limit_s
                ):
                    print(json.dumps(asdict(run)), flush=True)
                    runs.append(run)
                    write_file(out, "".join(json.dumps(asdict(each)) + "\n" for each in runs))
    print(table(runs))


async def _all_tools(address: str) -> list[tuple[str, str, Any]]:
    """Name, description and schema of every tool of the catalogue, as MCP lists them."""
    from egotools import AsyncClient

    async with AsyncClient(address) as client:
        found = [await client.get_tool(id, schema_format="mcp") async for id in client.tool_ids()]
    return [(tool.call_name, tool.schema.get("description", ""), tool.schema.get("inputSchema", {})) for tool in found]


def _of_task(
    task: Task,
    folder: Path,
    address: str,
    chat: ChatEndpoint,
    bound: Sequence[Any],
    policies: Sequence[str],
    k: int,
    limit_s: float,
) -> list[Run]:
    """Every policy on one task, each in a world of its own; the first is ``bound``, which shows what the task changes."""
    runs: list[Run] = []
    gold: Records = {}
    for policy in ("bound", *policies):
        with agent_world(folder / policy, address) as world:
            if policy == "model":
                run, said = asyncio.run(by_model(task, world, chat, limit_s=limit_s))
            else:
                words = "" if policy == "bound" else policy
                run, said = asyncio.run(
                    scripted(task, world, chat, words=words, k=k, bound=bound if policy == "bound" else ())
                )
            changed = world.changed()
            gold = changed if policy == "bound" else gold
            runs.append(Run(**{**asdict(run), "failure": run.failure or solved(task, said, changed, gold)}))
    return runs


def table(runs: Sequence[Run]) -> str:
    """Solved tasks and mean prompt tokens a task, by policy, of those that a policy was run on."""
    rows = ["| policy | tasks | solved | prompt tokens a task | prompts a task |", "|---|---:|---:|---:|---:|"]
    for policy in dict.fromkeys(run.policy for run in runs):
        mine = [run for run in runs if run.policy == policy]
        means = [sum(getattr(run, name) for run in mine) / len(mine) for name in ("prompt_tokens", "prompts")]
        rows.append(
            f"| {policy} | {len(mine)} | {sum(not run.failure for run in mine)} | {means[0]:,.0f} | {means[1]:.1f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    run_command(main)
