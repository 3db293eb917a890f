"""Whom a system helped: the requests that it completes and another does not, those it hurt, and the edges that explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from egotools.values import Reasons, TraversedEdge
from eval.analysis.changes import changed
from eval.analysis.failures import retriever_named
from eval.analysis.graph_evidence import Evidence
from eval.answers import Run
from eval.queries import LabelledQuery, QuerySet
from inference.encoder import Encoder
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot

__all__ = ["Explained", "GainedTool", "HelpedAndHurt", "helped_and_hurt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GainedTool:
    """A gold tool that one system has among the first k and the other has not.

    :param rank: in the system that has it; ``other_rank`` in the other, None where it is not in the answer.
    :param reasons: why the system that has it returned it, where it could be asked again.
    :param edges: edges that join it with the request's other gold tools.
    """

    tool_id: str
    rank: int
    other_rank: int | None
    reasons: Reasons = field(default_factory=Reasons)
    edges: tuple[TraversedEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A request that one system completes and the other does not, and the tools that make the difference."""

    query: LabelledQuery
    tools: tuple[GainedTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpedAndHurt:
    """Where two systems differ at k: ``helped`` the first completes and the second does not, ``hurt`` the other way."""

    first: str
    second: str
    k: int
    snapshot_id: str
    helped: tuple[Explained, ...]
    hurt: tuple[Explained, ...]


def helped_and_hurt(
    a_run: Run,
    b_run: Run,
    queries: QuerySet,
    k: int,
    *,
    snapshot: Snapshot | None = None,
    encoder: Encoder | None = None,
) -> HelpedAndHurt:
    """The requests that A completes at k and B does not, and those the other way round.

    :param snapshot: with it and its encoder, each tool that makes the difference comes with the reasons of the preset
        that has it, and with the edges to the request's other gold tools; without, with its ranks.
    """
    helped, hurt = changed(b_run, a_run, queries.queries, k)
    by_a = _Explainer(a_run, k, snapshot, encoder)
    by_b = _Explainer(b_run, k, snapshot, encoder)
    return HelpedAndHurt(
        first=a_run.system,
        second=b_run.system,
        k=k,
        snapshot_id=a_run.snapshot_id,
        helped=tuple(by_a.explained(change.query, change.after, change.before) for change in helped),
        hurt=tuple(by_b.explained(change.query, change.before, change.after) for change in hurt),
    )


class _Explainer:
    """Says why one run has the gold tools that another has not."""

    def __init__(self, run: Run, k: int, snapshot: Snapshot | None, encoder: Encoder | None) -> None:
        self._k = k
        self._evidence = Evidence(snapshot) if snapshot is not None else None
        self._retriever = None
        if snapshot is not None and encoder is not None and snapshot.id == run.snapshot_id:
            self._retriever = retriever_named(snapshot, encoder, run.system)

    def explained(self, query: LabelledQuery, ranks: Sequence[int | None], others: Sequence[int | None]) -> Explained:
        """One request that the run completes."""
        reasons: dict[str, Reasons] = {}
        if self._retriever is not None:
            response = self._retriever.retrieve(Request(query=query.text, k=self._k))
            reasons = {tool.id: tool.reasons for tool in response.tools}
        tools = [
            GainedTool(
                tool_id=tool,
                rank=rank,
                other_rank=other,
                reasons=reasons.get(tool, Reasons()),
                edges=self._evidence.edges(tool, query.tools) if self._evidence is not None else (),
            )
            for tool, rank, other in zip(query.tools, ranks, others, strict=True)
            if rank is not None and (other is None or other > self._k)
        ]
        return Explained(query=query, tools=tuple(tools))
