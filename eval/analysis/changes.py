"""Which requests one run completes and another does not, with the rank of every gold tool in both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eval.answers import Run
from eval.metrics import gold_ranks, is_answered
from eval.queries import LabelledQuery

__all__ = ["Change", "changed", "complete_at", "ranks_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A request that one of two runs completes at k and the other does not.

    :param before: rank of each tool of ``gold`` in the first run, from 1, None where it is not in the answer; ``after``
        in the second.
    """

    query: LabelledQuery
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]


def ranks_of(run: Run, query: LabelledQuery) -> tuple[int | None, ...]:
    """The rank of each gold tool, from 1; None where it is not in the answer, or there is no answer."""
    tools = run.answers[query.id].tools if is_answered(run, query.id) else ()
    return gold_ranks(tools, query.tools)


def complete_at(ranks: Iterable[int | None]) -> int | None:
    """The least k at which all gold tools are among the first k; None when one is not in the answer."""
    known = list(ranks)
    return max((rank or 0 for rank in known), default=0) if None not in known else None


def changed(before: Run, after: Run, queries: Iterable[LabelledQuery], k: int) -> tuple[list[Change], list[Change]]:
    """The requests that ``after`` completes at k and ``before`` does not, and those the other way round."""
    gained: list[Change] = []
    lost: list[Change] = []
    for query in queries:
        change = Change(query=query, before=ranks_of(before, query), after=ranks_of(after, query))
        was, is_ = (_within(complete_at(ranks), k) for ranks in (change.before, change.after))
        if was != is_:
            (gained if is_ else lost).append(change)
    return gained, lost


def _within(depth: int | None, k: int) -> bool:
    return depth is not None and depth <= k
