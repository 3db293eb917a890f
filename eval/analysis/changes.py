"""Requests that one run completes and another does not, with the rank of every gold tool in both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from eval.answers import Run
from eval.metrics import gold_ranks, is_answered
from eval.queries import LabelledQuery

__all__ = ["ChangedRequest", "Changes", "changed_requests", "complete_at", "ranks_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRequest:
    """A request that one of two runs completes at k and the other does not.

    :param before: rank, from 1, of each tool of ``query.tools`` in the first run, None where it is not in the answer;
        ``after`` in the second.
    """

    query: LabelledQuery
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]


class Changes(NamedTuple):
    """The requests that only the second run completes (``gained``), and those that only the first does (``lost``)."""

    gained: tuple[ChangedRequest, ...]
    lost: tuple[ChangedRequest, ...]


def ranks_of(run: Run, query: LabelledQuery) -> tuple[int | None, ...]:
    """The rank of each gold tool, from 1; None where it is not in the answer, or there is no answer."""
    tools = run.answers[query.id].tools if is_answered(run, query.id) else ()
    return gold_ranks(tools, query.tools)


def complete_at(ranks: Iterable[int | None]) -> int | None:
    """The least k at which all gold tools are among the first k; None when one is not in the answer."""
    known = list(ranks)
    return max((rank or 0 for rank in known), default=0) if None not in known else None


def changed_requests(before: Run, after: Run, queries: Iterable[LabelledQuery], k: int) -> Changes:
    """The requests that exactly one of the two runs completes at k."""
    gained: list[ChangedRequest] = []
    lost: list[ChangedRequest] = []
    for query in queries:
        request = ChangedRequest(query=query, before=ranks_of(before, query), after=ranks_of(after, query))
        was, is_ = _complete(request.before, k), _complete(request.after, k)
        if was != is_:
            (gained if is_ else lost).append(request)
    return Changes(tuple(gained), tuple(lost))


def _complete(ranks: Iterable[int | None], k: int) -> bool:
    depth = complete_at(ranks)
    return depth is not None and depth <= k
