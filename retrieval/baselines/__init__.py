"""The systems to compare with: the paper's semantic, lexical and hybrid search, and flat rankings of the whole catalogue."""

from retrieval.baselines.flat import FlatRetriever, make_flat
from retrieval.baselines.paper import HybridRetriever, LexicalRetriever, SemanticRetriever

__all__ = ["FlatRetriever", "HybridRetriever", "LexicalRetriever", "SemanticRetriever", "make_flat"]
