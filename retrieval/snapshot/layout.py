"""The files of a snapshot folder, and its format version.

| file | content |
|---|---|
| ``manifest.json`` | :class:`retrieval.snapshot.manifest.Manifest` |
| ``tools.jsonl`` | tools in catalogue order; tool ``i`` is node ``i`` |
| ``node_keys.txt`` | ``type:name`` of each node, one on each line |
| ``nodes.jsonl`` | :class:`retrieval.snapshot.graph_records.NodeRecord` of each node |
| ``edges.jsonl`` | :class:`retrieval.snapshot.graph_records.EdgeRecord` of each edge |
| ``graph.*.npy`` | adjacency in CSR form, predicate and confidence of each edge |
| ``nodes.vectors.npy`` | one vector for each node |
| ``nodes.tools.hnsw``, ``nodes.others.hnsw`` | the approximate indexes of the tools and of the other nodes, each for more than 4,000 |
| ``names.vectors.npy`` | one vector for each tool, of its name alone |
| ``bm25.FIELD.*`` | postings of each of :data:`retrieval.index.text_fields.FIELDS`, and of the IDF share of each term of a name |
| ``ngrams.*`` | map from a name of up to three words to its nodes |
| ``keys.*`` | map from a node key to its node |
| ``filters.*`` | map from ``metadata key=value`` to its tools |
| ``filter_values.jsonl`` | the values of each metadata key |
| ``value_shapes.jsonl`` | the shapes of values, each with the parameters that have such values |
| ``use.*``, ``bm25.use.*`` | what was learned from use (:mod:`retrieval.learned`); only where something was |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["FORMAT_VERSION", "KEYS", "NAME_VECTORS", "NGRAMS", "NODE_VECTORS", "Layout"]

FORMAT_VERSION = 6
"""6: tools have a vector index of their own (``nodes.tools.hnsw``).
5: usage lines, which are not written or read any more; the file ``value_shapes.jsonl``; nodes have aliases; the manifest has the overlay files and the boosts.
4: tools have the JSON Schemas and the call of their source; the file ``filter_values.jsonl``.
3: ``clause_fusion`` is the name of the weight of clause fusion.
"""
NODE_VECTORS, NAME_VECTORS = "nodes", "names"
NGRAMS, KEYS = "ngrams", "keys"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one snapshot folder. Paths of records and texts have no extension."""

    folder: Path

    @property
    def manifest(self) -> Path:
        """The path of the manifest."""
        return self.folder / "manifest.json"

    @property
    def tools(self) -> Path:
        """The path of the records of the tools."""
        return self.folder / "tools"

    @property
    def nodes(self) -> Path:
        """The path of the records of the nodes."""
        return self.folder / "nodes"

    @property
    def edges(self) -> Path:
        """The path of the records of the edges."""
        return self.folder / "edges"

    @property
    def node_keys(self) -> Path:
        """The path of the keys of the nodes."""
        return self.folder / "node_keys"
