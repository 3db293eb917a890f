"""Labels for fitting: requests with their gold sets, grouped so that no request is tested with weights fitted to its
own path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.queries import LabelledQuery, QuerySet, read_queries
from ontology.errors import DocumentError, InvalidArgumentError

__all__ = ["MIN_GROUPS", "Labels", "folds", "group", "read_labels"]

MIN_GROUPS = 20
"""Fewer tool paths or gold sets are too few to fit on."""
_FILE = "queries.jsonl"
_SPLITS = ("", "dev", "test")


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The requests that weights are fitted on, and the test requests.

    :param queries: all requests, in their order.
    :param groups_Q: the group of each request, int64: requests of one tool path, or of one gold set, are in one group.
    :param test_Q: the test requests, which are never used for fitting, bool.
    :param left_out: number of test requests left out because their path or gold set is used for fitting.
    :param generated: whether most of the requests were generated from tool paths.
    """

    queries: QuerySet
    groups_Q: NDArray[np.int64]
    test_Q: NDArray[np.bool_]
    left_out: int = 0
    generated: bool = False


def read_labels(place: Path) -> Labels:
    """Read labelled requests: ``queries.jsonl`` of a folder, or a file in this format.

    A row may have ``path_id``, the tool path from which the request was generated, and ``split``, ``dev`` or ``test``.

    :raises DocumentError: when the file cannot be read, or for rows that are not labelled requests.
    :raises InvalidArgumentError: when the requests for fitting have fewer than 20 groups.
    """
    file = place / _FILE if place.is_dir() else place
    queries = read_queries([file])
    rows = _rows(file)
    paths = {query_id: str(row.get("path_id") or "") for query_id, row in rows.items()}
    groups_Q = group(queries.queries, paths)
    test_Q = np.array([_split(query, file) == "test" for query in queries.queries], dtype=bool)
    seen_Q = test_Q & np.isin(groups_Q, groups_Q[~test_Q])
    count = len(np.unique(groups_Q[~test_Q]))
    if count < MIN_GROUPS:
        raise InvalidArgumentError(
            f"the requests to fit on are of {count} tool paths or gold sets, and fewer than {MIN_GROUPS} are "
            f"too few to "
            "fit on",
            subject=str(file),
            remedy="Make more requests, with: egotools datagen",
        )
    kept = np.flatnonzero(~seen_Q)
    return Labels(
        queries=QuerySet(name=queries.name, queries=tuple(queries.queries[row] for row in kept), sha256=queries.sha256),
        groups_Q=groups_Q[kept],
        test_Q=test_Q[kept],
        left_out=int(seen_Q.sum()),
        generated=2 * sum(map(bool, paths.values())) > len(paths),
    )


def _rows(file: Path) -> dict[str, Mapping[str, Any]]:
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    rows = (json.loads(line) for line in lines if line.strip())
    return {row["id"]: row for row in rows}


def _split(query: LabelledQuery, file: Path) -> str:
    if query.split not in _SPLITS:
        raise DocumentError(
            f"the request {query.id!r} has the split {query.split!r}",
            subject=str(file),
            remedy="Use dev or test, or omit the split",
        )
    return query.split


def group(queries: Sequence[LabelledQuery], paths: Mapping[str, str]) -> NDArray[np.int64]:
    """Return the group of each request, from 0, int64: requests that share a path or a gold set, directly or through
    other requests, are in one group.

    Groups are numbered by their smallest id, so the order of the requests does not matter.

    :param paths: map from query id to path id; empty where the path is unknown.
    """
    parent = list(range(len(queries)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = row = parent[parent[row]]
        return row

    first: dict[tuple[str, ...], int] = {}
    for row, query in enumerate(queries):
        path = paths.get(query.id, "")
        for key in [("gold", *sorted(query.tools))] + ([("path", path)] if path else []):
            parent[root(row)] = root(first.setdefault(key, row))
    first_id: dict[int, str] = {}
    for row, query in enumerate(queries):
        first_id[root(row)] = min(first_id.get(root(row), query.id), query.id)
    number = {found: at for at, found in enumerate(sorted(first_id, key=lambda found: first_id[found]))}
    return np.array([number[root(row)] for row in range(len(queries))], dtype=np.int64)


def folds(groups_Q: Iterable[int], count: int, seed: int) -> list[NDArray[np.int64]]:
    """Split the rows into ``count`` folds of about the same size, each ascending; no group is in two folds.

    The largest groups are assigned first, each to the smallest fold; groups of the same size in the order of a seeded
    shuffle.
    """
    rows_of: dict[int, list[int]] = {}
    for row, found in enumerate(groups_Q):
        rows_of.setdefault(int(found), []).append(row)
    shuffled = np.random.Generator(np.random.PCG64(seed)).permutation(sorted(rows_of)).tolist()
    assigned: list[list[int]] = [[] for _ in range(count)]
    for found in sorted(shuffled, key=lambda each: -len(rows_of[each])):
        min(assigned, key=len).extend(rows_of[found])
    return [np.array(sorted(rows), dtype=np.int64) for rows in assigned]
