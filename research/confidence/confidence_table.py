"""What the confidence models reach on each catalogue under a fit on all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from research.confidence.confidence_evidence import Evidence
from research.confidence.confidence_models import (
    Floats,
    answerable,
    fit_needed,
    fit_served,
    fit_task,
    fitted_threshold,
    logistic,
)
from retrieval.ranking.confidence import NEEDED

__all__ = ["reliability", "table"]

_UNSERVED = ("talk", "unseen talk", "tasks", "foreign", "bereft")
_RANKS = 10
_MOST = 20  # tools of an answer with auto_k


def table(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Lines of a Markdown table, a line a catalogue and their mean; then how right the probabilities of tools are."""
    yield "| catalogue | kept | answered: " + " | ".join(_UNSERVED) + " | tools | gold | complete | complete at 10 |"
    yield "|---|" + "---:|" * (len(_UNSERVED) + 5)
    found, said, true = [], [], []
    for one in evidence:
        others = [other for other in evidence if other is not one]
        task, served, needed = fit_task(others), fit_served(others), fit_needed(others)
        threshold = fitted_threshold(others, task, served)
        answered = [
            float((answerable(task, served, one.requests[kind]) >= threshold).mean())
            if kind in one.requests
            else np.nan
            for kind in ("served", *_UNSERVED)
        ]
        asked = [request for request in one.asked if len(request.gold)]
        chances = [logistic(needed, request.evidence) for request in asked]
        lengths = np.asarray([min(_MOST, max(1, int((chance >= NEEDED).sum()))) for chance in chances])
        complete = np.asarray([request.complete for request in asked])
        gold = float(np.mean([request.count for request in asked]))
        row = [
            *answered,
            float(lengths.mean()),
            gold,
            float((complete <= lengths).mean()),
            float((complete <= _RANKS).mean()),
        ]
        yield _line(one.name, row)
        found.append(row)
        said.append(np.concatenate([chance[:_RANKS] for chance in chances]))
        true.append(np.concatenate([request.gold[:_RANKS] for request in asked]))
    yield _line("mean", [_mean([row[column] for row in found]) for column in range(len(found[0]))])
    yield ""
    yield "needed, said and true: " + ", ".join(f"{a:.2f} {b:.2f}" for a, b in reliability(said, true))


def reliability(said: Sequence[Floats], true: Sequence[np.typing.NDArray[np.bool_]]) -> list[tuple[float, float]]:
    """For each tenth of the scale that occurs: the mean probability, and the share that is true. Each catalogue counts alike.

    :param said: for each catalogue the probabilities of its tools, float64 [tools].
    :param true: for each catalogue which of them are needed, bool [tools].
    """
    weights = np.concatenate([np.full(len(one), 1 / max(1, len(one))) for one in said])
    chances, truths = np.concatenate(said), np.concatenate(true).astype(float)
    tenths = np.minimum((chances * 10).astype(int), 9)
    return [
        (
            float(np.average(chances[here], weights=weights[here])),
            float(np.average(truths[here], weights=weights[here])),
        )
        for tenth in range(10)
        if (here := tenths == tenth).any()
    ]


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _line(name: str, values: Sequence[float]) -> str:
    return f"| {name} | " + " | ".join("–" if np.isnan(value) else f"{value:.2f}" for value in values) + " |"
