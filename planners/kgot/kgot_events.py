"""What happens in a run, in the order in which it is told; each event is JSON by :func:`event_json`.

Steps that run at once are told in the order in which they were begun, so that a replayed run tells the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

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
    "event_json",
]

Decision: TypeAlias = Literal["enhance", "solve"]
Executor: TypeAlias = Literal["graph", "tool"]
"""Which of the two models: that of the graph, or that of the tools (section 4 of the paper)."""
Outcome: TypeAlias = Literal[
    "solved", "forced query", "forced answer", "no solution", "model", "budget", "deadline", "cancelled"
]
"""``model``: no vote was given, because the model cannot be reached or refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """How an iteration goes on.

    :param votes: in their order; None for one that was unusable.
    :param judged: the vote that a judge chose, where one was asked.
    """

    iteration: int
    votes: tuple[Vote | None, ...]
    decision: Decision
    judged: Vote | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What the graph lacks, the reasons of the votes as one text."""

    iteration: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFound:
    """The tools for what is missing, best first."""

    iteration: int
    tool_ids: tuple[str, ...]
    snapshot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMade:
    """A call of a tool, with its answer."""

    iteration: int
    call: MadeCall
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedWrite:
    """A write that could not be corrected.

    :param fault: of the last attempt.
    """

    operation: Operation
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written into the graph, in the order of the answer; corrected operations as they were applied.

    :param chains: how many chains ran at once.
    """

    iteration: int
    operations: tuple[Operation, ...]
    dropped: tuple[DroppedWrite, ...] = ()
    chains: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRemoved:
    """What was removed from the graph that was told before; its ids are of that one, which takes it back.

    :param merged: node → the node that stands for it.
    """

    iteration: int
    removed: tuple[GraphNode, ...]
    merged: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphChanged:
    """The graph after a step that may have written to it; iteration 0 is the beginning."""

    iteration: int
    state: GraphState


@dataclass(frozen=True, slots=True, kw_only=True)
class Queried:
    """A query of the graph, with its rows or its fault.

    :param kind: ``query``, ``script`` or ``direct``; of the last the answer stands for the query.
    """

    iteration: int
    kind: str
    query: str
    rows: QueryRows | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Python that computed what was left to compute, with what it printed or its fault."""

    iteration: int
    code: str
    output: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The final answers, and the most frequent one."""

    answers: tuple[str, ...]
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """One call of a model.

    :param step: name of the prompt.
    :param usd: in US dollars, by the prices of the budget; 0 without prices.
    :param problem: of a call that failed, whose tokens nobody counted; empty of one that was answered.
    """

    step: str
    executor: Executor
    prompt_tokens: int
    completion_tokens: int
    usd: float
    seconds: float
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A step that failed and was left out; the run goes on.

    :param step: what failed: ``vote``, ``missing``, ``find``, ``calls``, ``call``, ``write``, ``state``, ``query``, ``fix``, …
    """

    iteration: int
    step: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended.

    :param answer: empty where there is none.
    :param missing: what was missing at last, or why the run ended; empty for a solved task.
    """

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
_TIMES = frozenset({"seconds"})


def event_json(event: KgotEvent, *, times: bool = True) -> dict[str, Any]:
    """Return an event as JSON values; ``event`` is its name, ``kind`` that of a vote or an operation.

    :param times: whether measured seconds are in it; without them a replayed run gives the same values.
    """
    left_out = frozenset() if times else _TIMES
    return {"event": type(event).__name__, **_members(event, left_out)}


def _members(value: Any, left_out: frozenset[str]) -> dict[str, Any]:
    return {each.name: _json(getattr(value, each.name)) for each in fields(value) if each.name not in left_out}


def _json(value: Any) -> Any:
    if is_dataclass(value):
        named = {"kind": type(value).__name__} if type(value).__name__ in _KINDS else {}
        return {**named, **_members(value, frozenset())}
    if isinstance(value, Mapping):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_json(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


_KINDS = frozenset(
    {
        "DeleteEdge",
        "DeleteNode",
        "Insert",
        "InsertEdge",
        "InsertNode",
        "MergeEdge",
        "MergeNode",
        "ReplaceGraph",
        "Retrieve",
        "Statement",
    }
)
