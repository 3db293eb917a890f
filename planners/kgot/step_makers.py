"""Who takes the steps of a run: five small seams.

The controller asks them and decides; none of them changes the graph or calls a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from inference.chat import ChatModel
from ontology.errors import ModelError
from planners.calls.tool_finder import FoundTools
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.stores.property_graph import Operation

__all__ = [
    "Answerer",
    "BackendFactory",
    "GraphReader",
    "GraphWriter",
    "Insert",
    "NextStep",
    "Retrieve",
    "StepMakers",
    "ToolChooser",
    "UnusableStepError",
    "Vote",
    "WantedCall",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """The graph does not answer the task yet.

    :param reason: what is missing.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """The graph answers the task.

    :param query: in the language of the graph; or the answer itself, where the run retrieves without queries.
    """

    query: str


Vote: TypeAlias = Insert | Retrieve


class UnusableStepError(ModelError):
    """A model answers, but not in a form that can be used: its endpoint is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A call that shall be made."""

    tool_id: str
    arguments: Mapping[str, Any]


class NextStep(Protocol):
    """Decides whether the graph answers the task."""

    async def vote(self, view: TaskView, nth: int) -> Vote | None:
        """Return one vote; None where the answer of the model is unusable.

        :param nth: number of the vote, from 0: equal questions with another number are sampled anew.
        """
        ...

    async def judge(self, view: TaskView, votes: Sequence[Vote]) -> Vote | None:
        """Return the best of several votes, or None."""
        ...


class ToolChooser(Protocol):
    """Says what is missing, and which calls could bring it."""

    async def missing(self, view: TaskView, reasons: Sequence[str]) -> str:
        """Return the reasons as one text."""
        ...

    async def calls(self, view: TaskView, missing: str, found: FoundTools, nth: int) -> tuple[WantedCall, ...]:
        """Return calls of the tools that were found, or none."""
        ...


class GraphWriter(Protocol):
    """Turns answers of tools into writes."""

    async def write(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> tuple[Operation, ...]:
        """Return what is to be written."""
        ...

    async def fix(self, operation: Operation, fault: str) -> Operation | None:
        """Return a corrected operation, or None."""
        ...


class GraphReader(Protocol):
    """Queries the graph for the answer."""

    async def query(self, view: TaskView, wrong: str, *, forced: bool) -> str | None:
        """Return a query.

        :param wrong: one that gave nothing, or empty.
        :param forced: the limit of iterations is reached: the best that can be had.
        """
        ...

    async def fix(self, query: str, fault: str) -> str | None:
        """Return a corrected query, or None."""
        ...

    async def direct(self, view: TaskView, *, forced: bool) -> str | None:
        """Return the answer, read off the whole graph without a query; None where it does not stand in it."""
        ...


class Answerer(Protocol):
    """Makes the final answer of what a query gave."""

    async def maths(self, view: TaskView, partial: str) -> str | None:
        """Return Python that computes what is left to compute and prints it; None where nothing is."""
        ...

    async def fix(self, code: str, fault: str) -> str | None:
        """Return corrected Python, or None."""
        ...

    async def final(self, view: TaskView, partial: str, nth: int) -> str | None:
        """Return the answer in the form that the task asks for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMakers:
    """Who take the steps.

    :param script: reads the graph by Python, for the kinds ``script`` and ``fusion``; None: these are left out.
    """

    next_step: NextStep
    chooser: ToolChooser
    writer: GraphWriter
    reader: GraphReader
    answerer: Answerer
    script: GraphReader | None = None


BackendFactory: TypeAlias = Callable[[Mapping[str, ChatModel], bytes], StepMakers]
"""Makes those who take the steps, of models by their role, and of the key of the marks around answers of tools."""
