"""What one finds without a graph: tools joined because names or types are equal. The yardstick of the derived edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.pairs import Pairs, encode
from ontology.names import canonical_name
from ontology.tool import Parameter, Tool
from retrieval.snapshot.reader import Snapshot

__all__ = ["BASELINES", "baseline_needs"]

BASELINES = ("same name", "shared words", "same type")
"""One tool needs another by ``same name``: one of its inputs is called as an output of the other; by ``shared words``:
every word of the name of one of its inputs stands in the other's name or in the names of the other's outputs; by
``same type``: one of its inputs is declared with the type of an output of the other."""

Numbers = NDArray[np.int64]


def baseline_needs(snapshot: Snapshot, scope: Numbers) -> dict[str, Pairs]:
    """For each of :data:`BASELINES` the pairs (tool that needs, tool that is needed) among the tools of ``scope``."""
    tools = {int(number): snapshot.tool(int(number)) for number in scope}
    named = _Named(snapshot.abbreviations)
    outputs = _index(tools, named.outputs)
    offered = _index(tools, named.offer)
    types = _index(tools, lambda tool: _types(tool.returns))
    size = snapshot.tool_count
    found = (
        _matched(tools, named.inputs, outputs.get, size),
        _matched(tools, named.inputs, lambda name: _holding_all(name.split(), offered), size),
        _matched(tools, lambda tool: _types(tool.parameters), types.get, size),
    )
    return dict(zip(BASELINES, found, strict=True))


class _Named:
    """Canonical names of fields; the last segment of a dotted path names the field."""

    def __init__(self, abbreviations: Mapping[str, str]) -> None:
        self._abbreviations = abbreviations

    def inputs(self, tool: Tool) -> set[str]:
        return {self._field(parameter.name) for parameter in tool.parameters} - {""}

    def outputs(self, tool: Tool) -> set[str]:
        return {self._field(output.name) for output in tool.returns} - {""}

    def offer(self, tool: Tool) -> set[str]:
        """The words of the tool's name and of its outputs."""
        names = [canonical_name(tool.name, self._abbreviations), *self.outputs(tool)]
        return {word for name in names for word in name.split()}

    def _field(self, name: str) -> str:
        return canonical_name(name.rsplit(".", 1)[-1], self._abbreviations)


def _types(fields: Iterable[Parameter]) -> set[str]:
    return {field.type.lower() for field in fields}


def _index(tools: Mapping[int, Tool], texts: Callable[[Tool], set[str]]) -> dict[str, Numbers]:
    """Text → the tools that have it, ascending."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, tool in tools.items():
        for text in texts(tool):
            found[text].append(number)
    return {text: np.asarray(sorted(numbers), dtype=np.int64) for text, numbers in found.items()}


def _holding_all(words: Iterable[str], offered: Mapping[str, Numbers]) -> Numbers | None:
    held: Numbers | None = None
    for word in words:
        having = offered.get(word)
        if having is None:
            return None
        held = having if held is None else np.intersect1d(held, having, assume_unique=True)
    return held


def _matched(
    tools: Mapping[int, Tool],
    needs: Callable[[Tool], set[str]],
    providers: Callable[[str], Numbers | None],
    size: int,
) -> Pairs:
    """The pairs (tool, other tool) in which the other provides one of the texts that the tool needs."""
    known: dict[str, Numbers | None] = {}
    found = [np.empty(0, dtype=np.int64)]
    for number, tool in tools.items():
        for name in needs(tool):
            if name not in known:
                known[name] = providers(name)
            if (giving := known[name]) is not None:
                found.append(encode(np.full(len(giving), number), giving, size))
    return np.unique(np.concatenate(found))
