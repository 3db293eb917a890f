"""What a planner sees in each step, what it gives (invocations of operators, or an answer), and what a run tells as events.

Invocations of one step run at once; all events of the first are told before those of the second, so that a replay tells the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

from ontology.errors import ModelError
from ontology.json_values import canonical_text
from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.operator import Operator
from planners.graphseek.results import Result, ResultStore
from planners.journal.step_log import Event
from planners.stores.graph_schema import GraphSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The limits of one question's run. Steps and message are the paper's (section 3.1, appendix B.1).

    :param call_seconds: of one invocation, and of each of its queries.
    """

    max_steps: int = 10
    call_seconds: float = 30.0
    max_seconds: float | None = None


MESSAGE_TOKENS = 20_000  # that a message of a run may have; a question may have as many characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """An operator and its arguments. Those of one turn do not depend on one another, and run concurrently."""

    operator: str
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The same for equal invocations."""
        return canonical_text([self.operator, dict(self.arguments)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A candidate answer."""

    text: str
    of: tuple[str, ...] = ()  # handles that it rests on
    # ``reply`` answers; ``question`` asks back, where there are two readings; ``unreadable`` says what was not read
    kind: Literal["reply", "question", "unreadable"] = "reply"
    # what rules did otherwise than asked, each a sentence without its stop; they claim nothing that a result must have
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """As a person reads it: the text, and a line for each note."""
        return "\n".join([*filter(None, [self.text]), *(f"Note: {each}." for each in self.notes)])


Turn: TypeAlias = tuple[Invocation, ...] | Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why an invocation gave nothing; ``kind`` as of :class:`OperatorFault`."""

    kind: str
    problem: str
    hint: str


Outcome: TypeAlias = Result | Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A step that was taken: its invocations and what each gave, or an answer that was not let through and why."""

    number: int
    invocations: tuple[Invocation, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    rejected: Answer | None = None
    why: str = ""

    @property
    def pairs(self) -> tuple[tuple[Invocation, Outcome], ...]:
        """Each invocation with what it gave."""
        return tuple(zip(self.invocations, self.outcomes, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """The state of a run, as a planner sees it (sigma of section 3.1 of the paper)."""

    question: str
    schema: GraphSchema
    catalog: SemanticCatalog
    operators: Sequence[Operator]  # that may be invoked in this step
    records: Sequence[StepRecord]
    results: ResultStore
    step: int  # its number, from 1, of at most ``steps``
    steps: int


class UnusableTurnError(ModelError):
    """A model answers, but not in a form that can be used: the step counts as failed, and the run goes on."""


class TurnMaker(Protocol):
    """Plans the next turn: rules, a model, or the script of a test."""

    async def turn(self, view: StepView) -> Turn:
        """Return invocations, or an answer; UnusableTurnError: what the model says cannot be used."""
        ...


# ``ungrounded``: the answer says what no result has. ``model``: it cannot be reached. ``store``: graph or disk is gone.
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


class QuestionBegun(Event):
    """A run has begun; ``fingerprint`` is of the schema that the graph has now."""

    question: str
    fingerprint: str
    node_types: tuple[str, ...]
    relationship_types: tuple[str, ...]


class StepBegun(Event):
    """A step, with the operators that it may use."""

    step: int
    operators: tuple[str, ...]


class ModelAsked(Event):
    """One call of a model; ``problem`` is of one that failed, whose tokens nobody counted."""

    prompt: str
    prompt_tokens: int
    completion_tokens: int
    usd: float
    seconds: float
    problem: str = ""


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
    """What an invocation gave; see :class:`planners.graphseek.results.Result`."""

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
    QuestionBegun | StepBegun | ModelAsked | Invoked | QueryRun | ResultKept | Faulted | AnswerRejected | Ended
)
_KINDS: dict[str, type[AgentEvent]] = {each.__name__: each for each in get_args(AgentEvent)}


def event_of(given: Mapping[str, Any]) -> AgentEvent:
    """Return the event of JSON values; a KeyError or ValueError says that they are none."""
    return _KINDS[given["event"]].model_validate({name: value for name, value in given.items() if name != "event"})
