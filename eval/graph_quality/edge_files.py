"""Read edges between tools from files: gold edges (true dependencies), and external edges (from another method).

Both are JSON Lines. A gold edge is ``{"from": A, "to": B, "kind": …}``: tool A needs tool B, or comes after it. An
external edge is ``{"source": B, "target": A, "kind": …}``: tool B provides what tool A needs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eval.graph_quality.tool_pairs import Pairs, encode
from ontology.errors import DocumentError
from ontology.files import read_bounded
from retrieval.snapshot.reader import Snapshot

__all__ = ["EncodedEdges", "ExternalEdges", "encode_edges", "read_external_edges", "read_gold_edges"]

ExternalEdges = Mapping[str, Sequence[tuple[str, str]]]
"""Map from the name of a group to its edges (id of the consumer, id of the producer)."""
_RP = "R-P"


@dataclass(frozen=True, kw_only=True)
class EncodedEdges:
    """Groups of edges as pairs of numbers.

    :param pairs: map from the name of a group to its pairs (consumer, producer).
    :param unknown: map from the name of a group to the number of edges with an unknown tool; they are left out.
    """

    pairs: Mapping[str, Pairs]
    unknown: Mapping[str, int]


class _Edge(NamedTuple):
    consumer: str
    producer: str
    kind: str


def read_gold_edges(files: Sequence[Path]) -> dict[str, list[tuple[str, str]]]:
    """Read gold edges by kind; only the part of a kind before the first colon is used (``parameter:supplier_id``).

    :raises DocumentError: for an invalid row, with file and line.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in files:
        for edge in _edges(path, "from", "to"):
            found[(edge.kind or "dependency").split(":")[0]].append((edge.consumer, edge.producer))
    return dict(sorted(found.items()))


def read_external_edges(files: Sequence[Path]) -> dict[str, list[tuple[str, str]]]:
    """Read groups of external edges; a group has the name of its file, without the extension.

    Rows with another ``kind`` than ``R-P`` are left out, because they are not dependencies.

    :raises DocumentError: for an invalid row, with file and line.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for path in files:
        edges = _edges(path, "target", "source")
        found.setdefault(path.stem, []).extend(
            (each.consumer, each.producer) for each in edges if each.kind in ("", _RP)
        )
    return found


def encode_edges(groups: ExternalEdges, snapshot: Snapshot) -> EncodedEdges:
    """Encode groups of edges as pairs of the snapshot's tool numbers."""
    pairs: dict[str, Pairs] = {}
    unknown: dict[str, int] = {}
    for name, edges in groups.items():
        numbers = [tuple(snapshot.find_node(f"tool:{tool}") for tool in edge) for edge in edges]
        known = np.asarray([pair for pair in numbers if None not in pair], dtype=np.int64).reshape(-1, 2)
        pairs[name] = encode(known[:, 0], known[:, 1], snapshot.tool_count)
        unknown[name] = len(numbers) - len(known)
    return EncodedEdges(pairs=pairs, unknown=unknown)


def _edges(path: Path, consumer: str, producer: str) -> Iterator[_Edge]:
    """Yield the edges of a file; ``consumer`` and ``producer`` are the JSON keys of the two tools."""
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the edges cannot be read: {error}", subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            edge = _Edge(str(row[consumer]), str(row[producer]), str(row.get("kind") or ""))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                "an edge must be an object with the tool ids {!r} and {!r}".format(*sorted((consumer, producer))),
                subject=f"{path}:{number}",
            ) from error
        yield edge
