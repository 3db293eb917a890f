"""Edges that somebody gives to be scored beside those of the graph: what another method found, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eval.graph_quality.pairs import Pairs, encode
from ontology.errors import DocumentError
from retrieval.snapshot.reader import Snapshot

__all__ = ["GivenEdges", "given_needs", "read_given_edges"]

GivenEdges = Mapping[str, Sequence[tuple[str, str]]]
"""Name of a group → its pairs (id of the tool that needs, id of the tool that is needed)."""
_NEEDS = "R-P"


def read_given_edges(files: Sequence[Path]) -> dict[str, list[tuple[str, str]]]:
    """Read groups of edges, each called as its file without the ending.

    Files hold JSON lines in which ``source`` gives what ``target`` needs. Rows whose ``kind`` is another than ``R-P`` say
    nothing of needs and are left out.

    :raises DocumentError: naming file and line of a row that is none.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for path in files:
        found.setdefault(path.stem, []).extend(_pairs(path))
    return found


def given_needs(given: GivenEdges, snapshot: Snapshot) -> tuple[dict[str, Pairs], dict[str, int]]:
    """Each group as pairs of numbers, and how many of its edges name a tool that the snapshot does not have."""
    pairs: dict[str, Pairs] = {}
    unknown: dict[str, int] = {}
    for name, edges in given.items():
        numbers = [
            (snapshot.find_node(f"tool:{needy}"), snapshot.find_node(f"tool:{needed}")) for needy, needed in edges
        ]
        known = np.asarray([pair for pair in numbers if None not in pair], dtype=np.int64).reshape(-1, 2)
        pairs[name] = encode(known[:, 0], known[:, 1], snapshot.tool_count)
        unknown[name] = len(numbers) - len(known)
    return pairs, unknown


def _pairs(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the edges cannot be read: {error}", subject=str(path)) from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if row.get("kind", _NEEDS) == _NEEDS:
                found.append((str(row["target"]), str(row["source"])))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                "an edge must be an object with the tool ids 'source' and 'target'", subject=f"{path}:{number}"
            ) from error
    return found
