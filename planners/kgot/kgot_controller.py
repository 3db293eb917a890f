"""The run of a task: decide, then enlarge the graph or ask it, until a query answers the task (sections 3 and 4 of the paper, appendix B.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from egotools.calling.invoker import ToolInvoker
from planners.calling.sandbox import Sandbox
from planners.graphs.property_graph import GraphState, PropertyGraph
from planners.kgot.kgot_events import KgotEvent, Outcome
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask, MadeCall
from planners.kgot.run_parts import StepMakers, TaskFinder

__all__ = ["KgotRun", "solve_task"]

_SETTINGS = KgotSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotRun:
    """A run that has ended.

    :param answer: empty where there is none.
    :param missing: what was missing at last, or why the run ended; empty for a solved task.
    :param state: the graph of the last good step.
    :param iterations: that were begun.
    """

    answer: str
    outcome: Outcome
    missing: str
    state: GraphState
    calls: tuple[MadeCall, ...]
    iterations: int


def _unheard(event: KgotEvent) -> None:
    """Do nothing."""


async def solve_task(
    task: KgotTask,
    graph: PropertyGraph,
    makers: StepMakers,
    finder: TaskFinder,
    invoker: ToolInvoker,
    sandbox: Sandbox,
    *,
    settings: KgotSettings = _SETTINGS,
    observe: Callable[[KgotEvent], None] = _unheard,
    fence_key: bytes = b"",
) -> KgotRun:
    """Run a task.

    :param graph: of this run; what stands in it is part of the state.
    :param makers: who take the steps.
    :param finder: of tools for what is missing.
    :param invoker: asks for consent before calls that change something; its own retries multiply with those of the settings.
    :param sandbox: for scripts and for computations.
    :param observe: gets each event, on the event loop, in a fixed order.
    :param fence_key: of the marks around answers of tools; equal keys give equal prompts. A new one where empty.
    :raises InvalidArgumentError: when there is no task.
    """
    raise NotImplementedError
