"""Presets: every retriever by name."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from egotools.values import NeedResult, RankedTool, Response
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError
from retrieval.baselines.flat import make_flat
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.confidence import confidence_model_for
from retrieval.ranking.fusion import CrossEncoderRanker, PromotingReranker
from retrieval.ranking.weights import BASELINE, weights_of
from retrieval.response import NOTHING_FITS, fitting
from retrieval.retriever import PAPER, Retriever
from retrieval.snapshot.reader import Snapshot

DEFAULT_PRESET = "default"
FAST_PRESET = "fast"
# The presets to compare with: they are never changed.
BASELINES = ("paper", "semantic", "hybrid", "bm25", "rrf", "fusion")


def make_presets(
    snapshot: Snapshot, encoder: Encoder, reranker: Reranker | None = None, *, baselines: bool = True
) -> dict[str, Retriever]:
    """Return every preset over one snapshot, by name.

    ``default`` and ``fast`` use the snapshot's ranking weights (errors as of :func:`weights_of`); the baselines are the
    same for every snapshot.

    :param reranker: reranks the best candidates of ``default``, and scores all candidates of ``paper`` and ``hybrid``, as in
        the paper; ``fast`` is ``default`` without it.
    :param baselines: whether those of :data:`BASELINES` are among them.
    """
    ranker = None if reranker is None else CrossEncoderRanker(reranker)
    promoting = None if reranker is None else PromotingReranker(reranker)
    weights, confidence = weights_of(snapshot), confidence_model_for(snapshot, encoder.name)
    retrievers: list[Retriever] = [
        GraphRetriever(
            snapshot, encoder, name=DEFAULT_PRESET, weights=weights, reranker=promoting, confidence=confidence
        ),
        GraphRetriever(snapshot, encoder, name=FAST_PRESET, weights=weights, confidence=confidence),
        GraphRetriever(snapshot, encoder, ranker, name="paper", config=PAPER, weights=BASELINE),
        *make_flat(snapshot, encoder, ranker),
    ]
    return {
        retriever.name: _Interleaved(retriever) if retriever.name in BASELINES else retriever
        for retriever in retrievers
        if baselines or retriever.name not in BASELINES
    }


class _Interleaved:
    """A baseline that also takes needs: the rankings of the needs, interleaved by rank."""

    def __init__(self, retriever: Retriever) -> None:
        self.name = retriever.name
        self._retriever = retriever

    def retrieve(self, request: Request) -> Response:
        """The best tools of each need, then the second ones, and so on; each tool once."""
        if not request.needs:
            return self._retriever.retrieve(request)
        found = {
            need: self._retriever.retrieve(replace(request, query=need, needs=(), budget_tokens=0))
            for need in dict.fromkeys(request.needs)
        }
        answers = [found[need] for need in request.needs]
        tools: dict[str, RankedTool] = {}
        for same_rank in zip_longest(*(answer.tools for answer in answers)):
            for need, tool in enumerate(same_rank):
                if tool is not None:
                    known = tools.setdefault(tool.id, tool)
                    tools[tool.id] = replace(known, needs=(*known.needs, need))
        best, fallbacks = [*tools.values()], [each for answer in answers for each in answer.fallbacks]
        if request.budget_tokens:
            sizes = [request.size_of(tool.id) for tool in best]
            best = [best[place] for place in fitting(sizes, range(len(best)), request.budget_tokens)]
            fallbacks += [] if best else [NOTHING_FITS.format(len(sizes), request.budget_tokens, min(sizes, default=0))]
        return replace(
            answers[0],
            tools=tuple(
                replace(tool, rank=rank, score=round(1.0 / rank, 6)) for rank, tool in enumerate(best[: request.k], 1)
            ),
            fallbacks=tuple(dict.fromkeys(fallbacks)),
            need_results=tuple(
                NeedResult(need=need, tool=answer.tools[0].id if answer.tools else "", unserved=not answer.tools)
                for need, answer in zip(request.needs, answers, strict=True)
            ),
        )


def preset_named(presets: dict[str, Retriever], name: str) -> Retriever:
    """Return the preset with this name; an empty name means the default preset."""
    found = presets.get(name or DEFAULT_PRESET)
    if found is None and name in BASELINES:
        problem = f"{name!r} is a preset to compare with, which this server does not serve"
        remedy = "Start it with `egotools serve --baselines`; `egotools search` and `egotools eval` have all presets"
        raise InvalidArgumentError(problem, subject="preset", remedy=remedy)
    if found is None:
        remedy = f"Known: {', '.join(sorted(presets))}"
        raise InvalidArgumentError(f"there is no preset {name!r}", subject="preset", remedy=remedy)
    return found
