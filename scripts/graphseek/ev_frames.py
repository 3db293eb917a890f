"""The tables of the EV graph as data frames, from which truths are computed without any graph engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.ev_graph.graph_table import GraphTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EvFrames", "ev_frames"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvFrames:
    """Frames of nodes by type, of relationships by type and ends. Columns are those of the tables.

    :param into: of ``INTEGRATED_IN``: key of a component → keys of what it goes into.
    """

    nodes: Mapping[str, pd.DataFrame]
    edges: Mapping[tuple[str, str, str], pd.DataFrame]
    into: Mapping[str, frozenset[str]]

    def names(self, node_type: str, keys: Iterable[object], column: str = "name") -> tuple[str, ...]:
        """Return the names of nodes, each once, sorted."""
        frame = self.nodes[node_type]
        return tuple(sorted(set(frame.loc[frame["key"].isin(list(keys)), column].astype(str))))

    def name(self, node_type: str, key: str) -> str:
        """Return the name of a node."""
        (name,) = self.names(node_type, [key])
        return name

    def key(self, node_type: str, name: str) -> str:
        """Return the key of the one node of a name."""
        frame = self.nodes[node_type]
        return str(frame.loc[frame["name"] == name, "key"].item())

    def reached(self, key: str) -> dict[str, int]:
        """Return what a component goes into, over any chain of assemblies: key → least number of hops."""
        hops: dict[str, int] = {}
        front, hop = {key}, 0
        while front:
            hop += 1
            front = {target for source in front for target in self.into.get(source, ())} - set(hops) - {key}
            hops |= dict.fromkeys(front, hop)
        return hops


def ev_frames(tables: Iterable[GraphTable]) -> EvFrames:
    """Read tables into memory: some 300 MiB at size 1."""
    import pandas as pd

    nodes: dict[str, pd.DataFrame] = {}
    edges: dict[tuple[str, str, str], pd.DataFrame] = {}
    into: dict[str, set[str]] = defaultdict(set)
    for table in tables:
        frame = pd.concat([pd.DataFrame(batch) for batch in table.batches()], ignore_index=True)
        if table.kind == "node":
            nodes[table.type] = frame
            continue
        edges[(table.type, table.ends[0], table.ends[1])] = frame
        if table.type == "INTEGRATED_IN":
            for source, target in zip(frame["source"], frame["target"], strict=True):
                into[str(source)].add(str(target))
    return EvFrames(nodes=nodes, edges=edges, into={key: frozenset(targets) for key, targets in into.items()})
