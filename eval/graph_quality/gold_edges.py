"""Keys: which tools truly need which, as a source declares it or as its solutions show it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.graph_quality.pairs import Pairs, encode
from ontology.errors import DocumentError
from retrieval.snapshot.reader import Snapshot

__all__ = ["DependencyKeys", "read_keys"]


@dataclass(frozen=True, kw_only=True)
class DependencyKeys:
    """What is known of the needs of a catalogue's tools.

    :param by_kind: kind → pairs (tool that needs, tool that is needed).
    :param unknown: rows that name a tool that the catalogue does not have; nothing is scored against them.
    """

    by_kind: Mapping[str, Pairs]
    unknown: int


def read_keys(files: Sequence[Path], snapshot: Snapshot) -> DependencyKeys:
    """Read keys: JSON lines in which ``from`` needs, or comes after, ``to``; ``kind`` counts up to its first colon.

    :raises DocumentError: naming file and line of a row that is none.
    """
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    unknown = 0
    for one, other, kind in (row for path in files for row in _rows(path)):
        needy, needed = (snapshot.find_node(f"tool:{tool}") for tool in (one, other))
        if needy is None or needed is None:
            unknown += 1
        else:
            found[kind].append((needy, needed))
    by_kind = {}
    for kind, pairs in sorted(found.items()):
        numbers = np.asarray(pairs, dtype=np.int64)
        by_kind[kind] = encode(numbers[:, 0], numbers[:, 1], snapshot.tool_count)
    return DependencyKeys(by_kind=by_kind, unknown=unknown)


def _rows(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the dependencies cannot be read: {error}", subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            ends = row["from"], row["to"], row.get("kind") or "dependency"
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                "a dependency must be an object with the tool ids 'from' and 'to'", subject=f"{path}:{number}"
            ) from error
        yield str(ends[0]), str(ends[1]), str(ends[2]).split(":")[0]
