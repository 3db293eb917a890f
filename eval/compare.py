"""Comparison of two evaluations: the requests that each system gained and lost, with a significance test.

Only results of both evaluations are paired: a system by its name, a request by id, text and gold set. Other differences
(snapshot, requests, configurations) are part of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, TypeAdapter, computed_field
from pydantic.dataclasses import dataclass as json_dataclass

from eval.measured_set import MeasuredSet, Run
from eval.metrics import PAPER_CUTOFFS, check, completes, interval, p_value, ranks_of, resampled_means
from eval.queries import LabelledQuery, slot_name
from ontology.errors import InvalidArgumentError

_SEED = 0  # of the draws


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRequest:
    """A request that one of two runs completes at k and the other does not."""

    query: LabelledQuery
    # rank, from 1, at which the first run fills each of ``query.slots``, None where it does not; ``after`` likewise for
    # the second run
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]


def _to_json(change: ChangedRequest) -> dict[str, Any]:
    gold = [slot_name(slot) for slot in change.query.slots]
    return {
        "id": change.query.id,
        "class": change.query.request_class,
        "before": dict(zip(gold, change.before, strict=True)),
        "after": dict(zip(gold, change.after, strict=True)),
    }


_Changed = Annotated[ChangedRequest, PlainSerializer(_to_json)]


@json_dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """CompleteRecall of one system at one k, before and after, over the requests that both measured."""

    k: int
    before: float  # in [0, 1]; likewise ``after``
    after: float
    low: float  # lower end of the paired 95 % interval of ``after - before``; ``high`` the upper; ``p`` two-sided
    high: float
    p: float
    gained: tuple[_Changed, ...]  # requests that are complete only after; ``lost``: only before
    lost: tuple[_Changed, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemComparison:
    """One system in both evaluations."""

    system: str
    hashes: tuple[str, str]  # config hash before and after
    settings: tuple[str, ...]  # the keys in which the configurations differ
    unanswered: tuple[int, int]  # paired requests without an answer, before and after
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetComparison:
    """One set of requests in both evaluations."""

    names: tuple[str, str]  # name of the set, before and after; likewise ``snapshots`` and ``queries_sha256``
    snapshots: tuple[str, str]
    queries_sha256: tuple[str, str]
    paired: tuple[str, ...]  # ids of the requests that are the same in both; figures are over these requests only
    only_before: tuple[str, ...]  # ids of requests that only the first has, ``only_after`` only the second
    only_after: tuple[str, ...]
    altered: tuple[str, ...]  # ids in both evaluations whose text or gold set differs
    systems: tuple[SystemComparison, ...]
    systems_only_before: tuple[str, ...]  # systems that only the first measured, ``systems_only_after`` only the second
    systems_only_after: tuple[str, ...]
    too_deep: tuple[int, ...]  # cutoffs left out, because the answers of one evaluation do not reach them


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two evaluations."""

    sets: tuple[SetComparison, ...]  # the sets in both; ``sets_only_before`` and ``sets_only_after`` name the others
    sets_only_before: tuple[str, ...]
    sets_only_after: tuple[str, ...]
    resamples: int
    seed: int


def compare(before: Sequence[MeasuredSet], after: Sequence[MeasuredSet], *, resamples: int = 10_000) -> Comparison:
    """Compare two evaluations set by set, paired by name; if each has only one set, the names may differ.

    :raises InvalidArgumentError: when they have no set, no request, no system or no cutoff in common.
    """
    check(resamples=resamples, seed=_SEED)
    first, second = ({one.queries.name: one for one in sets} for sets in (before, after))
    pairs = [(first[name], second[name]) for name in first if name in second]
    if len(before) == len(after) == 1:
        pairs = [(before[0], after[0])]
    if not pairs:
        problem = "the two evaluations have no set of requests in common"
        names = " and ".join(", ".join(found) or "nothing" for found in (first, second))
        raise InvalidArgumentError(problem, subject=names, remedy="Compare evaluations of the same requests")
    paired = {measured.queries.name for pair in pairs for measured in pair}
    return Comparison(
        sets=tuple(_compare(*pair, resamples) for pair in pairs),
        sets_only_before=tuple(name for name in first if name not in paired),
        sets_only_after=tuple(name for name in second if name not in paired),
        resamples=resamples,
        seed=_SEED,
    )


def comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON values, with the differences."""
    return dict(TypeAdapter(Comparison).dump_python(comparison, mode="json"))


def _compare(before: MeasuredSet, after: MeasuredSet, resamples: int) -> SetComparison:
    first = {query.id: query for query in before.queries.queries}
    second = {query.id: query for query in after.queries.queries}
    both = [query_id for query_id in first if query_id in second]
    paired = [first[one] for one in both if _content(first[one]) == _content(second[one])]
    others = {run.system: run for run in after.runs}
    runs = [(run, others[run.system]) for run in before.runs if run.system in others]
    depths = [(run.k, of.tools) for pair in runs for run, of in zip(pair, (before, after), strict=True)]
    reached = [k for k in PAPER_CUTOFFS if all(depth >= min(k, tools) for depth, tools in depths)]
    for common, what in ((paired, "answerable request"), (runs, "system"), (reached, "cutoff")):
        if not common:
            problem = f"the two evaluations have no {what} in common"
            remedy = "Compare evaluations of the same requests, by systems of the same names, with the same k"
            raise InvalidArgumentError(problem, subject=before.queries.name, remedy=remedy)
    same = {query.id for query in paired}
    draw = partial(resampled_means, resamples=resamples, seed=_SEED, stratum=before.queries.name)
    return SetComparison(
        names=(before.queries.name, after.queries.name),
        snapshots=(before.snapshot_id, after.snapshot_id),
        queries_sha256=(before.queries.sha256, after.queries.sha256),
        paired=tuple(query.id for query in paired),
        only_before=tuple(query_id for query_id in first if query_id not in second),
        only_after=tuple(query_id for query_id in second if query_id not in first),
        altered=tuple(query_id for query_id in both if query_id not in same),
        systems=tuple(_system(*pair, paired, reached, draw) for pair in runs),
        systems_only_before=tuple(run.system for run in before.runs if run.system not in others),
        systems_only_after=tuple(run.system for run in after.runs if all(run is not pair[1] for pair in runs)),
        too_deep=tuple(k for k in PAPER_CUTOFFS if k not in reached),
    )


def _content(query: LabelledQuery) -> tuple[str, set[frozenset[str]]]:
    return query.text, set(map(frozenset, query.slots))


def _system(
    before: Run,
    after: Run,
    queries: Sequence[LabelledQuery],
    cutoffs: Sequence[int],
    draw: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> SystemComparison:
    """``draw`` maps values [requests, cutoffs] to their means over each draw, [cutoffs, resamples]."""
    requests = [ChangedRequest(query=one, before=ranks_of(before, one), after=ranks_of(after, one)) for one in queries]
    first_QC = completes([one.before for one in requests], cutoffs).astype(np.float32)
    second_QC = completes([one.after for one in requests], cutoffs).astype(np.float32)
    draws_CB = draw(second_QC - first_QC)
    means_C = (each.mean(axis=0, dtype=np.float64) for each in (first_QC, second_QC))
    columns = zip(*map(np.ndarray.tolist, (*means_C, *interval(draws_CB), p_value(draws_CB))), strict=True)
    old, new = before.config, after.config
    was, now = (sum(run.answered(query.id) is None for query in queries) for run in (before, after))
    return SystemComparison(
        system=before.system,
        hashes=(before.config_hash, after.config_hash),
        settings=tuple(sorted(key for key in {*old, *new} if key not in old or key not in new or old[key] != new[key])),
        unanswered=(was, now),
        points=tuple(
            Point(
                k=k,
                **dict(zip(("before", "after", "low", "high", "p"), column, strict=True)),
                gained=tuple(compress(requests, second_QC[:, at] > first_QC[:, at])),
                lost=tuple(compress(requests, second_QC[:, at] < first_QC[:, at])),
            )
            for at, (k, column) in enumerate(zip(cutoffs, columns, strict=True))
        ),
    )
