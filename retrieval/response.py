"""From ranked tool numbers to a Response: one place for ranks, reasons and timings, whatever the retriever."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from egotools.values import RankedTool, Reasons, Response
from inference.arrays import Floats1d
from retrieval.candidates.entry_nodes import EntryNode
from retrieval.explain import entry_reasons, parameter_bindings
from retrieval.ranking.confidence import Confidence
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot

__all__ = ["Stages", "respond"]

_CANNOT_TELL = "auto_k: how many tools are enough cannot be told here, so they are k"


class Stages:
    """Runs the stages of one request: checks the deadline before each and keeps its milliseconds."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._started = time.perf_counter()
        self.timings_ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage; raises DeadlineError instead of starting it when the caller's time is over."""
        self._request.check_deadline(name)
        started = time.perf_counter()
        yield
        spent = (time.perf_counter() - started) * 1e3
        self.timings_ms[name] = self.timings_ms.get(name, 0.0) + spent

    def finish(self) -> Mapping[str, float]:
        """The timings with their total."""
        return {**self.timings_ms, "total": (time.perf_counter() - self._started) * 1e3}


def respond(
    snapshot: Snapshot,
    request: Request,
    stages: Stages,
    *,
    preset: str,
    tools: Sequence[int],
    scores: Floats1d,
    features: Mapping[str, Floats1d],
    entries: Sequence[EntryNode] = (),
    fallbacks: Sequence[str] = (),
    confidence: Confidence | None = None,
) -> Response:
    """The answer with the tools in the given order.

    :param scores: one a tool, in the same order; so are the arrays of ``features`` and what ``confidence`` says.
    """
    ranked = []
    with stages.stage("explain"):
        for place, number in enumerate(map(int, tools)):
            reasons = Reasons()
            if request.explain:
                matches, edges = entry_reasons(snapshot, number, entries)
                reasons = Reasons(
                    entries=matches,
                    edges=edges,
                    features={name: round(float(values[place]), 6) for name, values in features.items()},
                    bindings=parameter_bindings(snapshot, number, [int(tool) for tool in tools]),
                )
            ranked.append(
                RankedTool(
                    id=snapshot.tool_id(number),
                    rank=place + 1,
                    score=round(float(scores[place]), 6),
                    reasons=reasons,
                    probability=round(float(confidence.probabilities[place]), 4) if confidence else None,
                )
            )
    return Response(
        tools=tuple(ranked),
        snapshot_id=snapshot.id,
        preset=preset,
        timings_ms=stages.finish(),
        fallbacks=(*fallbacks, _CANNOT_TELL) if request.auto_k and confidence is None else tuple(fallbacks),
        answerable_probability=round(confidence.answerable, 4) if confidence else None,
        unanswerable=confidence is not None and confidence.unanswerable,
    )
