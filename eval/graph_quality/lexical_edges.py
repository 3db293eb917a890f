"""Lexical edges: edges between tools with equal names or types, without a graph; the baselines for derived edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from eval.graph_quality.tool_pairs import Numbers, Pairs, encode
from ontology.names import canonical_name
from ontology.tool import Parameter, Tool
from retrieval.snapshot.reader import Snapshot

__all__ = ["LEXICAL_BASELINES", "lexical_pairs"]

LEXICAL_BASELINES = ("same name", "shared words", "same type")
"""A tool is a consumer of another by ``same name``: one of its inputs has the name of one of the other's outputs; by
``shared words``: every word of the name of one of its inputs is in the other's name or in the names of its outputs; by
``same type``: one of its inputs has the declared type of one of the other's outputs."""


def lexical_pairs(snapshot: Snapshot, scope: Numbers) -> dict[str, Pairs]:
    """Return for each of :data:`LEXICAL_BASELINES` the pairs (consumer, producer) among the tools of ``scope``."""
    tools = {int(number): snapshot.tool(int(number)) for number in scope}
    names = _Names(snapshot.abbreviations)
    outputs = _index(tools, names.outputs)
    words = _index(tools, names.output_words)
    types = _index(tools, lambda tool: _types(tool.returns))
    size = snapshot.tool_count
    found = (
        _matched(tools, names.inputs, outputs.get, size),
        _matched(tools, names.inputs, lambda name: _having_all(name.split(), words), size),
        _matched(tools, lambda tool: _types(tool.parameters), types.get, size),
    )
    return dict(zip(LEXICAL_BASELINES, found, strict=True))


class _Names:
    """Canonical names of fields; the last segment of a dotted path is the field's name."""

    def __init__(self, abbreviations: Mapping[str, str]) -> None:
        self._abbreviations = abbreviations

    def inputs(self, tool: Tool) -> set[str]:
        return {self._field(parameter.name) for parameter in tool.parameters} - {""}

    def outputs(self, tool: Tool) -> set[str]:
        return {self._field(output.name) for output in tool.returns} - {""}

    def output_words(self, tool: Tool) -> set[str]:
        """The words of the tool's name and of the names of its outputs."""
        names = [canonical_name(tool.name, self._abbreviations), *self.outputs(tool)]
        return {word for name in names for word in name.split()}

    def _field(self, name: str) -> str:
        return canonical_name(name.rsplit(".", 1)[-1], self._abbreviations)


def _types(fields: Iterable[Parameter]) -> set[str]:
    return {field.type.lower() for field in fields}


def _index(tools: Mapping[int, Tool], texts: Callable[[Tool], set[str]]) -> dict[str, Numbers]:
    """Return a map from text to the tools with it, ascending."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, tool in tools.items():
        for text in texts(tool):
            found[text].append(number)
    return {text: np.asarray(sorted(numbers), dtype=np.int64) for text, numbers in found.items()}


def _having_all(words: Iterable[str], index: Mapping[str, Numbers]) -> Numbers | None:
    found: Numbers | None = None
    for word in words:
        having = index.get(word)
        if having is None:
            return None
        found = having if found is None else np.intersect1d(found, having, assume_unique=True)
    return found


def _matched(
    tools: Mapping[int, Tool],
    inputs: Callable[[Tool], set[str]],
    producers_of: Callable[[str], Numbers | None],
    size: int,
) -> Pairs:
    """Return the pairs (tool, other tool) where the other tool produces one of the tool's inputs."""
    known: dict[str, Numbers | None] = {}
    found = [np.empty(0, dtype=np.int64)]
    for number, tool in tools.items():
        for name in inputs(tool):
            if name not in known:
                known[name] = producers_of(name)
            if (producers := known[name]) is not None:
                found.append(encode(np.full(len(producers), number), producers, size))
    return np.unique(np.concatenate(found))
