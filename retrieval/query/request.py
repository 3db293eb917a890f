"""The request that a retriever answers, with the conditions under which it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from egotools.values import Query
from ontology.errors import DeadlineError, InvalidArgumentError

MAX_K = 1_000
MAX_QUERY_CHARS = 20_000
MAX_NEEDS = 32
MAX_NEED_CHARS = 500
MAX_BUDGET_TOKENS = 10_000_000
_MAX_DONE, _MAX_ID_CHARS = 1_000, 4_096
_MAX_HAVE, _MAX_NAME_CHARS, _MAX_VALUE_CHARS = 64, 256, 4_000


def never() -> bool:
    """False: whoever asks waits for ever."""
    return False


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no half of a pair of surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _is_text(text: str, least: int, most: int) -> bool:
    return least <= len(text) <= most and is_unicode(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Query):
    """One request: a valid query, and when a retriever stops. Who calls a retriever has chosen it by ``preset``.

    :raises InvalidArgumentError: naming the invalid field.
    """

    # ids of candidates that stand first, in this order: a model chose them. With ``auto_k`` they are the answer
    first: Sequence[str] = ()
    # the tokens of a tool by its id, at least 0, for ``budget_tokens``
    size_of: Callable[[str], int] = field(default=lambda _: 0, repr=False, compare=False)
    # time of ``time.monotonic()``, in seconds, after which no further stage starts; or None
    deadline: float | None = None
    # whether the caller no longer waits; called before each stage
    cancelled: Callable[[], bool] = field(default=never, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise InvalidArgumentError(f"it must be from 1 to {MAX_K}, not {self.k}", subject="k")
        if not 0 <= self.budget_tokens <= MAX_BUDGET_TOKENS:
            problem = f"it must be from 1 to {MAX_BUDGET_TOKENS:,}, or 0 for no limit, not {self.budget_tokens}"
            raise InvalidArgumentError(problem, subject="budget_tokens")
        if len(self.query) > MAX_QUERY_CHARS:
            problem = f"the query has {len(self.query)} characters; at most {MAX_QUERY_CHARS} are allowed"
            remedy = "Send the request itself, not the conversation"
            raise InvalidArgumentError(problem, subject="query", remedy=remedy)
        if not is_unicode(self.query):
            raise InvalidArgumentError("the query is not valid Unicode", subject="query", remedy="Send it as UTF-8")
        check_needs(self.needs)
        if not self.needs and not any(character.isalnum() for character in self.query):
            problem = "there is neither a need nor a query with a letter or digit"
            remedy = 'Say in words what is needed, one capability a need, as "find an employee by name"'
            raise InvalidArgumentError(problem, subject="query", remedy=remedy)
        check_task(self.done, self.have)

    @property
    def parts(self) -> tuple[str, ...]:
        """What a request over needs is made of, each a sentence without its stop: the query, where there is one, and each need, equal ones once."""
        needs = dict.fromkeys(self.needs)
        parts = (self.query.strip().rstrip("."), *(f"{need[:1].upper()}{need[1:].rstrip('.')}" for need in needs))
        return tuple(part for part in parts if part)

    @property
    def text(self) -> str:
        """The request as one text: the query and the needs, each a sentence; the query itself where there are no needs."""
        return ". ".join(self.parts) + "." if self.needs else self.query

    def check(self, stage: str) -> None:
        """Check before a stage that the caller still waits; a DeadlineError names the stage where they do not."""
        if self.cancelled():
            raise DeadlineError("the caller no longer waits", subject=stage)
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise DeadlineError("the deadline passed before this stage", subject=stage)


def check_needs(needs: Sequence[str]) -> None:
    """Check the needs of a request; none are valid. An InvalidArgumentError names the invalid one."""
    if len(needs) > MAX_NEEDS:
        problem = f"there are {len(needs)} needs; at most {MAX_NEEDS} are allowed"
        raise InvalidArgumentError(problem, subject="needs", remedy="Ask for a part of the task at a time")
    for place, need in enumerate(needs):
        if not _is_text(need, 1, MAX_NEED_CHARS) or not any(character.isalpha() for character in need):
            problem = f"a need is a phrase of 1 to {MAX_NEED_CHARS} characters with at least one letter"
            remedy = "Say one capability in words of documentation; values belong into the query or into have"
            raise InvalidArgumentError(problem, subject=f"needs[{place}]", remedy=remedy)


def check_task(done: Sequence[str], have: Mapping[str, str]) -> None:
    """Check what is done and known already. That the catalogue has the tools is not checked here."""
    if len(done) > _MAX_DONE or not all(_is_text(each, 1, _MAX_ID_CHARS) for each in done):
        problem = f"at most {_MAX_DONE:,} tool ids of 1 to {_MAX_ID_CHARS:,} characters are allowed"
        remedy = "Give the ids of the tools that were executed"
        raise InvalidArgumentError(problem, subject="done", remedy=remedy)
    if len(have) > _MAX_HAVE or not all(_is_text(name, 1, _MAX_NAME_CHARS) for name in have):
        problem = f"at most {_MAX_HAVE} names of 1 to {_MAX_NAME_CHARS} characters are allowed"
        raise InvalidArgumentError(problem, subject="have", remedy="Give the values that this task needs")
    for name, value in have.items():
        if not _is_text(value, 0, _MAX_VALUE_CHARS):
            problem = f"a value is a text of at most {_MAX_VALUE_CHARS:,} characters"
            remedy = "Leave the value empty: its name is enough"
            raise InvalidArgumentError(problem, subject=f"have.{name[:100]}", remedy=remedy)


MAX_GOALS = 20
_MAX_GOAL_CHARS = 4_096
_MATCHED = 50  # tools whose scores say how well they match a request; any other has the lowest score of these


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is to be planned, and when the planner stops; the other fields as in :class:`retrieval.query.request.Request`.

    :raises InvalidArgumentError: naming the invalid field.
    """

    # ids of the tools to be called in the end; empty: the best tool of each need, or else the best tools for ``query``
    goals: Sequence[str] = ()
    query: str = ""  # the request in plain words; empty: nothing but ``have`` is known
    done: Sequence[str] = ()
    have: Mapping[str, str] = field(default_factory=dict)
    preset: str = ""
    abstain: bool = False  # plan nothing for an unanswerable query without goals, nor for a need that nothing fits
    needs: Sequence[str] = ()
    deadline: float | None = None
    cancelled: Callable[[], bool] = field(default=never, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.goals) > MAX_GOALS or not all(0 < len(each) <= _MAX_GOAL_CHARS for each in self.goals):
            problem = f"at most {MAX_GOALS} tool ids of 1 to {_MAX_GOAL_CHARS:,} characters are allowed"
            remedy = "Give the tools to be called in the end; those before them are planned"
            raise InvalidArgumentError(problem, subject="goals", remedy=remedy)
        if not self.goals and not self.is_matched:
            problem, remedy = (
                "there is neither a goal nor a need nor a request",
                "Give the ids of tools, needs or a query",
            )
            raise InvalidArgumentError(problem, subject="goals", remedy=remedy)
        check_task(self.done, self.have)
        if self.is_matched:
            self.retrieval()

    @property
    def is_matched(self) -> bool:
        """Whether there are words to match with tools."""
        return bool(self.query or self.needs)

    def retrieval(self) -> Request:
        """The request for the tools that match :attr:`query` and :attr:`needs` best; an InvalidArgumentError where they
        are not valid."""
        return Request(
            query=self.query,
            needs=self.needs,
            k=_MATCHED,
            explain=False,
            done=self.done,
            have=self.have,
            preset=self.preset,
            deadline=self.deadline,
            cancelled=self.cancelled,
        )
