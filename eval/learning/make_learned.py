"""Weighted sessions become the learned part of a snapshot: past requests, pairs of tools, observed outputs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from eval.learning.influence import Weighted
from eval.learning.sessions import OutputUse, Session
from inference.arrays import Floats2d
from inference.encoder import Encoder
from ontology.progress import Progress, no_progress
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Postings, make_postings
from retrieval.index.learned_use import LearnedUse, ObservedReturn, UsedWith
from retrieval.query.typed_text import typed_text
from retrieval.query.typed_values import find_values
from retrieval.snapshot.reader import Snapshot

__all__ = ["encode_sessions", "make_learned"]

_CHUNK = 256
_PSEUDO_USES = 5.0
"""Uses of a tool without any other that are added to those seen: the confidence of a pair that was seen once is low. Chosen with the constants
of :mod:`retrieval.index.learned_use`."""
_LEAST_SESSIONS = 3
_MOST_PARTNERS = 20
_LONGEST = 10
"""Sessions with more tools are of a task too large to say that two of them belong together."""
_MOST_RETURNS = 10_000


def encode_sessions(
    sessions: Sequence[Session], snapshot: Snapshot, encoder: Encoder, progress: Progress = no_progress
) -> Floats2d:
    """The vector of each session, as a request is encoded, float32 [sessions, D]; zeros where its text is not known."""
    vectors_PD = np.zeros((len(sessions), encoder.dimensions), dtype=np.float32)
    known = [row for row, session in enumerate(sessions) if session.query]
    for start in range(0, len(known), _CHUNK):
        rows = known[start : start + _CHUNK]
        texts = [sessions[row].query for row in rows]
        typed = [typed_text(text, find_values(text, snapshot.value_shapes), ((0, len(text)),)) for text in texts]
        vectors_PD[rows] = encoder.encode(typed)
        progress("encode", min(start + _CHUNK, len(known)), len(known))
    return vectors_PD


def make_learned(
    weighted: Sequence[Weighted], vectors_PD: Floats2d, snapshot: Snapshot, *, min_reporters: int
) -> LearnedUse:
    """The learned part of these sessions; its weights are 0 until :func:`eval.learning.held_out.learn` chooses them.

    :param vectors_PD: their vectors, float32 [sessions, D].
    """
    numbers = {tool: snapshot.tool_number(tool) for each in weighted for tool in each.session.tools}
    tools = [[numbers[tool] for tool in each.session.tools] for each in weighted]
    words = make_postings(each.session.terms or terms(each.session.query) for each in weighted)
    return LearnedUse(
        vectors_PD=vectors_PD if vectors_PD.any() else vectors_PD[:, :0],
        words=words,
        lengths=_own_scores(words, len(weighted)),
        pointers=np.cumsum([0, *map(len, tools)], dtype=np.int64),
        tools=np.asarray([tool for row in tools for tool in row], dtype=np.int32),
        weights=np.asarray([each.weight for each in weighted], dtype=np.float32),
        reporters=np.asarray([each.reporter for each in weighted], dtype=np.int32),
        used_with=_used_with(weighted, tools, min_reporters),
        returns=_returns(weighted, min_reporters),
        min_reporters=min_reporters,
    )


def _own_scores(words: Postings, size: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.bincount(words.docs, weights=words.weights, minlength=size).astype(np.float32)


class _Pair(NamedTuple):
    head: int
    tail: int


def _used_with(weighted: Sequence[Weighted], tools: Sequence[Sequence[int]], min_reporters: int) -> UsedWith:
    """The pairs that enough sessions of enough reporters have, and more of them than chance gives."""
    uses: defaultdict[int, float] = defaultdict(float)
    together: defaultdict[_Pair, float] = defaultdict(float)
    sessions: Counter[_Pair] = Counter()
    reporters: defaultdict[_Pair, set[int]] = defaultdict(set)
    total = 0.0
    for each, row in zip(weighted, tools, strict=True):
        if len(row) > _LONGEST:
            continue
        total += each.weight
        for tool in row:
            uses[tool] += each.weight
        for pair in map(_Pair._make, permutations(row, 2)):
            together[pair] += each.weight
            sessions[pair] += 1
            reporters[pair].add(each.reporter)
    confidences: defaultdict[int, list[tuple[float, _Pair]]] = defaultdict(list)
    for pair, weight in together.items():
        supported = sessions[pair] >= _LEAST_SESSIONS and len(reporters[pair]) >= min_reporters
        if (
            supported and weight * total > uses[pair.head] * uses[pair.tail]
        ):  # the pointwise mutual information is above 0
            confidences[pair.head].append((weight / (uses[pair.head] + _PSEUDO_USES), pair))
    best = [
        row
        for head in sorted(confidences)
        for row in sorted(confidences[head], key=lambda row: (-row[0], row[1].tail))[:_MOST_PARTNERS]
    ]
    return UsedWith(
        heads=np.asarray([pair.head for _, pair in best], dtype=np.int32),
        tails=np.asarray([pair.tail for _, pair in best], dtype=np.int32),
        confidences=np.asarray([confidence for confidence, _ in best], dtype=np.float32),
        sessions=np.asarray([sessions[pair] for _, pair in best], dtype=np.int32),
        reporters=np.asarray([len(reporters[pair]) for _, pair in best], dtype=np.int32),
    )


def _returns(weighted: Sequence[Weighted], min_reporters: int) -> tuple[ObservedReturn, ...]:
    """The outputs that enough reporters have seen, by tool and name."""
    sessions: Counter[OutputUse] = Counter()
    reporters: defaultdict[OutputUse, set[int]] = defaultdict(set)
    for each in weighted:
        for output in set(each.session.outputs):
            sessions[output] += 1
            reporters[output].add(each.reporter)
    kept = sorted(
        (output for output, found in reporters.items() if len(found) >= min_reporters),
        key=lambda output: (-sessions[output], output.tool, output.name, output.type, output.taken_by, output.taken_as),
    )
    return tuple(
        ObservedReturn(
            tool=output.tool,
            name=output.name,
            type=output.type,
            taken_by=output.taken_by,
            taken_as=output.taken_as,
            sessions=sessions[output],
            reporters=len(reporters[output]),
        )
        for output in kept[:_MOST_RETURNS]
    )
