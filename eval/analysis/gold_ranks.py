"""The ranks of the gold tools of a request in an answer."""

from __future__ import annotations

from collections.abc import Iterable

from eval.answers import Run
from eval.metrics import gold_ranks, is_answered
from eval.queries import LabelledQuery

__all__ = ["complete_at", "ranks_of"]


def ranks_of(run: Run, query: LabelledQuery) -> tuple[int | None, ...]:
    """Return the rank of each gold tool, from 1; None where it is not in the answer, or there is no answer."""
    tools = run.answers[query.id].tools if is_answered(run, query.id) else ()
    return gold_ranks(tools, query.tools)


def complete_at(ranks: Iterable[int | None]) -> int | None:
    """Return the smallest k at which the first k tools include all gold tools; None when one is not in the answer."""
    known = list(ranks)
    return max((rank or 0 for rank in known), default=0) if None not in known else None
