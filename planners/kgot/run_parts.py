"""The parts that take the steps of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.step_makers import Answerer, GraphReader, GraphWriter, NextStep, ToolChooser

__all__ = ["StepMakers", "UnsentPrompt"]


class UnsentPrompt(Protocol):
    """Counts the prompt for writes that a model would get where rules write."""

    def tokens(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> int:
        """Return its tokens; the arguments are those of :meth:`planners.kgot.step_makers.GraphWriter.write`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMakers:
    """Who take the steps.

    :param script: reads the graph by Python, for the kinds ``script`` and ``fusion``; None: these are left out.
    :param unsent: counts what rules that write spare beside a model; None where nothing is spared.
    """

    next_step: NextStep
    chooser: ToolChooser
    writer: GraphWriter
    reader: GraphReader
    answerer: Answerer
    script: GraphReader | None = None
    unsent: UnsentPrompt | None = None
