"""The requests that speed is measured with: the shipped ones, and some of every open set beside the checkout."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.queries import read_queries
from scripts.bench_sets import BENCH, SAMPLES, SHIPPED, SHIPPED_GENERATED, bench_sets

__all__ = ["bench_queries", "mixed"]

_OF_EACH = 6  # of an open set: enough for its lengths and words, few enough that no set is most of the load


def bench_queries(bench: Path = BENCH) -> dict[str, list[str]]:
    """Set → requests: six of each open set that is there, and the whole of the shipped one.

    The six are chosen, and put in order, by the hash of their words, so that every machine asks the same.
    """
    chosen: dict[str, list[str]] = {}
    for bench_set in bench_sets(bench=bench):
        if bench_set.declared is None and bench_set.name not in (SHIPPED, SHIPPED_GENERATED):  # else once more the same
            texts = {query.text for query in read_queries([bench_set.queries]).queries}
            chosen[bench_set.name] = sorted(texts, key=_hash)[:_OF_EACH]
    return {**chosen, SHIPPED: [query.text for query in read_queries([SAMPLES]).queries]}


def mixed(queries: Mapping[str, Sequence[str]]) -> list[str]:
    """The requests of all sets in an order that mixes them, so that a short load asks a fair share of each."""
    return sorted((query for of_set in queries.values() for query in of_set), key=_hash)


def _hash(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()
