"""What one run of ``egotools solve`` works with, opened and closed again: store, sandbox, tools, models, the search for tools."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from typer import Option

from egotools import AsyncClient
from inference.chat import Budget
from inference.openai_client import OpenAIEndpoint
from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError, IsolationError
from planners.calls.sandbox import Sandbox
from planners.calls.tool_access import Ask, CallLimits, ToolAccess, always
from planners.calls.tool_finder import ToolFinder
from planners.calls.untrusted import FenceMarks
from planners.journal.recorded import header_of
from planners.journal.run_journal import RunJournal
from planners.kgot.kgot_task import MODEL_RETRIES, KgotSettings, KgotTask
from planners.kgot.recorded_run import RunHeader, SolveParts
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolModels, standard_tools
from planners.kgot.tools.web_tools import WebTools
from planners.stores import open_graph
from services.jobs.plans import ChatEndpoint, Rare, open_chat

_VISION_S = 120.0
_NO_RETRIES = RetryPolicy(max_retries=0)  # the run itself tries again


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePlan:
    """How tasks are solved. It can be sent to another process."""

    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    graph: Annotated[str, Option("--graph", help="The task's graph: memory, rdf or neo4j:bolt://….")] = "memory"
    tool_model: Annotated[str, Option("--tool-model", help="NAME[@URL]: model that defines the calls.")] = ""
    vision_model: Annotated[str, Rare("--vision-model", help="NAME[@URL]: model that looks at images.")] = ""
    search: Annotated[
        str,
        Rare(
            "--search-url",
            envvar="EGOTOOLS_SEARCH_URL",
            help="Search engine of the web tools, with {query}: it answers as SearXNG or SerpAPI.",
        ),
    ] = field(default="", repr=False)
    max_calls: Annotated[int, Rare(min=1, help="Calls of tools of a run.")] = 1_000
    settings: KgotSettings = field(default_factory=KgotSettings)

    def require_model(self) -> None:
        """Check that a model is named."""
        if not self.endpoint.model:
            problem = "a task is solved by a model, and none is named"
            remedy = (
                "Name one of any server with the OpenAI interface: --llm-url URL --llm-model NAME; "
                "to see a recorded run without a model: egotools solve --demo"
            )
            raise InvalidArgumentError(problem, subject="--llm-model", remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveTools:
    """Where tools are found, and how they are called."""

    client: AsyncClient | None  # of the catalogue; None: the integrated tools alone
    access: ToolAccess
    ask: Ask  # who is asked before a call that may change something


@contextlib.asynccontextmanager
async def open_solve_parts(
    plan: SolvePlan, tools: SolveTools, task: KgotTask, journal: RunJournal, *, budget: Budget | None = None
) -> AsyncIterator[SolveParts]:
    """Open what a run works with; several may share a budget. EgotoolsError and ClientError when a part cannot be opened or does not answer."""
    plan.require_model()
    budget, settings = budget or plan.endpoint.budget(), plan.settings
    chat = tool_chat = open_chat(plan.endpoint, needed_by="a run by a model", budget=budget, policy=MODEL_RETRIES)
    if plan.tool_model:
        other = replace(plan.endpoint.of(plan.tool_model), max_tokens=0, max_usd=0.0)
        tool_chat = open_chat(other, needed_by="--tool-model", budget=budget, policy=MODEL_RETRIES)
    vision = None
    if plan.vision_model:
        endpoint, key = plan.endpoint.of(plan.vision_model), os.environ.get("OPENAI_API_KEY", "")
        where = {"base_url": endpoint.base_url, "api_key": key}
        vision = OpenAIEndpoint(endpoint.model, **where, timeout_s=_VISION_S, policy=MODEL_RETRIES)
    header = header_of(journal, RunHeader)
    marks = FenceMarks(bytes.fromhex(header.fence_key) if header is not None else b"")
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="egotools-solve-"))
        files, sandbox = TaskFiles(task.files, Path(folder)), Sandbox()
        await files.unpack_again(journal)
        models = ToolModels(chat=tool_chat, vision=vision, budget=budget)
        web = WebTools(plan.search, allowed_networks=tools.access.allowed_networks)
        own = standard_tools(files, sandbox, models=models, web=web)
        await own.ready()
        graph = await stack.enter_async_context(open_graph(plan.graph, sandbox))
        if graph.language == "python" and settings.retrieve != "direct":
            try:  # before a model is asked
                await sandbox.check()
            except IsolationError as error:
                problem = f"a graph in memory is asked by Python, which cannot be isolated here: {error.problem}"
                remedy = f"{error.remedy}; or take a store that needs no Python: --graph rdf"
                raise IsolationError(problem, subject=error.subject, remedy=remedy) from None
        limits = CallLimits(calls=plan.max_calls, seconds=settings.max_seconds)
        calling = await stack.enter_async_context(tools.access.calling(tools.ask, limits, own.invoker, _NO_RETRIES))
        yield SolveParts(
            graph=graph,
            models={"graph": chat, "tool": tool_chat},
            finder=own.finder(ToolFinder(tools.client, k=settings.tools) if tools.client is not None else None),
            invoker=calling,
            sandbox=sandbox,
            repeat=always if tools.access.policy.confirmed else tools.ask,
            settings=settings,
            about={"graph": plan.graph.partition(":")[0]},
            marks=marks,
        )
