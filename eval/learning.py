"""Learning from use: past requests vote for the tools that served them, if later requests are answered better with them.

They come from the log of outcomes or from a file. The first eight tenths are the past, the last two decide by McNemar's exact test. What
is published is made of all.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import FiniteFloat

from inference.encoder import Encoder
from ontology.errors import ModelError
from ontology.reporting import Progress, no_progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.bm25 import make_postings, terms
from retrieval.learned import PastRequests
from retrieval.query.query import typed_text
from retrieval.query.request import MAX_QUERY_CHARS, Request
from retrieval.query.typed_values import find_values
from retrieval.ranking.weights import weights_of
from retrieval.snapshot.reader import Snapshot

_WEIGHT = 16.0  # of the votes, in standard deviations of the scores. Chosen, not tuned
_PAST = 0.8
_MOST_ASKED, _LEAST_ASKED = 600, 20
_SIGNIFICANT = 0.05
_MOST = 20_000  # sessions that a snapshot keeps, the newest: each request is compared with all of them
_LEAST_CAP = 20  # a reporter may have this many sessions, however few the others have. Chosen, not tuned


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is kept of a report: a request of the past, a session, and the tools that served it."""

    key: str  # of the request, unique; a report with a known key is the same report
    time: FiniteFloat  # when it was reported, seconds since 1970
    used: tuple[str, ...]  # ids of the tools that were called, in order
    # pseudonym of who reported it, hexadecimal; empty for a line of a file that names none: then it is of a reporter of its own
    reporter: str = ""
    succeeded: bool | None = None  # None where it is not known
    terms: tuple[str, ...] = ()  # words of the request that the catalogue has too, sorted; empty where none is kept
    query: str = ""  # text of the request; empty unless the operator has it kept


def learn(
    outcomes: Iterable[Outcome],
    snapshot: Snapshot,
    encoder: Encoder,
    *,
    min_reporters: int = 2,
    k: int,
    progress: Progress = no_progress,
) -> tuple[PastRequests | None, dict[str, Any]]:
    """Make past requests of what was reported, and decide by held-out sessions whether answers are better with them.

    :param min_reporters: distinct reporters that must have used a tool before it counts.
    :param k: a session is answered completely when all its tools are among the best ``k``.
    :returns: those of all sessions, None where nothing was learned; and the figures, whose ``reason`` says in one sentence
        without a full stop why, and is empty otherwise.
    :raises ModelError: when the encoder is down.
    """
    kept = sessions_of(outcomes, snapshot)
    progress("encode", 0, len(kept))
    everything = past_requests(kept, snapshot, encoder, min_reporters=min_reporters)
    past = int(_PAST * len(kept))
    # A past request without tools is never near: only the first eight tenths vote on the others.
    seen = replace(everything, pointers=np.minimum(everything.pointers, everything.pointers[past]))
    texts = [(each, (each.query or " ".join(each.terms))[:MAX_QUERY_CHARS]) for each in kept[past:]]
    asked = [(each, text) for each, text in texts if any(map(str.isalnum, text))][-_MOST_ASKED:]

    def answered(learned: PastRequests | None) -> set[str]:
        """The keys of the held-out sessions all whose tools are in the answers with this learned part."""
        view, found = snapshot.without(()), set[str]()
        view.learned = learned
        retriever = GraphRetriever(view, encoder, weights=weights_of(snapshot))
        for done, (each, text) in enumerate(asked, start=1):
            answer = retriever.retrieve(Request(query=text, k=k))
            if answer.fallbacks:
                raise ModelError(answer.fallbacks[0], subject=encoder.name, remedy="Try again when it is up")
            if {tool.id for tool in answer.tools}.issuperset(each.used):
                found.add(each.key)
            progress("judge", done, len(asked))
        return found

    before, after = answered(None), answered(seen)
    gained, lost, count = len(after - before), len(before - after), len(asked)
    shares = [len(each) / max(1, count) for each in (before, after)]
    told = f"on {count} held-out sessions CompleteRecall@{k} goes from {shares[0]:.1%} to {shares[1]:.1%}"
    p_value, reason = verdict(told, gained, lost)
    if count < _LEAST_ASKED:
        reason = f"{count} sessions with words are held out, and {_LEAST_ASKED} are needed"
    held_out = {"asked": count, "before": round(shares[0], 4), "after": round(shares[1], 4)}
    return (None if reason else everything), {
        "sessions": len(kept),
        "reporters": everything.reporter_count,
        "k": k,
        "held_out": {**held_out, "gained": gained, "lost": lost, "p_value": p_value},
        "reason": reason,
    }


def verdict(told: str, gained: int, lost: int) -> tuple[float, str]:
    """The two-sided p-value of McNemar's exact test, and why what is told is no gain; empty where it is one."""
    total, fewer = gained + lost, min(gained, lost)
    tail = sum(math.comb(total, count) for count in range(fewer + 1))
    p_value = float(min(1.0, 2 * tail / 2**total))
    why = ": nothing is gained" if gained <= lost else f", which may be chance (p = {p_value:.2f})"
    return p_value, told + why if gained <= lost or p_value >= _SIGNIFICANT else ""


def sessions_of(outcomes: Iterable[Outcome], snapshot: Snapshot) -> list[Outcome]:
    """The newest sessions that did not fail, by time, with the tools that the catalogue has, at least one. Of a reporter
    as many as the median of all reporters, at least 20: whoever floods the log neither decides nor drives out the
    others. A line of a file without a reporter is the operator's word."""
    known = set(map(snapshot.tool_id, range(snapshot.tool_count)))
    succeeded = [each for each in outcomes if each.succeeded is not False and known.intersection(each.used)]
    counts = Counter(each.reporter for each in succeeded if each.reporter)
    cap = max(_LEAST_CAP, int(statistics.median(counts.values() or [0])))
    seen, newest = Counter[str](), []
    for each in sorted(succeeded, key=lambda each: (each.time, each.key), reverse=True):
        seen[each.reporter] += 1
        if not each.reporter or seen[each.reporter] <= cap:
            newest.append(replace(each, used=tuple(tool for tool in dict.fromkeys(each.used) if tool in known)))
    return newest[:_MOST][::-1]


def past_requests(
    sessions: Sequence[Outcome], snapshot: Snapshot, encoder: Encoder, *, min_reporters: int
) -> PastRequests:
    """The learned part of sessions of known tools. Those whose text is known are encoded as a request is; the others have zeros."""
    texts = [each.query[:MAX_QUERY_CHARS] for each in sessions]
    typed = [typed_text(text, find_values(text, snapshot.value_shapes), ((0, len(text)),)) for text in texts]
    vectors_PD = encoder.encode(typed)
    words = make_postings(each.terms or terms(each.query) for each in sessions)
    names = [each.reporter or f"\0{place}" for place, each in enumerate(sessions)]
    # No array of the names themselves: it would be as wide as the longest.
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    return PastRequests(
        vectors_PD=vectors_PD if any(texts) else vectors_PD[:, :0],
        words=words,
        lengths=np.bincount(words.docs, weights=words.weights, minlength=len(sessions)).astype(np.float32),
        pointers=np.cumsum([0, *(len(each.used) for each in sessions)], dtype=np.int64),
        tools=np.asarray([snapshot.tool_number(tool) for each in sessions for tool in each.used], dtype=np.int32),
        reporters=np.asarray([numbers[name] for name in names], dtype=np.int32),
        min_reporters=min_reporters,
        weight=_WEIGHT,
    )
