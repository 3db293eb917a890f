"""Presets: every retriever by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest

from egotools.values import NeedResult, RankedTool, Response
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError
from retrieval.baselines.flat import make_flat
from retrieval.baselines.paper import TOKENISERS, HybridRetriever, LexicalRetriever, SemanticRetriever
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.confidence import confidence_model_for
from retrieval.ranking.features import FEATURES
from retrieval.ranking.fusion import CrossEncoderRanker, PromotingReranker
from retrieval.ranking.ranking import Ranker
from retrieval.ranking.weights import BASELINE, weights_of
from retrieval.retriever import DEFAULT, PAPER, RetrievalConfig, Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["ABLATIONS", "BASELINES", "DEFAULT_PRESET", "FAST_PRESET", "make_ablations", "make_presets", "preset_named"]

DEFAULT_PRESET = "default"
FAST_PRESET = "fast"
BASELINES = (
    "paper",
    "semantic",
    *(f"bm25-{tokeniser}{title}" for tokeniser in TOKENISERS for title in ("", "-title")),
    "hybrid",
    "bm25",
    "rrf",
    "fusion",
    "fusion-clauses",
)
"""The presets to compare with: they are never changed."""
_HYBRID_LEXICAL = "bm25-regex-title"  # the best lexical variant of the paper


def make_presets(
    snapshot: Snapshot, encoder: Encoder, reranker: Reranker | None = None, *, baselines: bool = True
) -> dict[str, Retriever]:
    """Return every preset over one snapshot, by name.

    ``default`` and ``fast`` use the snapshot's ranking weights; the baselines are the same for every snapshot. Indexes that
    only a baseline needs are built at its first request.

    :param reranker: reranks the best candidates of ``default``, and scores all candidates of ``paper`` and ``hybrid``, as in
        the paper; ``fast`` is ``default`` without it.
    :param baselines: whether those of :data:`BASELINES` are among them.
    :raises SnapshotVersionError: when the snapshot's weights are unknown; see
        :func:`retrieval.ranking.weights.weights_of`.
    """
    ranker: Ranker | None = None
    promoting: PromotingReranker | None = None
    if reranker is not None:
        ranker, promoting = CrossEncoderRanker(reranker), PromotingReranker(reranker)
    weights, confidence = weights_of(snapshot), confidence_model_for(snapshot, encoder.name)
    semantic = SemanticRetriever(snapshot, encoder)
    lexical = {
        retriever.name: retriever
        for tokeniser in TOKENISERS
        for title in (False, True)
        for retriever in [LexicalRetriever(snapshot, tokeniser, title=title)]
    }
    retrievers: list[Retriever] = [
        GraphRetriever(
            snapshot, encoder, name=DEFAULT_PRESET, weights=weights, reranker=promoting, confidence=confidence
        ),
        GraphRetriever(snapshot, encoder, name=FAST_PRESET, weights=weights, confidence=confidence),
        GraphRetriever(snapshot, encoder, ranker, name="paper", config=PAPER, weights=BASELINE),
        semantic,
        *lexical.values(),
        HybridRetriever(semantic, lexical[_HYBRID_LEXICAL], ranker),
        *make_flat(snapshot, encoder),
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
            need: self._retriever.retrieve(replace(request, query=need, needs=()))
            for need in dict.fromkeys(request.needs)
        }
        answers = [found[need] for need in request.needs]
        tools: dict[str, RankedTool] = {}
        for same_rank in zip_longest(*(answer.tools for answer in answers)):
            for need, tool in enumerate(same_rank):
                if tool is not None:
                    known = tools.setdefault(tool.id, tool)
                    tools[tool.id] = replace(known, needs=(*known.needs, need))
        return replace(
            answers[0],
            tools=tuple(
                replace(tool, rank=rank, score=round(1.0 / rank, 6))
                for rank, tool in enumerate([*tools.values()][: request.k], 1)
            ),
            fallbacks=tuple(dict.fromkeys(each for answer in answers for each in answer.fallbacks)),
            need_results=tuple(
                NeedResult(need=need, tool=answer.tools[0].id if answer.tools else "", unserved=not answer.tools)
                for need, answer in zip(request.needs, answers, strict=True)
            ),
        )


def preset_named(presets: dict[str, Retriever], name: str) -> Retriever:
    """Return the preset with this name; an empty name means the default preset.

    :raises InvalidArgumentError: listing the known names; for a baseline that is not served, saying how it is.
    """
    found = presets.get(name or DEFAULT_PRESET)
    if found is None and name in BASELINES:
        raise InvalidArgumentError(
            f"{name!r} is a preset to compare with, which this server does not serve",
            subject="preset",
            remedy="Start it with `egotools serve --baselines`; `egotools search` and `egotools eval` have all presets",
        )
    if found is None:
        raise InvalidArgumentError(
            f"there is no preset {name!r}", subject="preset", remedy=f"Known: {', '.join(sorted(presets))}"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The parts that are switched off.

    :param config: the stages that run.
    :param zero: the weights that are set to 0.
    """

    config: RetrievalConfig = field(default=DEFAULT)
    zero: tuple[str, ...] = ()

    @property
    def without(self) -> tuple[str, ...]:
        """The names of the stages and weights that are switched off."""
        return (*(stage for stage, runs in asdict(self.config).items() if not runs), *self.zero)


def _short_name(feature: str) -> str:
    """``bm25`` of ``bm25_text``, ``support`` of ``graph_support``, ``cosine-name`` of ``cosine_name``."""
    return feature.removesuffix("_text").removeprefix("graph_").replace("_", "-")


ABLATIONS: Mapping[str, Ablation] = {
    "default-no-graph": Ablation(
        config=RetrievalConfig(
            semantic_entries=False,
            ngram_entries=False,
            ego_candidates=False,
            resolver_boost=False,
            dependency_expansion=False,
            dependency_edges=False,
        ),
        zero=("graph_support", "system_coherence"),
    ),
    "default-no-typed-values": Ablation(config=RetrievalConfig(typed_values=False)),
    "default-no-phrases": Ablation(config=RetrievalConfig(phrases=False)),
    "default-no-ego-candidates": Ablation(config=RetrievalConfig(ego_candidates=False)),
    "default-no-resolvers": Ablation(config=RetrievalConfig(resolver_boost=False)),
    "default-no-dependency-expansion": Ablation(config=RetrievalConfig(dependency_expansion=False)),
    "default-no-dependencies": Ablation(config=RetrievalConfig(dependency_edges=False)),
    "default-no-semantic-entries": Ablation(config=RetrievalConfig(semantic_entries=False)),
    "default-no-ngrams": Ablation(config=RetrievalConfig(ngram_entries=False)),
    "default-no-text-candidates": Ablation(config=RetrievalConfig(text_candidates=False)),
    "default-no-systems": Ablation(zero=("system_coherence",)),
    "default-no-clauses": Ablation(zero=("clause_fusion",)),
    **{f"default-no-{_short_name(feature.name)}": Ablation(zero=(feature.name,)) for feature in FEATURES},
}


def make_ablations(snapshot: Snapshot, encoder: Encoder) -> dict[str, Retriever]:
    """Return every ablation over one snapshot, by name."""
    weights = weights_of(snapshot)
    return {
        name: GraphRetriever(
            snapshot,
            encoder,
            name=name,
            config=ablation.config,
            weights=weights.replace(**dict.fromkeys(ablation.zero, 0.0)),
        )
        for name, ablation in ABLATIONS.items()
    }
