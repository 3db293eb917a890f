"""The options of ``egotools solve``: store, steps, models, tools, journal, batch."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ontology.errors import InvalidArgumentError
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from services.jobs.solve_plan import SolvePlan

__all__ = [
    "NO_BATCH",
    "NO_ENDPOINT",
    "NO_MODELS",
    "NO_RUN",
    "BatchOptions",
    "RunOptions",
    "ToolModelOptions",
    "check_together",
]


_NAMES = {"votes": "num_next_steps_decision"}
"""Option → the setting that has another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run goes."""

    graph: Annotated[
        str,
        Option(
            "--graph",
            help="Store of the task's graph: memory, rdf or neo4j:bolt://USER:PASSWORD@HOST:PORT. "
            "It must be empty, and is emptied when a run goes on.",
        ),
    ] = "memory"
    retrieve: Annotated[
        str,
        Option(
            "--retrieve", help="How the graph is asked: query, script (Python), direct (read by the model), fusion."
        ),
    ] = "query"
    noise: Annotated[
        str,
        Option(
            "--noise",
            help="What is removed from the graph after writes: keep (nothing), duplicates, or all (also what joins to nothing "
            "that is asked).",
        ),
    ] = "keep"
    next_step: Annotated[str, Option("--next-step", help="How votes decide: majority, or judge.")] = "majority"
    max_iterations: Annotated[int, Option(min=1, help="Steps before the answer is forced.")] = 7
    votes: Annotated[int, Option(min=1, max=100, help="Votes of a decision.")] = 5
    tools: Annotated[int, Option(min=1, max=8, help="The most tools of a search.")] = 8
    auto_k: Annotated[
        bool,
        Option(
            "--auto-k",
            help="The service chooses how many, up to --tools. Prompts are shorter; tools that are needed are left out more often.",
        ),
    ] = False
    max_seconds: Annotated[
        float, Option(min=0.0, help="Seconds for a whole run; 0: no limit. The same command goes on with a journal.")
    ] = 0.0
    max_calls: Annotated[int, Option(min=1, help="Calls of tools of a run.")] = 1_000

    def plan(self, endpoint: ChatEndpoint, models: ToolModelOptions) -> SolvePlan:
        """Return the plan of a run.

        :raises InvalidArgumentError: for a value that is not known.
        """
        from planners.kgot.kgot_settings import KgotSettings
        from services.jobs.solve_plan import ModelAddress, SolvePlan

        of_plan = ("graph", "max_calls", "max_seconds")
        given: dict[str, Any] = {  # any text: the settings check it
            _NAMES.get(each.name, each.name): getattr(self, each.name)
            for each in fields(self)
            if each.name not in of_plan
        }
        settings = KgotSettings(**given, max_seconds=self.max_seconds or None)
        return SolvePlan(
            graph=self.graph,
            settings=settings,
            endpoint=endpoint,
            tool_model=ModelAddress(url=models.tool_url, model=models.tool_model),
            vision_model=ModelAddress(url=models.vision_url, model=models.vision_model),
            search=models.search_url,
            max_calls=self.max_calls,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolModelOptions:
    """The model of the tool executor, and what integrated tools ask."""

    tool_model: Annotated[
        str,
        Option(
            "--tool-model",
            help="Model that defines the calls of tools. Default: that of --llm-model. The price of --llm-usd-per-1k is used for both.",
        ),
    ] = ""
    tool_url: Annotated[str, Option("--tool-url", help="Its endpoint. Default: that of --llm-url.")] = ""
    vision_model: Annotated[
        str,
        Option("--vision-model", help="Model that looks at images. Default: none."),
    ] = ""
    vision_url: Annotated[str, Option("--vision-url", help="Its endpoint. Default: that of --llm-url.")] = ""
    search_url: Annotated[
        str,
        Option(
            "--search-url",
            envvar="EGOTOOLS_SEARCH_URL",
            help="Search engine of the web tools, with {query}: it answers as SearXNG or SerpAPI. Default: none.",
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Many tasks."""

    tasks: Annotated[
        Path | None,
        Option(
            "--tasks", help="Solve the tasks of a file, JSON Lines: id, question, and perhaps files, answer, level."
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option("--out", "-o", file_okay=False, help="With --tasks: folder for journals, results and the report."),
    ] = None
    workers: Annotated[int, Option(min=1, max=256, help="With --tasks: tasks that are solved at once.")] = 1


NO_RUN = RunOptions()
NO_MODELS = ToolModelOptions()
NO_BATCH = BatchOptions()
NO_ENDPOINT = ChatEndpoint()


def check_together(endpoint: ChatEndpoint, batch: BatchOptions, on: str) -> None:
    """Check that no option is given without the one that it belongs to: it would do nothing.

    An address of the environment (``OPENAI_BASE_URL``) is there for other commands too, and needs no model.

    :raises InvalidArgumentError: when one is.
    """
    url = endpoint.base_url if endpoint.base_url != os.environ.get("OPENAI_BASE_URL") else ""
    given = {
        "--llm-url": (url, endpoint.model, "--llm-model"),
        "--llm-model": (endpoint.model, endpoint.base_url, "--llm-url"),
        "--out": (batch.out is not None, batch.tasks is not None, "--tasks"),
        "--workers": (batch.workers != 1, batch.tasks is not None, "--tasks"),
        "--on": (on != "local", batch.tasks is not None, "--tasks"),
    }
    for option, (is_given, has_other, other) in given.items():
        if is_given and not has_other:
            raise InvalidArgumentError(f"it needs {other}", subject=option, remedy=f"Give {other} too")
