"""The figures of a run: everything its report says, as JSON values."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from datagen.measures import measure_diversity, measure_leakage
from datagen.report.coverage import measure_coverage
from datagen.run.make_requests import Made
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from inference.encoder import Encoder

__all__ = ["EXAMPLES", "made_figures"]

EXAMPLES = 10
"""How many requests of each class the report shows."""
_BINS = 20
_LONG_ID = 4  # characters: a shorter one may be a part of any word
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|‘[^’]*’|\d+(?:\.\d+)?")


def made_figures(made: Made, encoder: Encoder) -> dict[str, Any]:
    """The figures of what was made.

    :param encoder: tells how close requests are.
    """
    requests = made.generated.requests
    diversity = measure_diversity([request.text for request in requests], encoder)
    leakage = measure_leakage(
        (request.text, [made.catalogue.tool(tool) for tool in request.path.tools]) for request in requests
    )
    coverage = measure_coverage(
        made.catalogue,
        made.rp,
        requests,
        paths=[path for paths in made.paths.by_class.values() for path in paths],
        rejected=made.rejected,
    )
    return {
        "snapshot_id": made.catalogue.snapshot_id,
        "seed": made.seed,
        "by": {step: list(names) for step, names in made.names.items()},
        "stopped": str(made.generated.stopped or ""),
        "classes": _classes(made),
        "gold_set_sizes": _by_class(requests, lambda request: str(len(request.path.tools))),
        "shapes": _by_class(requests, lambda request: request.path.shape),
        "graph": _graph(made),
        "coverage": coverage.to_json(),
        "diversity": {**diversity.to_json(), "histogram": _histogram(diversity.nearest.tolist(), 0.0, 1.0)},
        "leakage": {
            **leakage.to_json(),
            "ids": [requests[number].id for number in leakage.names],
        },
        "rejected": _rejected(made.rejected),
        "examples": {name: _examples(requests, name, made.seed) for name in made.wanted},
    }


def _classes(made: Made) -> dict[str, dict[str, int]]:
    kept = Counter(request.request_class for request in made.generated.requests)
    return {
        name: {"wanted": wanted, "paths": len(made.paths.by_class.get(name, ())), "made": kept[name]}
        for name, wanted in made.wanted.items()
    }


def _by_class(requests: Sequence[SyntheticRequest], of: Any) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for request in requests:
        counts.setdefault(request.request_class, Counter())[of(request)] += 1
    return {name: dict(sorted(count.items())) for name, count in counts.items()}


def _graph(made: Made) -> dict[str, Any]:
    outputs = [output for outputs in made.outputs.by_tool.values() for output in outputs]
    pairs = {(edge.source, edge.target) for edge in made.rp}
    return {
        "tools_with_outputs": sum(bool(outputs) for outputs in made.outputs.by_tool.values()),
        "outputs_documented": sum(output.documented for output in outputs),
        "outputs_inferred": sum(not output.documented for output in outputs),
        "rp_edges": len(made.rp),
        "rp_pairs": len(pairs),
        "rp_confidence": _histogram([edge.confidence for edge in made.rp], 0.0, 1.0),
        "pp_edges": len(made.pp.links),
        "pp_compared": made.pp.compared,
        "pp_threshold": round(made.pp.threshold, 4),
        "pp_reason": made.pp.reason,
        "pp_distribution": made.pp.distribution,
    }


def _histogram(values: Sequence[float], low: float, high: float) -> dict[str, list[float]]:
    """Counts in bins of one width; what lies outside counts in the outermost."""
    counts, edges = np.histogram(np.clip(np.asarray(values, dtype=float), low, high), bins=_BINS, range=(low, high))
    return {"counts": [int(count) for count in counts], "edges": [round(float(edge), 4) for edge in edges]}


def _rejected(rejected: Sequence[RejectedRequest]) -> dict[str, dict[str, int]]:
    """Stage → reason → how often, the most frequent first; what differs in names and numbers alone is one reason."""
    counts: dict[str, Counter[str]] = {}
    for rejection in rejected:
        reason = rejection.reason
        for tool in sorted(rejection.subject, key=len, reverse=True):
            reason = reason.replace(tool, "…") if len(tool) >= _LONG_ID else reason
        counts.setdefault(rejection.stage, Counter())[_QUOTED.sub("…", reason)] += 1
    return {
        stage: dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))) for stage, reasons in counts.items()
    }


def _examples(requests: Sequence[SyntheticRequest], name: str, seed: int) -> list[str]:
    """Ids drawn at random, by the hash of seed and id."""
    ids = [request.id for request in requests if request.request_class == name]
    return sorted(ids, key=lambda one: hashlib.sha256(f"{seed}\n{one}".encode()).hexdigest())[:EXAMPLES]
