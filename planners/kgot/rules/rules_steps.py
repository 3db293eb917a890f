"""The five steps of a run by rules: what is asked is read once, bound in the graph, got by tools, queried and said."""

from __future__ import annotations

from collections.abc import Sequence

from planners.finding.tool_finder import FoundTools
from planners.graphs.property_graph import Language
from planners.kgot.asked import Asked, QuestionReader, Unreadable
from planners.kgot.kgot_task import TaskView
from planners.kgot.rules.answer_forms import final_text, maths_code
from planners.kgot.rules.bound_question import bind_question
from planners.kgot.rules.compiled_question import compiled, compiled_sum
from planners.kgot.rules.file_needs import file_faults, file_need
from planners.kgot.rules.graph_facts import GraphFacts
from planners.kgot.rules.needed_calls import CallPlanner, calls_for
from planners.kgot.rules.resolved_question import ResolvedQuestion
from planners.kgot.rules.run_needs import Need, RulesMemory
from planners.kgot.rules.shape_writer import ShapeWriter
from planners.kgot.step_makers import Insert, Retrieve, StepMakers, Vote, WantedCall

__all__ = ["rules_makers"]

_CANNOT = "The question cannot be answered by rules: "


def rules_makers(
    reader: QuestionReader, *, language: Language = "cypher", planner: CallPlanner | None = None
) -> StepMakers:
    """Return the steps of one run. A run has steps of its own: they share what tool serves what purpose.

    :param reader: reads the question.
    :param language: of the run's graph.
    :param planner: the service's ``Plan``; None: arguments are bound by the tools' documents alone.
    """
    steps = _RulesSteps(reader, language=language, planner=planner)
    return StepMakers(
        next_step=steps,
        chooser=steps,
        writer=ShapeWriter(expected=steps.memory.expected),
        reader=_Reader(steps),
        answerer=_Answerer(steps),
    )


class _RulesSteps:
    """Implements :class:`planners.kgot.step_makers.NextStep` and :class:`planners.kgot.step_makers.ToolChooser`."""

    def __init__(self, reader: QuestionReader, *, language: Language, planner: CallPlanner | None) -> None:
        self._reader = reader
        self._language = language
        self._planner = planner
        self.memory = RulesMemory()
        self._read: tuple[TaskView, Asked | Unreadable] | None = None

    def asked(self, view: TaskView) -> Asked | Unreadable:
        """Return what the question asks, in view of the tables that were read; it is read once for each state."""
        known = self._read
        if known is not None and known[0].graph is view.graph and known[0].task is view.task:
            return known[1]
        files = [path.name for path in view.task.files]
        tables = GraphFacts.of(view.graph).tables() if files else ()
        found = self._reader.read(view.task.question, tables, files)
        self._read = (view, found)
        return found

    def resolved(self, view: TaskView) -> ResolvedQuestion | Need | Unreadable | Asked:
        """Return the question in the graph's terms, what is missing, or why neither; what only computes as it is."""
        need = file_need(view)
        if need is not None:
            return need
        asked = self.asked(view)
        if isinstance(asked, Unreadable):
            return Unreadable(reason="; ".join([asked.reason, *file_faults(view)]))
        if asked.expression:
            return asked
        return bind_question(asked, GraphFacts.of(view.graph), view.calls, self.memory)

    def query(self, view: TaskView) -> str | None:
        """Return the query that answers; None while something is missing."""
        return self._compiled(self.resolved(view))

    def _compiled(self, found: ResolvedQuestion | Need | Unreadable | Asked) -> str | None:
        if isinstance(found, Asked):
            return compiled_sum(found.expression, self._language)
        return compiled(found, self._language) if isinstance(found, ResolvedQuestion) else None

    async def vote(self, view: TaskView, nth: int) -> Vote | None:
        """See :class:`planners.kgot.step_makers.NextStep`. Each vote is the same."""
        found = self.resolved(view)
        if isinstance(found, Need):
            return Insert(reason=found.request)
        query = self._compiled(found)
        if query is not None and query not in view.fruitless:
            return Retrieve(query=query)
        reason = found.reason if isinstance(found, Unreadable) else self._why_nothing(view, query or "")
        return Insert(reason=f"{_CANNOT}{reason.rstrip('.')}.", is_final=True)

    def _why_nothing(self, view: TaskView, query: str) -> str:
        if fault := view.faults.get(query):
            return f"the query of the graph failed ({fault.rstrip('.')})"
        return f"nothing was found for {_read_as(self.asked(view))}"

    async def judge(self, view: TaskView, votes: Sequence[Vote]) -> Vote | None:
        """See :class:`planners.kgot.step_makers.NextStep`."""
        return votes[0] if votes else None

    async def missing(self, view: TaskView, reasons: Sequence[str]) -> str:
        """See :class:`planners.kgot.step_makers.ToolChooser`."""
        return "\n".join(dict.fromkeys(reasons))

    async def calls(self, view: TaskView, missing: str, found: FoundTools, nth: int) -> tuple[WantedCall, ...]:
        """See :class:`planners.kgot.step_makers.ToolChooser`."""
        need = self.resolved(view)
        if not isinstance(need, Need):
            return ()
        return await calls_for(need, found, self.memory, view, self._planner)


def _read_as(asked: Asked | Unreadable) -> str:
    """Return how a question was read, for who wonders why nothing was found."""
    if isinstance(asked, Unreadable):
        return asked.reason
    labels = {each.name: each.label for each in asked.variables}
    filters = [f"{labels[each.variable]} {each.field} {each.operator} {each.value}" for each in asked.filters]
    edges = [f"{labels[each.source]} {each.name} {labels[each.target]}" for each in asked.edges]
    return "; ".join([*filters, *edges]) or labels.get(asked.variable, "it")


class _Reader:
    """Implements :class:`planners.kgot.step_makers.GraphReader`."""

    def __init__(self, steps: _RulesSteps) -> None:
        self._steps = steps

    async def query(self, view: TaskView, wrong: str, *, forced: bool) -> str | None:
        """Return the query; None while something is missing: half an answer would be a guess."""
        query = self._steps.query(view)
        return query if query != wrong else None

    async def fix(self, query: str, fault: str) -> None:
        """Return None: rules write a query once."""

    async def direct(self, view: TaskView, *, forced: bool) -> None:
        """Return None: rules read a graph by queries only."""


class _Answerer:
    """Implements :class:`planners.kgot.step_makers.Answerer`."""

    def __init__(self, steps: _RulesSteps) -> None:
        self._steps = steps

    async def maths(self, view: TaskView, partial: str) -> str | None:
        """See :class:`planners.kgot.step_makers.Answerer`."""
        asked = self._steps.asked(view)
        return maths_code(asked, partial) if isinstance(asked, Asked) else None

    async def fix(self, code: str, fault: str) -> None:
        """Return None: rules write code once."""

    async def final(self, view: TaskView, partial: str, nth: int) -> str | None:
        """See :class:`planners.kgot.step_makers.Answerer`. Each time the same."""
        asked = self._steps.asked(view)
        return final_text(asked, partial) if isinstance(asked, Asked) else None
