"""Groups as batches of token numbers: like lengths together, each document of a batch once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from research.train.jsonl import read_rows

__all__ = ["Batch", "Group", "batches", "read_groups"]

QUERY_TOKENS, DOCUMENT_TOKENS = 48, 56
MOST_POSITIVES = 2
POOL = 16
"""Batches whose groups are sorted by length together: long beside long costs least padding, and all else stays random."""


@dataclass(frozen=True, slots=True)
class Group:
    """A request in token numbers, and the documents that it needs and that it does not, by key and in token numbers."""

    query: list[int]
    positives: list[tuple[str, list[int]]]
    negatives: list[tuple[str, list[int]]]

    @property
    def length(self) -> int:
        """Tokens of the longest document."""
        return max(len(ids) for _, ids in (*self.positives, *self.negatives))


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests and documents.

    :param queries: token numbers of each request.
    :param documents: token numbers of each document; of each tool one.
    :param wanted: (request, document) of each pair that belongs together.
    :param hidden: (request, document) of further right pairs: they are neither pulled nor pushed.
    """

    queries: list[list[int]]
    documents: list[list[int]]
    wanted: list[tuple[int, int]]
    hidden: set[tuple[int, int]]


def read_groups(path: Path, tokenizer: Any) -> list[Group]:
    """The groups of a file, in token numbers cut to what training reads.

    :param tokenizer: one of the library ``tokenizers``, that does not pad.
    """

    def encode(texts: Sequence[str], most: int) -> list[list[int]]:
        tokenizer.enable_truncation(most)
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]

    groups = []
    for row in read_rows(path):
        documents = encode([*row["positives"], *row["negatives"]], DOCUMENT_TOKENS)
        keyed = list(zip([*row["positive_ids"], *row["negative_ids"]], documents, strict=True))
        count = len(row["positives"])
        if count and len(keyed) > count:
            groups.append(Group(encode([row["query"]], QUERY_TOKENS)[0], keyed[:count], keyed[count:]))
    return groups


def batches(groups: Sequence[Group], size: int, negatives: int, rng: random.Random) -> Iterator[Batch]:
    """Batches without end: each group once an epoch, with some of its positives and hard negatives."""
    while True:
        mixed = rng.sample(groups, len(groups))
        for start in range(0, len(mixed), size * POOL):
            pool = sorted(mixed[start : start + size * POOL], key=lambda group: group.length)
            parts = [pool[place : place + size] for place in range(0, len(pool) - size + 1, size)]
            for part in rng.sample(parts, len(parts)):
                yield _batch(part, negatives, rng)


def _batch(groups: Sequence[Group], negatives: int, rng: random.Random) -> Batch:
    documents: dict[str, list[int]] = {}
    wanted_keys: list[list[str]] = []
    for group in groups:
        positives = rng.sample(group.positives, min(MOST_POSITIVES, len(group.positives)))
        chosen = rng.sample(group.negatives, min(negatives, len(group.negatives)))
        wanted_keys.append([key for key, _ in positives])
        for key, ids in (*positives, *chosen):
            documents.setdefault(key, ids)
    place = {key: number for number, key in enumerate(documents)}
    wanted = [(row, place[key]) for row, keys in enumerate(wanted_keys) for key in keys]
    gold = {(row, place[key]) for row, group in enumerate(groups) for key, _ in group.positives if key in place}
    return Batch([group.query for group in groups], list(documents.values()), wanted, gold - set(wanted))
