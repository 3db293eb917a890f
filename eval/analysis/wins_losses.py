"""Win/loss analysis of two systems: the requests that only one of them completes, and the edges that explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from egotools.values import Reasons, TraversedEdge
from eval.analysis.changes import changed_requests
from eval.analysis.failures import retriever_named
from eval.analysis.graph_evidence import GraphEvidence
from eval.answers import Run
from eval.queries import LabelledQuery, QuerySet
from inference.encoder import Encoder
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot

__all__ = ["DecisiveTool", "ExplainedRequest", "WinsLosses", "analyse_wins_losses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisiveTool:
    """A gold tool that one system has among the first k and the other has not.

    :param rank: in the system that has it; ``other_rank`` in the other, None where it is not in the answer.
    :param reasons: of the system that has it, where that could be asked again.
    :param edges: edges that join it with the other gold tools of the request.
    """

    tool_id: str
    rank: int
    other_rank: int | None
    reasons: Reasons = field(default_factory=Reasons)
    edges: tuple[TraversedEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRequest:
    """A request that one system completes and the other does not, with the tools that make the difference."""

    query: LabelledQuery
    tools: tuple[DecisiveTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WinsLosses:
    """Requests that only the ``first`` system completes at k (``wins``), and only the ``second`` (``losses``)."""

    first: str
    second: str
    k: int
    snapshot_id: str
    wins: tuple[ExplainedRequest, ...]
    losses: tuple[ExplainedRequest, ...]


def analyse_wins_losses(
    first: Run,
    second: Run,
    queries: QuerySet,
    k: int,
    *,
    snapshot: Snapshot | None = None,
    encoder: Encoder | None = None,
) -> WinsLosses:
    """Compare two runs of the same requests.

    :param snapshot: with it and its encoder, each decisive tool has the reasons of the preset that returned it, and the
        edges to the other gold tools; without, only its ranks.
    """
    changes = changed_requests(second, first, queries.queries, k)
    by_first = _Explainer(first, k, snapshot, encoder)
    by_second = _Explainer(second, k, snapshot, encoder)
    return WinsLosses(
        first=first.system,
        second=second.system,
        k=k,
        snapshot_id=first.snapshot_id,
        wins=tuple(by_first.explained(one.query, one.after, one.before) for one in changes.gained),
        losses=tuple(by_second.explained(one.query, one.before, one.after) for one in changes.lost),
    )


class _Explainer:
    """Explains the requests that one run completes and the other does not."""

    def __init__(self, run: Run, k: int, snapshot: Snapshot | None, encoder: Encoder | None) -> None:
        self._k = k
        self._evidence = GraphEvidence(snapshot) if snapshot is not None else None
        self._retriever = None
        if snapshot is not None and encoder is not None and snapshot.id == run.snapshot_id:
            self._retriever = retriever_named(snapshot, encoder, run.system)

    def explained(
        self, query: LabelledQuery, ranks: Sequence[int | None], others: Sequence[int | None]
    ) -> ExplainedRequest:
        """One request; ``ranks`` of its gold tools in this run, ``others`` in the other."""
        reasons: dict[str, Reasons] = {}
        if self._retriever is not None:
            response = self._retriever.retrieve(Request(query=query.text, k=self._k))
            reasons = {tool.id: tool.reasons for tool in response.tools}
        tools = [
            DecisiveTool(
                tool_id=tool,
                rank=rank,
                other_rank=other,
                reasons=reasons.get(tool, Reasons()),
                edges=self._evidence.edges(tool, query.tools) if self._evidence is not None else (),
            )
            for tool, rank, other in zip(query.tools, ranks, others, strict=True)
            if rank is not None and (other is None or other > self._k)
        ]
        return ExplainedRequest(query=query, tools=tuple(tools))
