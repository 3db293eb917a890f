"""What happens in a run, in the order in which it is told; an event is JSON by its ``to_json``.

Steps that run at once are told in the order in which they were begun, so that a replayed run tells the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, WrapSerializer

from planners.journal.step_log import Event
from planners.kgot.kgot_task import MadeCall, Vote
from planners.stores.property_graph import GraphNode, GraphState, Operation, QueryRows

__all__ = [
    "CallMade",
    "Computed",
    "Decided",
    "Decision",
    "Dropped",
    "DroppedWrite",
    "Ended",
    "Executor",
    "GraphChanged",
    "KgotEvent",
    "Missing",
    "ModelAsked",
    "NoiseRemoved",
    "Outcome",
    "Parsed",
    "Queried",
    "ToolsFound",
    "Written",
]


def _with_kind(value: Any, fields: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {"kind": type(value).__name__, **fields(value)}


_AnyVote: TypeAlias = Annotated[Vote, WrapSerializer(_with_kind)]
_AnyOperation: TypeAlias = Annotated[Operation, WrapSerializer(_with_kind)]
Decision: TypeAlias = Literal["enhance", "solve"]
Executor: TypeAlias = Literal["graph", "tool"]
"""Which of the two models: that of the graph, or that of the tools (section 4 of the paper)."""
Outcome: TypeAlias = Literal[
    "solved", "forced query", "forced answer", "no solution", "model", "budget", "deadline", "cancelled"
]
"""``model``: no vote was given, because the model cannot be reached or refuses."""


class Decided(Event):
    """How an iteration goes on: by its votes, None for one that was unusable, or by the vote that a judge chose."""

    iteration: int
    votes: tuple[_AnyVote | None, ...]
    decision: Decision
    judged: _AnyVote | None = None


class Missing(Event):
    """What the graph lacks, the reasons of the votes as one text."""

    iteration: int
    text: str


class ToolsFound(Event):
    """The tools for what is missing, best first."""

    iteration: int
    tool_ids: tuple[str, ...]
    snapshot_id: str


class CallMade(Event):
    """A call of a tool, with its answer."""

    iteration: int
    call: MadeCall
    seconds: float


class DroppedWrite(BaseModel):
    """A write that could not be corrected, with the fault of the last attempt."""

    model_config = ConfigDict(frozen=True)

    operation: _AnyOperation
    fault: str


class Written(Event):
    """What was written into the graph, in the order of the answer, corrected as it was applied; ``chains`` ran at once."""

    iteration: int
    operations: tuple[_AnyOperation, ...]
    dropped: tuple[DroppedWrite, ...] = ()
    chains: int = 0


class NoiseRemoved(Event):
    """What was removed from the graph that was told before, whose ids these are; ``merged``: node → the node that stands for it."""

    iteration: int
    removed: tuple[GraphNode, ...]
    merged: Mapping[str, str]


class GraphChanged(Event):
    """The graph after a step that may have written to it; iteration 0 is the beginning."""

    iteration: int
    state: GraphState


class Queried(Event):
    """A query of the graph, with its rows or its fault; of the kind ``direct`` the answer stands for the query."""

    iteration: int
    kind: str
    query: str
    rows: QueryRows | None = None
    fault: str = ""


class Computed(Event):
    """Python that computed what was left to compute, with what it printed or its fault."""

    iteration: int
    code: str
    output: str = ""
    fault: str = ""


class Parsed(Event):
    """The final answers, and the most frequent one."""

    answers: tuple[str, ...]
    chosen: str


class ModelAsked(Event):
    """One call of a model for the prompt ``step``; ``problem`` is of one that failed, whose tokens nobody counted."""

    step: str
    executor: Executor
    prompt_tokens: int
    completion_tokens: int
    usd: float
    seconds: float
    problem: str = ""


class Dropped(Event):
    """A step that failed and was left out (``vote``, ``find``, ``call``, ``write``, ``query``, …); the run goes on."""

    iteration: int
    step: str
    problem: str


class Ended(Event):
    """How a run ended; ``missing`` is what was missing at last, or why it ended, and empty of a solved task."""

    answer: str
    outcome: Outcome
    missing: str = ""


KgotEvent: TypeAlias = (
    Decided
    | Missing
    | ToolsFound
    | CallMade
    | Written
    | NoiseRemoved
    | GraphChanged
    | Queried
    | Computed
    | Parsed
    | ModelAsked
    | Dropped
    | Ended
)
