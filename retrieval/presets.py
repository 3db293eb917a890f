"""Presets: every retriever by name."""

from __future__ import annotations

from inference.encoder import Encoder
from inference.reranker import Reranker
from ontology.errors import InvalidArgumentError
from retrieval.baselines import TOKENISERS, HybridRetriever, LexicalRetriever, SemanticRetriever
from retrieval.flat import make_flat
from retrieval.graph_retriever import DEFAULT, PAPER, GraphRetriever
from retrieval.ranking import Ranker, TextRanker
from retrieval.retriever import Retriever
from retrieval.snapshot import Snapshot

__all__ = ["DEFAULT_PRESET", "make_presets", "preset_named"]

DEFAULT_PRESET = "default"
_HYBRID_LEXICAL = "bm25-regex-title"  # the best lexical variant of the paper


def make_presets(snapshot: Snapshot, encoder: Encoder, reranker: Reranker | None = None) -> dict[str, Retriever]:
    """Every preset over one snapshot, by name. Only ``default`` takes the snapshot's ranking weights: the others are
    yardsticks, the same for every snapshot. Indexes that only a baseline needs are made when it is first asked.

    :param reranker: scores candidates instead of the embedded fusion.
    """
    ranker: Ranker | None = TextRanker(snapshot, reranker) if reranker is not None else None
    semantic = SemanticRetriever(snapshot, encoder)
    lexical = {
        retriever.name: retriever
        for tokeniser in TOKENISERS
        for title in (False, True)
        for retriever in [LexicalRetriever(snapshot, tokeniser, title=title)]
    }
    retrievers: list[Retriever] = [
        GraphRetriever(snapshot, encoder, ranker, name=DEFAULT_PRESET, switches=DEFAULT, weights=snapshot.weights),
        GraphRetriever(snapshot, encoder, ranker, name="paper", switches=PAPER),
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
