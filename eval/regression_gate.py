"""Two rules of the regression gate: a candidate must not lose on any set, and must gain on average.

Both rules use the paired bootstrap intervals of a summary, whose baseline is the system to compare with. The third rule,
that the candidate must not be below what was recorded of it, is in :mod:`eval.regression_gate`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from eval.answers import Run
from eval.measured_set import MeasuredSet
from eval.metrics import cutoff_of, interval, resampled_means, score
from eval.report.tables import Figures, Scope
from eval.summary import Figure, Summary
from ontology.errors import DocumentError, InvalidArgumentError, NotFoundError
from ontology.files import write_file

__all__ = [
    "GATE_MEASURES",
    "Loss",
    "falls",
    "losses",
    "missing_gains",
    "read_reference",
    "reference_of",
    "stale",
    "write_reference",
]

GATE_MEASURES = ("CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10")
_DECISIVE = GATE_MEASURES[-1]  # at the default k; its whole interval must be above 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A set and a measure in which the whole interval of the difference is below 0.

    :param difference: candidate minus baseline, and the upper end ``high`` of its paired 95 % interval; both below 0.
    """

    baseline: str
    set_name: str
    measure: str
    difference: float
    high: float

    def __str__(self) -> str:
        return f"{self.set_name}, {self.measure}: {self.difference:+.1%} to {self.baseline}, at best {self.high:+.1%}"


def losses(summary: Summary, candidate: str, *, measures: Sequence[str] = GATE_MEASURES) -> list[Loss]:
    """Return the sets and measures in which the candidate is significantly below the summary's baseline.

    :raises InvalidArgumentError: when a set has no such figure: without figures the gate must not pass.
    """
    figures = Figures(summary)
    scopes = [figures.requests(name) for name in summary.sets]
    return [
        Loss(
            baseline=summary.baseline,
            set_name=scope.name,
            measure=measure,
            difference=figure.difference or 0.0,
            high=figure.difference_high or 0.0,
        )
        for scope in scopes
        for measure, figure in _figures(figures, scope, candidate, measures)
        if (figure.difference_high or 0.0) < 0
    ]


def missing_gains(summary: Summary, candidate: str) -> list[str]:
    """Return the reasons why the candidate has no gain over the baseline, averaged over the sets; empty for a gain.

    There is a gain when the whole interval of the mean difference over the sets is above 0 at ten tools, and at three and five
    tools not all of it is below. A system with the same answers as the baseline has a difference of 0, which is no gain.

    :raises InvalidArgumentError: when there is no such figure.
    """
    figures = Figures(summary)
    reasons = []
    for measure, figure in _figures(figures, figures.requests(), candidate, GATE_MEASURES):
        difference, low = figure.difference or 0.0, figure.difference_low or 0.0
        high = figure.difference_high or 0.0
        is_missing = low <= 0 if measure == _DECISIVE else high < 0
        if is_missing:
            interval = f"[{low:+.1%}, {high:+.1%}]"
            reasons.append(f"mean of {len(summary.sets)} sets, {measure}: {difference:+.1%} {interval}")
    return reasons


def _figures(figures: Figures, scope: Scope, candidate: str, measures: Sequence[str]) -> Iterator[tuple[str, Figure]]:
    """Yield the candidate's figure for each measure."""
    for measure in measures:
        figure = figures.get(scope, candidate, measure)
        if figure is None or figure.difference is None:
            raise InvalidArgumentError(
                f"{candidate!r} has no difference to {figures.summary.baseline!r}",
                subject=f"{scope.name}, {measure}",
                remedy="Measure both first",
            )
        yield measure, figure


_NAME = "the reference"
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReference:
    """What was recorded of one set.

    :param code: of the run's configuration, the SHA-256 of the code that answered.
    :param complete: measure → share of the requests; of ``complete_requests``, for the reader.
    :param complete_requests: measure → one bit for each request in the order of the set, 1 where its gold set was
        complete; eight bits in two hexadecimal digits.
    """

    system: str
    code: str
    snapshot_id: str
    queries_sha256: str
    queries: int
    complete: Mapping[str, float]
    complete_requests: Mapping[str, str]


