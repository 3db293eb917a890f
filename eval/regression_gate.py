"""The rules of the regression gate: a candidate must not lose on any set, must gain on average, and must not fall below its reference.

The first two use the paired bootstrap intervals of a summary, whose baseline is the system to compare with; the third what was
recorded of the candidate earlier.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from eval.measured_set import MeasuredSet, run_named
from eval.metrics import COMPLETE_MEASURES, PAPER_CUTOFFS, completes, interval, ranks_of, resampled_means
from eval.summary import MEAN, Figure, Scope, Summary, of_set
from ontology.errors import DocumentError, InvalidArgumentError
from ontology.files import write_file

GATE_MEASURES = COMPLETE_MEASURES
_DECISIVE = GATE_MEASURES[-1]  # at the default k; its whole interval must be above 0
_NAME = "the reference"
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A set and a measure in which the whole interval of the difference is below 0."""

    baseline: str
    set_name: str
    measure: str
    difference: float  # candidate minus baseline, and the upper end ``high`` of its paired 95 % interval; both below 0
    high: float

    def __str__(self) -> str:
        return f"{self.set_name}, {self.measure}: {self.difference:+.1%} to {self.baseline}, at best {self.high:+.1%}"


def losses(summary: Summary, candidate: str) -> list[Loss]:
    """Return the sets and measures in which the candidate is significantly below the summary's baseline.

    :raises InvalidArgumentError: when a set has no such figure: without figures the gate must not pass.
    """
    return [
        Loss(baseline=summary.baseline, set_name=name, measure=figure.measure, difference=difference, high=high)
        for name in summary.sets
        for figure, difference, _, high in _differences(summary, of_set(name), candidate)
        if high < 0
    ]


def missing_gains(summary: Summary, candidate: str) -> list[str]:
    """Return the reasons why the candidate has no gain over the baseline, averaged over the sets; empty for a gain.

    There is a gain when the whole interval of the mean difference over the sets is above 0 at ten tools, and at three and five
    tools not all of it is below. A system with the same answers as the baseline has a difference of 0, which is no gain.

    :raises InvalidArgumentError: when there is no such figure.
    """
    return [
        f"mean of {len(summary.sets)} sets, {figure.measure}: {difference:+.1%} [{low:+.1%}, {high:+.1%}]"
        for figure, difference, low, high in _differences(summary, MEAN, candidate)
        if (low <= 0 if figure.measure == _DECISIVE else high < 0)
    ]


def _differences(summary: Summary, scope: Scope, candidate: str) -> Iterator[tuple[Figure, float, float, float]]:
    """Yield the candidate's figure for each measure, with its difference and the ends of its interval."""
    for measure in GATE_MEASURES:
        figure = summary.figure(scope, candidate, measure)
        if figure is None or figure.difference is None:
            problem = f"{candidate!r} has no difference to {summary.baseline!r}"
            subject = f"{scope[1] or 'macro-average'}, {measure}"
            raise InvalidArgumentError(problem, subject=subject, remedy="Measure both first")
        yield figure, figure.difference, figure.difference_low or 0.0, figure.difference_high or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReference:
    """What was recorded of one set."""

    system: str
    code: str  # of the run's configuration, the SHA-256 of the code that answered
    snapshot_id: str
    queries_sha256: str
    queries: int
    complete: Mapping[str, float]  # measure → share of the requests; of ``complete_requests``, for the reader
    # measure → one bit for each request in the order of the set, 1 where its gold set was complete; eight bits in two
    # hexadecimal digits
    complete_requests: Mapping[str, str]


_REFERENCE = TypeAdapter(dict[str, SetReference])


def reference_of(measured: MeasuredSet, system: str) -> SetReference:
    """The reference that a measured set gives.

    :raises NotFoundError: when the system was not measured.
    """
    hits = dict(zip(GATE_MEASURES, _hits(measured, system).T, strict=True))
    return SetReference(
        system=system,
        code=str(run_named(measured.runs, system, measured.queries.name).config.get("code_sha256", "")),
        snapshot_id=measured.snapshot_id,
        queries_sha256=measured.queries.sha256,
        queries=len(measured.queries.queries),
        complete={measure: round(float(found.mean()), 6) for measure, found in hits.items()},
        complete_requests={measure: np.packbits(found).tobytes().hex() for measure, found in hits.items()},
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
    the same. A fall is a difference with its whole paired 95 % interval below 0: on one set four lost requests where
    none is gained, on the mean of twelve sets of 200 requests about one point."""
    found: list[Loss] = []
    changes, draws = [], []
    for one in measured:
        if _comparable(one, reference):
            name, recorded = one.queries.name, reference[one.queries.name]
            packed = (
                np.frombuffer(bytes.fromhex(recorded.complete_requests[each]), np.uint8) for each in GATE_MEASURES
            )
            columns = [np.unpackbits(bits, count=recorded.queries) for bits in packed]
            change_QM = _hits(one, candidate).astype(np.float32) - np.array(columns, dtype=np.float32).T
            changes.append(change_QM.mean(axis=0))
            draws.append(resampled_means(change_QM, resamples=_RESAMPLES, seed=0, stratum=name))
            found += _losses(name, changes[-1], draws[-1])
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


def _hits(measured: MeasuredSet, system: str) -> NDArray[np.bool_]:
    """Whether each request is complete, bool [requests, gate measures]."""
    run = run_named(measured.runs, system, measured.queries.name)
    return completes((ranks_of(run, query) for query in measured.queries.queries), PAPER_CUTOFFS)


def read_reference(path: Path) -> dict[str, SetReference]:
    """The recorded sets by name; none where there is no file.

    :raises DocumentError: when it is damaged.
    """
    if not path.exists():
        return {}
    try:
        return _REFERENCE.validate_json(path.read_bytes())
    except ValidationError as error:
        problem = f"the reference cannot be read: {error.errors()[0]['msg']}"
        raise DocumentError(problem, subject=str(path), remedy="Record it again") from error


def write_reference(path: Path, reference: Mapping[str, SetReference]) -> None:
    """Write the recorded sets, one a line."""
    values: dict[str, Any] = _REFERENCE.dump_python(dict(reference), mode="json")
    lines = [f"{json.dumps(name)}: {json.dumps(values[name])}" for name in sorted(values)]
    write_file(path, "{\n" + ",\n".join(lines) + "\n}\n")
