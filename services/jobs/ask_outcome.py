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
from planners.graphseek.agent_events import Ended

__all__ = ["outcome_error"]


def outcome_error(end: Ended) -> EgotoolsError | None:
    """Return why a question has no sure answer; None where it has one."""
    again = "With the same journal the command goes on with it"
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
            remedy="Ask in words of the graph's types and properties, or name a model (--llm-url, --llm-model)",
        ),
        "no answer": NotFoundError(
            f"no answer was found: {missing}",
            subject="question",
            remedy="Read its steps; more of them may help (--steps)",
        ),
        "model": ModelError(missing, remedy=again),
        "store": StorageError(missing, subject="graph", remedy=f"See whether it is there. {again}"),
        "budget": BudgetExceededError(missing, subject="budget", remedy=f"Raise it. {again}"),
        "deadline": DeadlineError(missing, subject="--max-seconds", remedy=f"Raise it. {again}"),
        "cancelled": DeadlineError(missing, subject="question", remedy=again),
    }[end.outcome]
