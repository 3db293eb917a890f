"""What lies where in a snapshot folder, and its format version.

| file | content |
|---|---|
| ``manifest.json`` | format version, snapshot id, ontology, models, counts, ranking weights other than the shipped, SHA-256 and size of every other file |
| ``tools.jsonl`` | tools in catalogue order; tool ``i`` is node ``i`` |
| ``node_keys.txt`` | ``type:name`` of each node, one a line |
| ``nodes.jsonl`` | type, name, text and surface forms of each node |
| ``edges.jsonl`` | key, phrases, provenance and derived attributes of each edge |
| ``graph.*.npy`` | adjacency in CSR form, predicate and confidence of each edge |
| ``nodes.vectors.npy``, ``nodes.hnsw`` | one vector a node, and the approximate index where there are many |
| ``names.vectors.npy`` | one vector a tool, of its name alone |
| ``bm25.FIELD.*`` | postings of each of :data:`retrieval.index.text_fields.FIELDS`, and of the share of a name that each of its terms is |
| ``ngrams.*`` | name of up to three words → nodes |
| ``keys.*`` | node key → node |
| ``filters.*`` | ``metadata key=value`` → tools |
"""

from __future__ import annotations

__all__ = ["FORMAT_VERSION"]

FORMAT_VERSION = 2
