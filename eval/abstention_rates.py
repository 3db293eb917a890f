"""How often systems abstain: on requests that no tool serves, where it is right, and on answerable ones, where it is false."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.answers import Run
from eval.measured_set import MeasuredSet
from eval.metrics import interval, is_answered, resampled_means
from eval.queries import LabelledQuery

__all__ = ["ANSWERABLE", "KIND", "UNANSWERABLE", "AbstentionRate", "abstains", "abstention_rates"]

UNANSWERABLE, KIND, ANSWERABLE = "unanswerable", "kind", "answerable"
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionRate:
    """The share of a group of requests on which one system abstains.

    :param scope: ``unanswerable`` (all requests of the set that no tool serves), ``kind`` (one kind of them) or ``answerable``.
    :param kind: of the scope ``kind``, else empty.
    :param abstained: number of requests, of ``requests``, on which it abstains.
    :param low: lower end of the 95 % bootstrap interval of the share; ``high`` the upper.
    """

    set_name: str
    system: str
    scope: str
    kind: str
    requests: int
    abstained: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share in [0, 1]."""
        return self.abstained / self.requests


def abstains(run: Run, query_id: str) -> bool:
    """Whether the answer says that no tool serves the request, or has no tool. No answer at all is no abstention."""
    return is_answered(run, query_id) and (run.answers[query_id].abstained or not run.answers[query_id].tools)


def abstention_rates(measured: MeasuredSet, *, resamples: int, seed: int) -> tuple[AbstentionRate, ...]:
    """Return for each system the rate on all unanswerable requests, on each kind of them, and on the answerable ones.

    Without unanswerable requests there are none: what a system does on answerable requests alone says nothing about abstaining.
    """
    if not measured.queries.unanswerable:
        return ()
    return tuple(
        rate
        for (scope, kind), queries in _groups(measured).items()
        for rate in _rates(measured, scope, kind, queries, resamples=resamples, seed=seed)
    )


def _groups(measured: MeasuredSet) -> Mapping[tuple[str, str], Sequence[LabelledQuery]]:
    unanswerable = measured.queries.unanswerable
    kinds = dict.fromkeys(query.kind for query in unanswerable if query.kind)
    groups: dict[tuple[str, str], Sequence[LabelledQuery]] = {(UNANSWERABLE, ""): unanswerable}
    groups |= {(KIND, kind): [query for query in unanswerable if query.kind == kind] for kind in kinds}
    if measured.queries.queries:
        groups[ANSWERABLE, ""] = measured.queries.queries
    return groups


def _rates(
    measured: MeasuredSet, scope: str, kind: str, queries: Sequence[LabelledQuery], *, resamples: int, seed: int
) -> Iterator[AbstentionRate]:
    abstained_QS = np.array([[abstains(run, query.id) for run in measured.runs] for query in queries], dtype=np.float32)
    stratum = "\n".join((measured.queries.name, scope, kind))
    low_S, high_S = interval(resampled_means(abstained_QS, resamples=resamples, seed=seed, stratum=stratum))
    for at, run in enumerate(measured.runs):
        yield AbstentionRate(
            set_name=measured.queries.name,
            system=run.system,
            scope=scope,
            kind=kind,
            requests=len(queries),
            abstained=int(abstained_QS[:, at].sum()),
            low=round(float(low_S[at]), _DIGITS),
            high=round(float(high_S[at]), _DIGITS),
        )
