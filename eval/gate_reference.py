"""The reference of the regression gate: which requests of each set a system completed when it was recorded.

The baselines of the gate are computed by the same code as the candidate, so a change that makes all of them worse
leaves their differences as they are. The reference does not change with the code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from eval.answers import Run
from eval.bootstrap import interval, resampled_means
from eval.measured_set import MeasuredSet
from eval.metrics import cutoff_of, score
from eval.regression_gate import GATE_MEASURES, Loss
from ontology.errors import DocumentError, NotFoundError
from ontology.files import write_file

__all__ = ["SetReference", "falls", "read_reference", "reference_of", "stale", "write_reference"]

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
