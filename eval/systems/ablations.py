"""Ablations: ``default`` without one of its stages or features, by name (``default-no-graph``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from inference.encoder import Encoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.ranking.features import FEATURES
from retrieval.ranking.weights import weights_of
from retrieval.retriever import DEFAULT, RetrievalConfig, Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["ABLATIONS", "make_ablations"]


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
