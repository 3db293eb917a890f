"""A run while it goes on: its parts, what it knows, and how a step that fails is left out."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from egotools.calling.invoker import ToolInvoker
from ontology.errors import BudgetExceededError
from planners.calls.clean_values import clean_text, cleaned
from planners.calls.fence_marks import FenceMarks
from planners.calls.sandbox import Sandbox
from planners.calls.tool_finder import Finder
from planners.journal.recorded import error_text as said
from planners.journal.step_log import emit
from planners.kgot.kgot_events import Dropped, GraphChanged
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask, MadeCall, TaskView
from planners.kgot.model_availability import ModelAvailability
from planners.kgot.step_makers import StepMakers
from planners.stores.graph_text import state_text
from planners.stores.property_graph import GraphState, PropertyGraph

__all__ = ["RunState"]

T = TypeVar("T")
U = TypeVar("U")

_VALUE_CHARS = 2_000  # of one value in a prompt: a page of text
_PROBLEM_CHARS = 1_000  # of a step that is left out, in its event


@dataclass(slots=True, kw_only=True)
class RunState:
    """One run.

    :ivar iteration: from 1; 0 before the first.
    :ivar state: the graph of the last good step.
    :ivar text: the same as prompts have it.
    :ivar asked: the calls that were made, by tool and arguments; none is made twice.
    :ivar fruitless: the queries that gave nothing, and those that failed.
    :ivar faults: how the latter failed, by query.
    :ivar missing: what the graph lacked at last; the task itself where no vote said it.
    :ivar availability: whether the model can still be reached.
    :ivar vote_fault: of the first vote of the last decision that failed; empty where none did.
    """

    task: KgotTask
    graph: PropertyGraph
    makers: StepMakers
    finder: Finder
    invoker: ToolInvoker
    sandbox: Sandbox
    settings: KgotSettings
    marks: FenceMarks
    iteration: int = 0
    state: GraphState = field(default_factory=GraphState)
    text: str = field(default_factory=lambda: state_text(GraphState()))
    calls: list[MadeCall] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    fruitless: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    availability: ModelAvailability = field(default_factory=ModelAvailability)
    vote_fault: str = ""

    def view(self) -> TaskView:
        """Return what a step sees."""
        return TaskView(
            task=self.task,
            iteration=self.iteration,
            graph=self.state,
            graph_text=self.text,
            calls=tuple(self.calls),
            fruitless=tuple(self.fruitless),
            faults=dict(self.faults),
        )

    async def contained(self, step: str, work: Awaitable[T], otherwise: U) -> T | U:
        """Return what a step gives, clean; where it fails, tell so and return another value. Only an exceeded budget ends the run.

        Whatever is raised counts as a failure: models, tools and stores give what nobody foresaw.
        """
        try:
            return cleaned(await work)
        except BudgetExceededError:
            raise
        except Exception as error:
            self.drop(step, said(error))
            return otherwise

    def drop(self, step: str, problem: str) -> None:
        """Tell that a step was left out."""
        emit(Dropped(iteration=self.iteration, step=step, problem=clean_text(problem)[:_PROBLEM_CHARS]))

    async def read_graph(self) -> None:
        """Take the state of the graph for what the next steps see, and tell it; where it cannot be read, keep the last one."""
        state = await self.contained("state", self.graph.state(), None)
        if state is None:
            return
        if state != self.state:
            self.text = _bounded(state_text(state, longest=_VALUE_CHARS), self.settings.max_graph_chars)
        self.state = state
        emit(GraphChanged(iteration=self.iteration, state=state))


def _bounded(text: str, most: int) -> str:
    """Cut a text at the end of a line, and say how many lines are left out."""
    if len(text) <= most:
        return text
    kept = text[:most].rpartition("\n")[0]
    return f"{kept}\n({text.count(chr(10)) - kept.count(chr(10))} more lines are left out)"
