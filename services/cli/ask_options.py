"""The options of ``egotools ask``: the graph, its catalog and operators, limits, and how a question goes on from a journal."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from typer import Option

from ontology.errors import InvalidArgumentError
from services.cli.console import stderr
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from services.jobs.ask_parts import AskPlan

__all__ = ["NO_TURN", "THE_COMPANY", "AskOptions", "TurnOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """What is asked, and how."""

    graph: Annotated[
        str,
        Option(
            "--graph",
            help="Graph that is asked: ladybug:PATH, neo4j:bolt://USER:PASSWORD@HOST:PORT, csv:FOLDER, graphml:FILE, or store:PATH "
            "(the tool graph of a store). Default: that of --store.",
        ),
    ] = ""
    store: Annotated[
        Path | None,
        Option(
            "--store",
            "-s",
            file_okay=False,
            envvar="EGOTOOLS_STORE",
            help="Store whose tool graph is asked. Default: the shipped company's.",
        ),
    ] = None
    catalog: Annotated[
        Path | None,
        Option(help="Accepted catalog of the graph (egotools catalog). Default: the shipped one, if there is one."),
    ] = None
    operators: Annotated[
        tuple[Path, ...],
        Option(
            "--operators",
            file_okay=False,
            metavar="DIR",
            help="Folder with further operators for a model, one in each file. Their code runs as yours. Repeat for several.",
        ),
    ] = ()
    descriptors: Annotated[
        str,
        Option(help="Whether a model sees what types and properties mean: on, or off."),
    ] = "on"
    steps: Annotated[int, Option(min=1, max=100, help="Steps at most.")] = 10
    max_seconds: Annotated[float, Option(min=0.0, help="Seconds for the whole run; 0: no limit.")] = 0.0
    all_operators: Annotated[
        bool, Option("--all-operators", help="Give a model all operators instead of those that a lookup finds.")
    ] = False

    def plan(self, endpoint: ChatEndpoint) -> AskPlan:
        """Return the plan of a question.

        :raises InvalidArgumentError: for a value that is not known, an option that would do nothing, or a broken operator.
        """
        from planners.graphseek.operators.operator import known_operators
        from planners.graphseek.turn import AgentSettings, Descriptors
        from services.jobs.ask_parts import AskPlan
        from services.jobs.cached_store import shipped_store
        from services.jobs.model_factory import open_chat

        url = endpoint.base_url if endpoint.base_url != os.environ.get("OPENAI_BASE_URL") else ""
        for option, given in (("--llm-url", url), ("--operators", self.operators)):
            if given and not endpoint.model:
                raise InvalidArgumentError("it needs --llm-model", subject=option, remedy="Give --llm-model too")
        if self.descriptors not in get_args(Descriptors):
            remedy = f"Use one of {', '.join(get_args(Descriptors))}"
            raise InvalidArgumentError(f"{self.descriptors!r} is none", subject="--descriptors", remedy=remedy)
        operators = tuple(known_operators(self.operators).values())
        chat = open_chat(endpoint, needed_by="a run by a model") if endpoint.model else None
        store = self.store
        if not self.graph and store is None:
            stderr.print("[dim]The tool graph of the shipped company is asked.[/]", highlight=False)
            store = shipped_store()
        shown: Any = self.descriptors  # one of them, as checked
        settings = AgentSettings(descriptors=shown, max_steps=self.steps, max_seconds=self.max_seconds or None)
        return AskPlan(
            graph=self.graph or f"store:{store}",
            catalog=self.catalog,
            operators=operators,
            settings=settings,
            chat=chat,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """How a question goes on from a journal."""

    journal: Annotated[
        Path | None,
        Option(
            help="Write the run to this file. The same question goes on with it; another one is the next turn of a conversation."
        ),
    ] = None
    replay: Annotated[bool, Option("--replay", help="Tell the last run of the journal again; nobody is asked.")] = False
    refine: Annotated[
        str, Option(help="Go on from the end of the journal's last run, its steps included, with this request.")
    ] = ""
    branch: Annotated[
        int | None, Option(min=0, help="Ask the journal's last question again, from after this step on.")
    ] = None

    def check(self, question: str) -> None:
        """Check that the options fit one another and the question.

        :raises InvalidArgumentError: when they do not.
        """
        options = (("--replay", self.replay), ("--refine", self.refine), ("--branch", self.branch is not None))
        chosen = [name for name, given in options if given]
        if len(chosen) > 1:
            raise InvalidArgumentError(f"it excludes {chosen[1]}", subject=chosen[0], remedy="Give one of them")
        if chosen and self.journal is None:
            raise InvalidArgumentError("it needs --journal", subject=chosen[0], remedy="Name the journal of the run")
        if chosen and question:
            raise InvalidArgumentError(f"{chosen[0]} takes no question", subject="question", remedy="Leave it out")
        if not chosen and not question.strip():
            raise InvalidArgumentError("there is no question", subject="question", remedy="Say what you want to know")


THE_COMPANY = AskOptions()
NO_TURN = TurnOptions()
