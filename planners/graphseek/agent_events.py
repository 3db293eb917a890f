"""What happens in a question's run, in the order in which things begin; an event is JSON by its ``to_json``.

Invocations of one step run at once; all events of the first are told before those of the second, so that a replay tells the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from planners.journal.step_log import Event

RunOutcome: TypeAlias = Literal[
    "answered",
    "ungrounded",
    "asked back",
    "unreadable",
    "no answer",
    "model",
    "store",
    "budget",
    "deadline",
    "cancelled",
]
"""``ungrounded``: the answer says what stands in no result. ``model``: it cannot be reached. ``store``: the graph or the disk is gone."""


class QuestionBegun(Event):
    """A run has begun; ``fingerprint`` is of the schema that the graph has now, ``descriptors`` whether the planner sees the catalog's."""

    question: str
    fingerprint: str
    node_types: tuple[str, ...]
    relationship_types: tuple[str, ...]
    descriptors: bool


class StepBegun(Event):
    """A step, with the operators that it may use; ``fallback`` says why a search for operators gave nothing, so that all are offered."""

    step: int
    operators: tuple[str, ...]
    fallback: str = ""


class ModelAsked(Event):
    """One call of a model; ``problem`` is of one that failed, whose tokens nobody counted."""

    prompt: str
    prompt_tokens: int
    completion_tokens: int
    usd: float
    seconds: float
    problem: str = ""
    temperature: float = 0.0


class Invoked(Event):
    """An operator was invoked; ``nth`` counts those of a step from 1."""

    step: int
    nth: int
    operator: str
    arguments: Mapping[str, Any]


class QueryRun(Event):
    """A query of the graph, of the invocation that was told last, before it is run."""

    text: str
    parameters: Mapping[str, Any]


class ResultKept(Event):
    """What an invocation gave; see :class:`planners.graphseek.results.result.Result`."""

    step: int
    nth: int
    handle: str
    kind: str
    size: int
    cut: bool
    summary: str
    notes: tuple[str, ...] = ()


class Faulted(Event):
    """Why an invocation gave nothing, as the next step is told; ``nth`` 0: the whole turn could not be read."""

    step: int
    nth: int
    kind: str
    problem: str
    hint: str


class OperatorAdapted(Event):
    """A version of an operator was asked for, because it failed; ``version`` is its name, empty where none passed the checks."""

    step: int
    operator: str
    version: str
    problem: str = ""


class AnswerRejected(Event):
    """An answer that was handed back, with its numbers and names that stand in no result."""

    step: int
    text: str
    ungrounded: tuple[str, ...]


class Ended(Event):
    """How a run ended; ``of`` has the handles that the answer rests on, ``missing`` what stands in no result, or why the run ended."""

    answer: str
    outcome: RunOutcome
    of: tuple[str, ...] = ()
    missing: str = ""


AgentEvent: TypeAlias = (
    QuestionBegun
    | StepBegun
    | ModelAsked
    | Invoked
    | QueryRun
    | ResultKept
    | Faulted
    | OperatorAdapted
    | AnswerRejected
    | Ended
)
_KINDS: dict[str, type[AgentEvent]] = {each.__name__: each for each in get_args(AgentEvent)}


def event_of(given: Mapping[str, Any]) -> AgentEvent:
    """Return the event of JSON values; a KeyError or ValueError says that they are none."""
    return _KINDS[given["event"]].model_validate({name: value for name, value in given.items() if name != "event"})