def reference_of(measured: MeasuredSet, system: str) -> SetReference:
    """The reference that a measured set gives.

    :raises NotFoundError: when the system was not measured.
    """
    run = _run(measured, system)
    hits_QM = _hits(measured, run)
    return SetReference(
        system=system,
        code=str(run.config.get("code_sha256", "")),
        snapshot_id=measured.snapshot_id,
        queries_sha256=measured.queries.sha256,
        queries=len(hits_QM),
        complete=dict(zip(GATE_MEASURES, (round(float(share), 6) for share in hits_QM.mean(axis=0)), strict=True)),
        complete_requests={
            measure: np.packbits(hits_QM[:, at]).tobytes().hex() for at, measure in enumerate(GATE_MEASURES)
        },
    )


def stale(measured: Sequence[MeasuredSet], reference: Mapping[str, SetReference]) -> list[str]:
    """The sets that cannot be compared: without a reference, or with one of other requests."""
    return [
        f"{one.queries.name}: {'other requests than' if one.queries.name in reference else 'not in'} {_NAME}"
        for one in measured
        if not _comparable(one, reference)
    ]


def falls(measured: Sequence[MeasuredSet], candidate: str, reference: Mapping[str, SetReference]) -> list[Loss]:
    """The sets on which the candidate completes fewer requests than the reference, and their mean, each set counting
    the same.

    A fall is a difference with its whole paired 95 % interval below 0: on one set four lost requests where none is
    gained, on the mean of twelve sets of 200 requests about one point.
    """
    found: list[Loss] = []
    changes: list[NDArray[np.float32]] = []
    draws: list[NDArray[np.float32]] = []
    for one in measured:
        if not _comparable(one, reference):
            continue
        before_QM = _recorded(reference[one.queries.name])
        change_QM = _hits(one, _run(one, candidate)).astype(np.float32) - before_QM
        changes.append(change_QM.mean(axis=0))
        draws.append(resampled_means(change_QM, resamples=_RESAMPLES, seed=0, stratum=one.queries.name))
        found += _losses(one.queries.name, changes[-1], draws[-1])
    if len(draws) > 1:
        found += _losses(f"mean of {len(draws)} sets", np.mean(changes, axis=0), np.mean(draws, axis=0))
    return found


def _losses(name: str, change_M: NDArray[np.float32], draws_MB: NDArray[np.float32]) -> list[Loss]:
    _, high_M = interval(draws_MB)
    return [
        Loss(baseline=_NAME, set_name=name, measure=measure, difference=float(change), high=float(high))
        for measure, change, high in zip(GATE_MEASURES, change_M, high_M, strict=True)
        if high < 0
    ]


def _comparable(measured: MeasuredSet, reference: Mapping[str, SetReference]) -> bool:
    known = reference.get(measured.queries.name)
    return known is not None and known.queries_sha256 == measured.queries.sha256


def _run(measured: MeasuredSet, system: str) -> Run:
    for run in measured.runs:
        if run.system == system:
            return run
    raise NotFoundError(f"{system!r} was not measured", subject=measured.queries.name, remedy="Measure it first")


def _hits(measured: MeasuredSet, run: Run) -> NDArray[np.bool_]:
    """Whether each request is complete, bool [requests, gate measures]."""
    scores = score(run, measured.queries, tuple(map(cutoff_of, GATE_MEASURES)))
    return scores.values_QM[:, [scores.measures.index(measure) for measure in GATE_MEASURES]] > 0


def _recorded(reference: SetReference) -> NDArray[np.float32]:
    """The hits of a reference, float32 [requests, gate measures] of 0 and 1."""
    columns = [
        np.unpackbits(
            np.frombuffer(bytes.fromhex(reference.complete_requests[measure]), np.uint8), count=reference.queries
        )
        for measure in GATE_MEASURES
    ]
    return np.array(columns, dtype=np.float32).T


@cache
def _codec() -> TypeAdapter[dict[str, SetReference]]:
    return TypeAdapter(dict[str, SetReference])


def read_reference(path: Path) -> dict[str, SetReference]:
    """The recorded sets by name; none where there is no file.

    :raises DocumentError: when it is damaged.
    """
    if not path.exists():
        return {}
    try:
        return _codec().validate_json(path.read_bytes())
    except ValidationError as error:
        raise DocumentError(
            f"the reference cannot be read: {error.errors()[0]['msg']}", subject=str(path), remedy="Record it again"
        ) from error


def write_reference(path: Path, reference: Mapping[str, SetReference]) -> None:
    """Write the recorded sets, one a line."""
    values: dict[str, Any] = _codec().dump_python(dict(reference), mode="json")
    lines = [f"{json.dumps(name)}: {json.dumps(values[name])}" for name in sorted(values)]
    write_file(path, "{\n" + ",\n".join(lines) + "\n}\n")
