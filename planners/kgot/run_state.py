"""A run while it goes on: its parts, what it knows, how a step that fails is left out, and whether its model can still be asked."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from egotools.calling.invoker import ToolInvoker
from ontology.errors import BudgetExceededError, ModelError
from planners.calls.sandbox import Sandbox
from planners.calls.tool_finder import Finder
from planners.calls.untrusted import FenceMarks, clean_text, cleaned
from planners.journal.recorded import error_text as said
from planners.journal.step_log import emit
from planners.kgot.asking import UnusableStepError
from planners.kgot.kgot_events import Dropped, GraphChanged
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask, MadeCall, TaskView
from planners.kgot.steps import LlmSteps
from planners.stores.property_graph import GraphState, Properties, PropertyGraph, Value, state_text

__all__ = ["RunState", "graph_text", "value_counts"]

T = TypeVar("T")
U = TypeVar("U")

_VALUE_CHARS = 2_000  # of one value in a prompt: a page of text
_PROBLEM_CHARS = 1_000  # of a step that is left out, in its event
_SILENT_DECISIONS = 2  # in a row: one decision may fall into a short outage
_REFUSED = re.compile(r"\bHTTP (401|403|404)\b")
"""A wrong key, a key without the right, a wrong address or model; the words are those of the client of the endpoint."""
_SHOWN = (50, 20, 8, 3, 1)  # nodes of a label, and edges of a type, in the text of a large graph

_FEW_VALUES = 10  # of a property, which are listed
_LISTED_CHARS = 300


@dataclass(slots=True, kw_only=True)
class RunState:
    """One run.

    :ivar iteration: from 1; 0 before the first.
    :ivar state: the graph of the last good step.
    :ivar text: the same as prompts have it.
    :ivar asked: the calls that were made, by tool and arguments; none is made twice.
    :ivar rows: the rows of tables that were loaded, by their label.
    :ivar fruitless: the queries that gave nothing, and those that failed.
    :ivar missing: what the graph lacked at last; the task itself where no vote said it.
    :ivar vote_fault: of the first vote of the last decision that failed; empty where none did.
    :ivar fault: why the model gave no vote at all in the last decision; None where it gave one, or only in a form that cannot be used.
    :ivar is_silent: whether nobody answers any more: the run ends.
    """

    task: KgotTask
    graph: PropertyGraph
    steps: LlmSteps
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
    rows: dict[str, set[frozenset[tuple[str, Value]]]] = field(default_factory=dict)
    fruitless: list[str] = field(default_factory=list)
    missing: str = ""
    vote_fault: str = ""
    fault: ModelError | None = None
    is_silent: bool = False
    _silent_decisions: int = 0
    _has_voted: bool = False

    def view(self) -> TaskView:
        """Return what a step sees."""
        return TaskView(
            task=self.task,
            iteration=self.iteration,
            graph_text=self.text,
            calls=tuple(self.calls),
            fruitless=tuple(self.fruitless),
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
            self.text = graph_text(state, self.settings.max_graph_chars)
        self.state = state
        emit(GraphChanged(iteration=self.iteration, state=state))

    def take_votes(self, faults: Sequence[Exception | None]) -> None:
        """Take the faults of the votes of a decision, None for one that was given, and say whether the run ends.

        It ends when all votes were refused for what no further attempt mends (a key, an address, the name of a model), when all votes of
        two decisions in a row failed, or when all votes of a model that never gave one were in a form that cannot be used.
        """
        self.vote_fault = next((said(each) for each in faults if each is not None), "")
        self._has_voted |= None in faults
        unusable = [each for each in faults if isinstance(each, UnusableStepError)]
        unreached = [
            each for each in faults if isinstance(each, ModelError) and not isinstance(each, UnusableStepError)
        ]
        self.fault = None
        if len(unreached) == len(faults):
            self.fault, self._silent_decisions = unreached[0], self._silent_decisions + 1
            refused = all(_REFUSED.search(each.problem) for each in unreached)
            self.is_silent = refused or self._silent_decisions >= _SILENT_DECISIONS
            return
        self._silent_decisions = 0
        if len(unusable) == len(faults) and not self._has_voted:
            self.fault, self.is_silent = unusable[0], True


def graph_text(state: GraphState, most: int) -> str:
    """Return a graph as prompts have it: the whole of it, or where that is too long the first of each label and type, with counts of all.

    :param most: characters; a summary that is longer all the same is cut at the end of a line.
    """
    text = state_text(state, longest=_VALUE_CHARS)
    if len(text) <= most:
        return text
    counts = "\n".join(_counts(state))
    for shown in _SHOWN:
        text = f"{counts}\n{state_text(_first(state, shown), longest=_VALUE_CHARS)}"
        if len(text) <= most:
            return text
    kept = text[:most].rpartition("\n")[0]
    return f"{kept}\n({text.count(chr(10)) - kept.count(chr(10))} more lines are left out)"


def _counts(state: GraphState) -> Iterator[str]:
    """Yield a line for each label and type: how many there are, and how many values each property has."""
    yield "The graph is too large to list. A query sees all of it; below the counts only the first of each label and type stand."
    labels = {node.id: node.label for node in state.nodes}
    groups: dict[str, list[Properties]] = {}
    for node in state.nodes:
        groups.setdefault(f"nodes {node.label}", []).append(node.properties)
    for edge in state.edges:
        ends = f"({labels[edge.source]})-[{edge.type}]->({labels[edge.target]})"
        groups.setdefault(f"relationships {ends}", []).append(edge.properties)
    for name, members in sorted(groups.items()):
        told = ", ".join(f"{key} ({values})" for key, values in value_counts(members).items())
        yield f"- {len(members)} {name}" + (f": {told}" if told else "")


def value_counts(members: Sequence[Properties]) -> dict[str, str]:
    """Return how many values each property has, and which where they are few."""
    values: dict[str, dict[Value, None]] = {}
    for key, value in (item for each in members for item in each.items()):
        values.setdefault(key, {})[value] = None
    told = {key: f"{len(found)} values" for key, found in values.items()}
    for key, found in values.items():
        listed = json.dumps(list(found), ensure_ascii=False) if len(found) <= _FEW_VALUES else ""
        if 0 < len(listed) <= _LISTED_CHARS:
            told[key] += f": {listed[1:-1]}"
    return told


def _first(state: GraphState, most: int) -> GraphState:
    """Return so many nodes of each label, and edges of each type between them."""
    seen: Counter[str] = Counter()

    def is_first(name: str) -> bool:
        seen[name] += 1
        return seen[name] <= most

    nodes = tuple(node for node in state.nodes if is_first(f"node {node.label}"))
    ids = {node.id for node in nodes}
    between = (edge for edge in state.edges if edge.source in ids and edge.target in ids)
    return GraphState(nodes=nodes, edges=tuple(edge for edge in between if is_first(edge.type)))
