"""Why a question has no sure answer, as an error that says what to do."""

from __future__ import annotations

from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
    StorageError,
)
from planners.graphseek.turn import Ended

__all__ = ["outcome_error"]


def outcome_error(end: Ended, *, by_command: bool = True) -> EgotoolsError | None:
    """Return why a question has no sure answer; None where it has one.

    :param by_command: whether ``egotools ask`` asked, whose options are then named; else the page did.
    """
    again = "With the same journal the command goes on with it" if by_command else "Ask again"
    model = (
        "name a model (--llm-url, --llm-model)" if by_command else "give the server one (egotools serve --query-model)"
    )
    more = "; more of them may help (--steps)" if by_command else ""
    missing = end.missing.rstrip(".?! ")
    return {
        "answered": None,
        "ungrounded": ModelError(
            f"the answer is ungrounded: {missing}", remedy="Do not rely on it: read the tables, or ask again"
        ),
        "asked back": InvalidArgumentError(
            "the question has two readings", subject="question", remedy="Ask again, and say which one you mean"
        ),
        "unreadable": InvalidArgumentError(
            "the question could not be read",
            subject="question",
            remedy=f"Ask in words of the graph's types and properties, or {model}",
        ),
        "no answer": NotFoundError(
            f"no answer was found: {missing}",
            subject="question",
            remedy=f"Read its steps{more}",
        ),
        "model": ModelError(missing, remedy=again),
        "store": StorageError(missing, subject="graph", remedy=f"See whether it is there. {again}"),
        "budget": BudgetExceededError(missing, subject="budget", remedy=f"Raise it. {again}" if by_command else again),
        "deadline": DeadlineError(
            missing,
            subject="--max-seconds" if by_command else "question",
            remedy=f"Raise it. {again}" if by_command else again,
        ),
        "cancelled": DeadlineError(missing, subject="question", remedy=again),
    }[end.outcome]
