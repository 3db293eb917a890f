"""Presets: every retriever by name."""

from __future__ import annotations

from functools import partial

from inference.encoder import Encoder
from inference.reranker import Reranker
from ontology.errors import InvalidArgumentError
from retrieval.baselines.flat import make_flat
from retrieval.baselines.paper import TOKENISERS, HybridRetriever, LexicalRetriever, SemanticRetriever
from retrieval.graph_retriever import PAPER, GraphRetriever
from retrieval.ranking.confidence import confidence_model_for
from retrieval.ranking.fusion import Ranker, TextRanker
from retrieval.ranking.rerank import PromotingReranker
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.weights import PLAIN

__all__ = ["BASELINES", "DEFAULT_PRESET", "FAST_PRESET", "make_presets", "preset_named"]

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
)
"""The presets that are for comparison: they stay as they are."""
_HYBRID_LEXICAL = "bm25-regex-title"  # the best lexical variant of the paper


def make_presets(snapshot: Snapshot, encoder: Encoder, reranker: Reranker | None = None) -> dict[str, Retriever]:
    """Every preset over one snapshot, by name. ``default`` and ``fast`` take the snapshot's ranking weights: the others are
    baselines, the same for every snapshot. Indexes that only a baseline needs are made when it is first asked.

    :param reranker: reranks the best candidates of ``default``, and in ``paper`` and ``hybrid`` scores all
        of them, as the paper has it; ``fast`` is ``default`` without it.
    """
    ranker: Ranker | None = TextRanker(snapshot, reranker) if reranker is not None else None
    default = partial(
        GraphRetriever,
        snapshot,
        encoder,
        weights=snapshot.weights,
        confidence=confidence_model_for(snapshot, encoder.name),
    )
    semantic = SemanticRetriever(snapshot, encoder)
    lexical = {
        retriever.name: retriever
        for tokeniser in TOKENISERS
        for title in (False, True)
        for retriever in [LexicalRetriever(snapshot, tokeniser, title=title)]
    }
    retrievers: list[Retriever] = [
        default(name=DEFAULT_PRESET, reranker=None if reranker is None else PromotingReranker(snapshot, reranker)),
        default(name=FAST_PRESET),
        GraphRetriever(snapshot, encoder, ranker, name="paper", config=PAPER, weights=PLAIN),
        semantic,
        *lexical.values(),
        HybridRetriever(semantic, lexical[_HYBRID_LEXICAL], snapshot, encoder, ranker),
        *make_flat(snapshot, encoder),
    ]
    return {retriever.name: retriever for retriever in retrievers}


def preset_named(presets: dict[str, Retriever], name: str) -> Retriever:
    """The preset of this name; an empty name is the default.

    :raises InvalidArgumentError: listing the known names.
    """
    found = presets.get(name or DEFAULT_PRESET)
    if found is None:
        raise InvalidArgumentError(
            f"there is no preset {name!r}", subject="preset", remedy=f"Known: {', '.join(sorted(presets))}"
        )
    return found
