"""The files of a snapshot folder, and the version of this format.

| file | content |
|---|---|
| ``manifest.json`` | :class:`retrieval.snapshot.manifest.Manifest` |
| ``tools.jsonl`` | tools in catalogue order; tool ``i`` is node ``i`` |
| ``node_keys.txt`` | ``type:name`` of each node, one a line |
| ``nodes.jsonl`` | :class:`retrieval.snapshot.graph_records.NodeRecord` of each node |
| ``edges.jsonl`` | :class:`retrieval.snapshot.graph_records.EdgeRecord` of each edge |
| ``graph.*.npy`` | adjacency in CSR form, predicate and confidence of each edge |
| ``nodes.vectors.npy``, ``nodes.hnsw`` | one vector a node, and the approximate index where there are many |
| ``names.vectors.npy`` | one vector a tool, of its name alone |
| ``bm25.FIELD.*`` | postings of each of :data:`retrieval.index.text_fields.FIELDS`, and of the IDF share of each term of a name |
| ``ngrams.*`` | name of up to three words → nodes |
| ``keys.*`` | node key → node |
| ``filters.*`` | ``metadata key=value`` → tools |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILTERS", "FORMAT_VERSION", "KEYS", "NAME_VECTORS", "NGRAMS", "NODE_VECTORS", "Layout"]

FORMAT_VERSION = 3
"""3: the weight of clause fusion in ``ranking`` is called ``clause_fusion``."""
NODE_VECTORS, NAME_VECTORS = "nodes", "names"
NGRAMS, KEYS, FILTERS = "ngrams", "keys", "filters"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one snapshot folder. Paths of records and texts are without their endings."""

    folder: Path

    @property
    def manifest(self) -> Path:
        """The manifest."""
        return self.folder / "manifest.json"

    @property
    def tools(self) -> Path:
        """The tools' records."""
        return self.folder / "tools"

    @property
    def nodes(self) -> Path:
        """The nodes' records."""
        return self.folder / "nodes"

    @property
    def edges(self) -> Path:
        """The edges' records."""
        return self.folder / "edges"

    @property
    def node_keys(self) -> Path:
        """The nodes' keys."""
        return self.folder / "node_keys"
