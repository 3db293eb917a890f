"""A task, the parameters of a run, what it knows at a step, what models want, and what happens in it; an event is JSON by its ``to_json``.

Steps that run at once are told in the order in which they were begun, so that a replayed run tells the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, WrapSerializer

from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError
from planners.journal.step_log import Event
from planners.stores.property_graph import GraphNode, GraphState, Operation, QueryRows


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotTask:
    """What is to be solved."""

    question: str
    files: tuple[Path, ...] = ()  # that come with it; tools are given them by their names


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """A vote that the graph does not answer the task yet."""

    reason: str  # what is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """A vote that the graph answers the task."""

    query: str  # in the language of the graph; or the answer itself, where the run retrieves without queries


Vote: TypeAlias = Insert | Retrieve


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A call that shall be made."""

    tool_id: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCall:
    """A call of a tool that was made, with its answer."""

    tool_id: str
    arguments: Mapping[str, Any]
    ok: bool
    status: str
    body: Any = None  # JSON values; of a call without an answer its error
    text: str = ""  # the answer as a model is shown it: bounded, in a fence


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """What a step of a run sees."""

    task: KgotTask
    iteration: int  # from 1
    graph_text: str  # the graph of the task as prompts have it
    calls: tuple[MadeCall, ...] = ()  # of all iterations before, in their order
    fruitless: tuple[str, ...] = ()  # queries that gave nothing, and those that failed, in their order


def _with_kind(value: Any, fields: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {"kind": type(value).__name__, **fields(value)}


_AnyVote: TypeAlias = Annotated[Vote, WrapSerializer(_with_kind)]
_AnyOperation: TypeAlias = Annotated[Operation, WrapSerializer(_with_kind)]
Decision: TypeAlias = Literal["enhance", "solve"]
# Which of the two models: that of the graph, or that of the tools (section 4 of the paper)
Executor: TypeAlias = Literal["graph", "tool"]
# ``model``: no vote was given, because the model cannot be reached or refuses
Outcome: TypeAlias = Literal[
    "solved", "forced query", "forced answer", "no solution", "model", "budget", "deadline", "cancelled"
]


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
    Decided | Missing | ToolsFound | CallMade | Written | NoiseRemoved | GraphChanged
    | Queried | Computed | Parsed | ModelAsked | Dropped | Ended
)  # fmt: skip


# The parameters of a run, under the names of appendix B.1 of the paper where it names them.

# How the graph is asked: in its language, by Python, by reading all of it; or by all of these, which are voted on
RetrieveKind: TypeAlias = Literal["query", "script", "direct", "fusion"]
NextStepKind: TypeAlias = Literal["majority", "judge"]
# What is removed from the graph after writes: nothing, or nodes that stand there twice (appendix B.6)
NoiseKind: TypeAlias = Literal["keep", "duplicates"]

# Of calls of a model's server: six attempts, 1 to 60 seconds apart (appendix B.3.2)
MODEL_RETRIES = RetryPolicy(max_retries=5, base_delay_s=1.0, max_delay_s=60.0)

# How often a failing statement, query, script or program is corrected, and a query that gave nothing is written anew
MOST_FIXES = 3

_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("max_iterations", "max_final_solution_parsing", "max_answer_tokens"), (1, math.inf)),
    "num_next_steps_decision": (1, 100),
    "tools": (1, 8),
    "max_seconds": (0.001, math.inf),
    "tool_retry_delay_s": (0, math.inf),
}
_CHOICES = {"retrieve": get_args(RetrieveKind), "next_step": get_args(NextStepKind), "noise": get_args(NoiseKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotSettings:
    """How a run goes.

    :param max_iterations: each decides, and enlarges the graph or asks it; then the answer is forced.
    :param num_next_steps_decision: votes of a decision.
    :param max_final_solution_parsing: final answers, of which the most frequent wins.
    :param next_step: ``majority`` of the votes; or ``judge``: one more answer chooses among them.
    :param tools: the most tools that a search returns, 1 to 8.
    :param noise: what is removed from the graph after writes: ``keep`` for nothing, ``duplicates``.
    :param max_answer_tokens: of one answer of a model.
    :param max_seconds: of a whole run; None for no limit.
    :param tool_retry_delay_s: before the first retry of a tool, doubled for each further one up to 5 s.
    :raises InvalidArgumentError: for a value out of its range, by its name.
    """

    max_iterations: int = 7
    num_next_steps_decision: int = 5
    max_final_solution_parsing: int = 3
    retrieve: RetrieveKind = "query"
    next_step: NextStepKind = "majority"
    tools: int = 8
    noise: NoiseKind = "keep"
    max_answer_tokens: int = 2_048
    max_seconds: float | None = None
    tool_retry_delay_s: float = 0.5

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if (chosen := getattr(self, name)) not in choices:
                remedy = f"Use one of {', '.join(choices)}"
                raise InvalidArgumentError(f"{chosen!r} is not known", subject=name, remedy=remedy)
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                allowed = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
                raise InvalidArgumentError(f"{value!r} is out of range", subject=name, remedy=f"Use {allowed}")
