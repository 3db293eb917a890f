"""The request for a plan of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ontology.errors import InvalidArgumentError
from retrieval.query.request import Request, check_task, never

__all__ = ["MAX_GOALS", "PlanRequest"]

MAX_GOALS = 20
_MAX_ID_CHARS = 4_096
_MATCHED = 50
"""Tools whose scores say how well they match a request; any other has the lowest score of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is to be planned, and when the planner stops; the other fields as in :class:`retrieval.query.request.Request`.

    :param goals: ids of the tools to be called in the end; empty: the best tool of each need, or else the best tools for ``query``.
    :param query: the request in plain words; empty: nothing but ``have`` is known.
    :param abstain: plan nothing for an unanswerable query without goals, nor for a need that nothing fits.
    :raises InvalidArgumentError: naming the invalid field.
    """

    goals: Sequence[str] = ()
    query: str = ""
    done: Sequence[str] = ()
    have: Mapping[str, str] = field(default_factory=dict)
    preset: str = ""
    abstain: bool = False
    needs: Sequence[str] = ()
    deadline: float | None = None
    cancelled: Callable[[], bool] = field(default=never, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.goals) > MAX_GOALS or not all(0 < len(each) <= _MAX_ID_CHARS for each in self.goals):
            raise InvalidArgumentError(
                f"at most {MAX_GOALS} tool ids of 1 to {_MAX_ID_CHARS:,} characters are allowed",
                subject="goals",
                remedy="Give the tools to be called in the end; those before them are planned",
            )
        if not self.goals and not self.is_matched:
            raise InvalidArgumentError(
                "there is neither a goal nor a need nor a request",
                subject="goals",
                remedy="Give the ids of tools, needs or a query",
            )
        check_task(self.done, self.have)
        if self.is_matched:
            self.retrieval()

    @property
    def is_matched(self) -> bool:
        """Whether there are words to match with tools."""
        return bool(self.query or self.needs)

    def retrieval(self) -> Request:
        """The request for the tools that match :attr:`query` and :attr:`needs` best.

        :raises InvalidArgumentError: where they are not valid.
        """
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
