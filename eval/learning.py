"""Learning from use: sessions become past requests that vote, if later sessions are answered better with them.

A session is a request of the past with the tools that served it; sessions come from the log of outcomes or from a file. The first eight
tenths are the past, the last two decide by McNemar's exact test. What is published is made of all sessions.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder, Floats2d
from ontology.reporting import Progress, no_progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.bm25 import make_postings, terms
from retrieval.learned import PastRequests
from retrieval.query.query import typed_text
from retrieval.query.request import Request
from retrieval.query.typed_values import find_values
from retrieval.ranking.fusion import FusionRanker, add_votes
from retrieval.ranking.weights import FUSION, weights_of
from retrieval.snapshot.reader import Snapshot

_WEIGHT = 16.0  # of the votes, in standard deviations of the scores. Chosen, not tuned
_PAST = 0.8
_ASKED, _LEAST_ASKED = 600, 20
_SIGNIFICANT, _SEED = 0.05, 0
# Sessions that a snapshot keeps, the newest: their vectors are compared with each request, 2 ms for so many.
_MOST = 20_000
_LEAST_CAP = 20  # A reporter may have this many sessions, however few the others have. Chosen, not tuned
_CHUNK, _MAX_TOOLS = 256, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One request of the past."""

    tools: tuple[str, ...]  # ids of the tools that served it, distinct, in order
    time: float | None = None  # seconds since 1970; None where it is not known
    # who reported it; empty for a line of a file that names none: then each line is of a reporter of its own
    reporter: str = ""
    query: str = ""  # its text; empty where only ``terms`` are known
    terms: tuple[str, ...] = ()  # its index terms, where the text is not known

    @property
    def text(self) -> str:
        """What is asked when the session is held out: its text, else its words."""
        return self.query or " ".join(self.terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The result."""

    learned: PastRequests | None  # made of all sessions; None where nothing was learned
    sessions: int  # that count; ``reporters`` of them
    reporters: int
    k: int
    asked: int = 0  # how many held-out sessions decided
    # share of them whose tools are all among the best k, without the learned part; ``after``: with it
    before: float = 0.0
    after: float = 0.0
    # how many only the learned part answers completely; ``lost``: how many only the snapshot without it
    gained: int = 0
    lost: int = 0
    p_value: float = 1.0  # of McNemar's exact test, two-sided
    reason: str = ""  # why nothing is published, one sentence without a full stop; empty where it is better

    def to_json(self) -> dict[str, Any]:
        """The figures, printed by ``--json`` and kept in the store."""
        held_out = {name: getattr(self, name) for name in ("asked", "before", "after", "gained", "lost", "p_value")}
        return {
            "sessions": self.sessions,
            "reporters": self.reporters,
            "k": self.k,
            "held_out": {**held_out, "before": round(self.before, 4), "after": round(self.after, 4)},
            "reason": self.reason,
            "weight": 0.0 if self.learned is None else self.learned.weight,
        }


def learn(
    sessions: Iterable[Session],
    snapshot: Snapshot,
    encoder: Encoder,
    *,
    min_reporters: int = 2,
    k: int,
    progress: Progress = no_progress,
) -> Learning:
    """Make past requests of the sessions, and decide by held-out ones whether answers are better with them.

    :param sessions: by time, of tools that the snapshot has (:func:`known_sessions`).
    :param min_reporters: distinct reporters that must have used a tool before it counts. With 1 every reporter is trusted, none is bounded.
    :param k: a session is answered completely when all its tools are among the best ``k``.
    :raises ModelError: when the encoder is down.
    """
    kept = bounded_sessions(list(sessions), min_reporters)
    vectors_PD = encode_sessions(kept, snapshot, encoder, progress)
    everything = make_past_requests(kept, vectors_PD, snapshot, min_reporters=min_reporters)
    result = Learning(learned=None, sessions=len(kept), reporters=everything.reporter_count, k=k)
    past = int(_PAST * len(kept))
    asked = [each for each in kept[past:] if any(map(str.isalnum, each.text))]
    drawn = np.random.default_rng(_SEED).permutation(len(asked))[:_ASKED]
    deciding = [asked[place] for place in sorted(drawn.tolist())]
    if len(deciding) < _LEAST_ASKED:
        held_out = f"{len(deciding)} sessions with words are held out"
        return replace(result, reason=f"{held_out}, and {_LEAST_ASKED} are needed")
    seen = make_past_requests(kept[:past], vectors_PD[:past], snapshot, min_reporters=min_reporters)
    before, after = _complete(deciding, (None, seen), snapshot, encoder, k, progress).T
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    result = replace(result, asked=len(deciding), before=float(before.mean()), after=float(after.mean()))
    result = replace(result, gained=gained, lost=lost, p_value=mcnemar(gained, lost))
    if gained <= lost or result.p_value >= _SIGNIFICANT:
        why = ": nothing is gained" if gained <= lost else f", which may be chance (p = {result.p_value:.2f})"
        found = f"on {result.asked} held-out sessions CompleteRecall@{k} goes from {result.before:.1%} to {result.after:.1%}"
        return replace(result, reason=found + why)
    return replace(result, learned=everything)


def make_past_requests(
    sessions: Sequence[Session], vectors_PD: Floats2d, snapshot: Snapshot, *, min_reporters: int
) -> PastRequests:
    """The learned part of these sessions. ``vectors_PD``: their vectors, zeros where a text is not known, float32
    [sessions, D]."""
    tools = [[snapshot.tool_number(tool) for tool in each.tools] for each in sessions]
    words = make_postings(each.terms or terms(each.query) for each in sessions)
    names = [each.reporter or f"\0{place}" for place, each in enumerate(sessions)]
    return PastRequests(
        vectors_PD=vectors_PD if vectors_PD.any() else vectors_PD[:, :0],
        words=words,
        lengths=np.bincount(words.docs, weights=words.weights, minlength=len(sessions)).astype(np.float32),
        pointers=np.cumsum([0, *map(len, tools)], dtype=np.int64),
        tools=np.asarray([tool for row in tools for tool in row], dtype=np.int32),
        reporters=np.unique(names, return_inverse=True)[1].astype(np.int32),
        min_reporters=min_reporters,
        weight=_WEIGHT,
    )


def mcnemar(gained: int, lost: int) -> float:
    """The two-sided p-value of McNemar's exact test."""
    total, fewer = gained + lost, min(gained, lost)
    tail = sum(math.comb(total, count) for count in range(fewer + 1))
    return float(min(1.0, 2 * tail / 2**total))


def bounded_sessions(sessions: list[Session], min_reporters: int) -> list[Session]:
    """The newest sessions, of a reporter as many as the median of all reporters, at least 20: nobody counts more by
    reporting more. A line of a file without a reporter is the operator's word and is not bounded."""
    counts = Counter(each.reporter for each in sessions if each.reporter)
    cap = max(_LEAST_CAP, int(statistics.median(counts.values()))) if counts and min_reporters > 1 else len(sessions)
    seen = Counter[str]()
    newest_first = []
    for each in reversed(sessions):
        seen[each.reporter] += 1
        if not each.reporter or seen[each.reporter] <= cap:
            newest_first.append(each)
    return newest_first[:_MOST][::-1]


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


def _complete(
    sessions: Sequence[Session],
    choices: Sequence[PastRequests | None],
    snapshot: Snapshot,
    encoder: Encoder,
    k: int,
    progress: Progress,
) -> NDArray[np.bool_]:
    """Whether each session is answered completely with each learned part, bool [sessions, choices]."""
    weights = weights_of(snapshot)
    retriever = GraphRetriever(snapshot, encoder, weights=weights)
    ranker = FusionRanker(weights, name=FUSION, bounded=True)
    complete = np.zeros((len(sessions), len(choices)), dtype=np.bool_)
    for row, session in enumerate(sessions):
        context = retriever.find_candidates(Request(query=session.text, k=k))
        ranking, gold = ranker.rank(context), set(map(snapshot.tool_number, session.tools))
        for column, choice in enumerate(choices):
            voted = ranking if choice is None else add_votes(context, ranking, choice)
            voted = retriever.complete(context, voted, margin=weights.resolver_margin)
            complete[row, column] = gold <= set(voted.tools[voted.best(k)].tolist())
        progress("judge", row + 1, len(sessions))
    return complete


def known_sessions(sessions: Iterable[Session], known: Collection[str]) -> list[Session]:
    """The sessions by time, without the tools that the catalogue no longer has; one without any tool is left out."""
    pairs = [(each, tuple(tool for tool in dict.fromkeys(each.tools) if tool in known)) for each in sessions]
    found = (replace(each, tools=tools) for each, tools in pairs if tools)
    return sorted(found, key=lambda each: (each.time is not None, each.time or 0.0, each.text, each.tools))
