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
| ``bm25.text.*``, ``bm25.params.*`` | postings of the tools' title and description, and of their parameters |
| ``ngrams.*`` | name of up to three words → nodes |
| ``keys.*`` | node key → node |
| ``filters.*`` | ``metadata key=value`` → tools |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.graph import tool_text
from ontology.tool import Tool

__all__ = ["FORMAT_VERSION", "filter_terms", "params_text", "tool_text"]

FORMAT_VERSION = 1
_FILTER_CHARS = 200


def params_text(tool: Tool) -> str:
    """What is matched as a tool's parameters: names and descriptions of inputs, names of outputs."""
    inputs = " ".join(f"{parameter.name} {parameter.description[:_FILTER_CHARS]}" for parameter in tool.parameters)
    return f"{inputs} {' '.join(output.name for output in tool.returns)}"


def filter_terms(tool: Tool) -> Iterator[str]:
    """The ``key=value`` pairs by which a tool can be filtered: texts, numbers and booleans, and lists of them."""
    for key, value in tool.metadata.items():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            text = _plain(one)
            if text is not None and len(text) <= _FILTER_CHARS:
                yield f"{key}={text}"


def _plain(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None
