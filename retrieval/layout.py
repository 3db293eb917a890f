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
| ``bm25.FIELD.*`` | postings of each of :data:`FIELDS`, and of the share of a name that each of its terms is |
| ``ngrams.*`` | name of up to three words → nodes |
| ``keys.*`` | node key → node |
| ``filters.*`` | ``metadata key=value`` → tools |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ingest.graph import tool_text
from ontology.tool import Tool

__all__ = ["FIELDS", "FORMAT_VERSION", "NAMES", "filter_terms", "params_text", "tool_text"]

FORMAT_VERSION = 2
_FILTER_CHARS = 200


def params_text(tool: Tool) -> str:
    """What is matched as a tool's parameters: names and descriptions of inputs, names of outputs."""
    inputs = " ".join(f"{parameter.name} {parameter.description[:_FILTER_CHARS]}" for parameter in tool.parameters)
    return f"{inputs} {' '.join(output.name for output in tool.returns)}"


def returns_text(tool: Tool) -> str:
    """What is matched as a tool's outputs: their names and descriptions."""
    return " ".join(f"{output.name} {output.description[:_FILTER_CHARS]}" for output in tool.returns)


def values_text(tool: Tool) -> str:
    """What is matched as the values that a tool's inputs may have, where they are a fixed few."""
    return " ".join(str(value) for parameter in tool.parameters for value in parameter.enum)


def whole_text(tool: Tool) -> str:
    """A tool's title, description and parameters as one document."""
    return f"{tool_text(tool)} {params_text(tool)}"


FIELDS: Mapping[str, Callable[[Tool], str]] = {
    "text": tool_text,
    "params": params_text,
    "returns": returns_text,
    "values": values_text,
    "whole": whole_text,
}
"""The fields that have a BM25 index, each with its text."""
NAMES = "names"
"""The index of how much of a name a request says."""


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
