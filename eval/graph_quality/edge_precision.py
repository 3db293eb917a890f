"""Do the edges between tools say what is true? Precision and recall against keys, beside matching names and types alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.external_edges import GivenEdges, given_needs
from eval.graph_quality.gold_edges import DependencyKeys, read_keys
from eval.graph_quality.lexical_edges import baseline_needs
from eval.graph_quality.pairs import Pairs, declared_needs, ends, found_needs, mapped_ends, undirected
from eval.graph_quality.proportion import Proportion
from retrieval.snapshot.reader import Snapshot

__all__ = ["ALL_KINDS", "TOGETHER", "Score", "edge_agreement", "score"]

TOGETHER = "together"
"""All edges between tools that say that one needs the other."""
ALL_KINDS = "all kinds"
_OF_ENTITY_SETS = " of entity sets"


@dataclass(frozen=True, kw_only=True)
class Score:
    """One group of edges against one key.

    :param precision: share of the edges between tools of which the key speaks that the key has: keys are far from
        complete, so edges at other tools are neither right nor wrong.
    :param recall: share of the key's pairs that the edges have.
    """

    key: str
    edges: str
    directed: bool
    precision: Proportion
    recall: Proportion

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "key": self.key,
            "edges": self.edges,
            "directed": self.directed,
            "precision": self.precision.to_json(),
            "recall": self.recall.to_json(),
        }


def score(found: Pairs, key: Pairs, size: int, *, directed: bool) -> tuple[Proportion, Proportion]:
    """Precision and recall of pairs of numbers below ``size`` against a key; see :class:`Score`."""
    if not directed:
        found, key = undirected(found, size), undirected(key, size)
    spoken_of = np.zeros(size, dtype=bool)
    spoken_of[ends(key, size)] = True
    first, second = np.divmod(found, size)
    within = found[spoken_of[first] & spoken_of[second]]
    hits = int(np.isin(within, key, assume_unique=True).sum())
    return Proportion(hits, len(within)), Proportion(hits, len(key))


def edge_agreement(snapshot: Snapshot, files: Sequence[Path], given: GivenEdges | None = None) -> dict[str, Any]:
    """Every group of edges, and the matches by name and type, against every kind of dependency in the key files.

    What the documents themselves declare to the builder is no finding: those ``depends_on`` edges are left out and counted.

    :param given: further groups of edges to score, found elsewhere.
    :raises DocumentError: when a key file cannot be read.
    """
    keys = read_keys(files, snapshot)
    found = found_needs(snapshot)
    declared = np.intersect1d(found["depends_on"], declared_needs(snapshot), assume_unique=True)
    found["depends_on"] = np.setdiff1d(found["depends_on"], declared, assume_unique=True)
    views = _views(snapshot, keys)
    others, unknown_edges = given_needs(given or {}, snapshot)
    groups = {
        **{name: pairs for name, pairs in found.items() if name != "depends_on" or len(pairs)},
        TOGETHER: _union(found.values()),
        **others,
        **baseline_needs(snapshot, _union(view.spoken_of for view in views)),
    }
    return {
        "keys": {key: facts for view in views for key, facts in view.facts().items()},
        "unknown_key_rows": keys.unknown,
        "unknown_given_edges": unknown_edges,
        "declared_left_out": len(declared),
        "scores": [one.to_json() for view in views for one in view.scores(groups)],
    }


@dataclass(frozen=True, kw_only=True)
class _View:
    """Tools as they are, or taken together by what they work on.

    :param suffix: of the names of its keys.
    :param groups: for each tool the number below ``size`` of what it counts as.
    :param keys: kind → pairs of those numbers; :data:`ALL_KINDS` where there are several.
    """

    suffix: str
    groups: NDArray[np.int64]
    size: int
    keys: Mapping[str, Pairs]

    @property
    def spoken_of(self) -> NDArray[np.int64]:
        """The tools of which the keys speak."""
        return np.flatnonzero(np.isin(self.groups, ends(_union(self.keys.values()), self.size)))

    def facts(self) -> dict[str, Any]:
        """Key → its pairs, its tools or groups, and the precision that every possible pair together has."""
        facts = {}
        for kind, pairs in self.keys.items():
            count = len(ends(pairs, self.size))
            density = len(pairs) / (count * (count - 1)) if count > 1 else None
            facts[kind + self.suffix] = {"pairs": len(pairs), "ends": count, "density": density}
        return facts

    def scores(self, groups: Mapping[str, Pairs]) -> Iterator[Score]:
        """Each group of pairs of tools against each key."""
        seen = {name: mapped_ends(pairs, len(self.groups), self.groups, self.size) for name, pairs in groups.items()}
        for kind, key in self.keys.items():
            for name, pairs in seen.items():
                for directed in (True, False):
                    precision, recall = score(pairs, key, self.size, directed=directed)
                    yield Score(
                        key=kind + self.suffix, edges=name, directed=directed, precision=precision, recall=recall
                    )


def _views(snapshot: Snapshot, keys: DependencyKeys) -> list[_View]:
    """The tools as they are and, where some work on an OData entity set, one group for each set: a navigation joins what
    is read and written of two sets, whichever tools do it."""
    if not keys.by_kind:
        return []
    by_kind = dict(keys.by_kind)
    if len(by_kind) > 1:
        by_kind[ALL_KINDS] = _union(by_kind.values())
    count = snapshot.tool_count
    plain = np.arange(count, dtype=np.int64)
    views = [_View(suffix="", groups=plain, size=count, keys=by_kind)]
    numbers: dict[str, int] = {}
    sets = plain.copy()
    for tool, row in enumerate(snapshot.tools):
        if name := _entity_set(row):
            sets[tool] = count + numbers.setdefault(name, len(numbers))
    if numbers:
        size = count + len(numbers)
        mapped = {kind: mapped_ends(pairs, count, sets, size) for kind, pairs in by_kind.items()}
        views.append(_View(suffix=_OF_ENTITY_SETS, groups=sets, size=size, keys=mapped))
    return views


def _entity_set(row: Mapping[str, Any]) -> str:
    """The entity set that a tool works on, with the service that it belongs to, or empty."""
    metadata = row.get("metadata", {})
    name = metadata.get("entity_set")
    service = metadata.get("service") or metadata.get("namespace") or metadata.get("app") or ""
    return f"{service} {name}" if name else ""


def _union(sets: Iterable[Pairs]) -> Pairs:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *sets]))
