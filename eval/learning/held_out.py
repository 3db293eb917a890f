"""Whether what was learned helps: sessions of a later time choose its weights, and still later ones decide.

The first eight tenths of the sessions are the past. The next tenth chooses the weights of votes and pairs; the last tenth decides: each is
asked without and with the learned part, and the sessions that only one of the two answers completely are compared by McNemar's
exact test. What is published is then made of all sessions, with these weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.learning.influence import Influence, Weighted
from eval.learning.make_learned import encode_sessions, make_learned
from eval.learning.sessions import Session
from inference.encoder import Encoder
from ontology.progress import Progress, no_progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.learned_use import LearnedUse
from retrieval.learned_ranking import add_use
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.fusion import FusionRanker
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import FUSION, RankingWeights, weights_of
from retrieval.snapshot.reader import Snapshot

__all__ = ["Learning", "learn", "mcnemar"]

_REQUEST_WEIGHTS = (0.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_PAIR_WEIGHTS = (0.0, 2.0, 4.0, 8.0)
_PAST, _CHOOSING = 0.8, 0.9
_ASKED, _LEAST_ASKED = 300, 20
_SIGNIFICANT = 0.05
_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The result.

    :param learned: made of all sessions; None where nothing was learned.
    :param sessions: that count; ``reporters`` of them.
    :param asked: how many held-out sessions decided.
    :param before: share of them whose tools are all among the best k, without the learned part; ``after``: with it.
    :param gained: how many only the learned part answers completely; ``lost``: how many only the snapshot without it.
    :param p_value: of McNemar's exact test, two-sided.
    :param reason: why nothing is published, one sentence without a full stop; empty where it is better.
    """

    learned: LearnedUse | None
    sessions: int
    reporters: int
    k: int
    asked: int = 0
    before: float = 0.0
    after: float = 0.0
    gained: int = 0
    lost: int = 0
    p_value: float = 1.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A held-out session on its way: its context, the ranking of its candidates, and the numbers of its tools."""

    context: QueryContext
    ranking: Ranking
    gold: frozenset[int]


class _Judge:
    """Answers sessions with a learned part or without.

    :param k: a session is answered completely when all its tools are among the best ``k``.
    """

    def __init__(self, snapshot: Snapshot, encoder: Encoder, weights: RankingWeights, k: int) -> None:
        self._snapshot = snapshot
        self._retriever = GraphRetriever(snapshot, encoder, weights=weights)
        self._ranker = FusionRanker(weights, name=FUSION, bounded=True)
        self._margin = weights.resolver_margin
        self._k = k

    def case(self, session: Session) -> _Case:
        """Find and rank the candidates of a session."""
        context = self._retriever.find_candidates(Request(query=session.text, k=self._k))
        gold = frozenset(map(self._snapshot.tool_number, session.tools))
        return _Case(context=context, ranking=self._ranker.rank(context), gold=gold)

    def complete(self, cases: Sequence[_Case], learned: LearnedUse | None) -> list[bool]:
        """Whether each session is answered completely."""
        return [self._is_complete(case, learned) for case in cases]

    def _is_complete(self, case: _Case, learned: LearnedUse | None) -> bool:
        ranking = case.ranking if learned is None else add_use(case.context, case.ranking, learned)
        ranking = self._retriever.complete(case.context, ranking, margin=self._margin)
        return case.gold <= set(ranking.tools[ranking.best(self._k)].tolist())


def learn(
    sessions: Sequence[Session],
    snapshot: Snapshot,
    encoder: Encoder,
    *,
    influence: Influence,
    k: int,
    progress: Progress = no_progress,
) -> Learning:
    """Make the learned part of the sessions, and decide by held-out ones whether it is better than none.

    :param sessions: by time, of tools that the snapshot has (:func:`eval.learning.sessions.known_sessions`).
    :param k: a session is answered completely when all its tools are among the best ``k``.
    :raises ModelError: when the encoder is down.
    """
    weighted = influence.weigh(sessions)
    vectors_PD = encode_sessions([each.session for each in weighted], snapshot, encoder, progress)
    result = Learning(learned=None, sessions=len(weighted), reporters=len({each.reporter for each in weighted}), k=k)
    past, choosing, deciding = _split(weighted)
    if min(len(choosing), len(deciding)) < _LEAST_ASKED:
        few = (
            f"{len(choosing)} and {len(deciding)} sessions with words are held out, and {_LEAST_ASKED} each are needed"
        )
        return replace(result, reason=few)
    judge = _Judge(snapshot, encoder, weights_of(snapshot), k)
    seen = make_learned(weighted[:past], vectors_PD[:past], snapshot, min_reporters=influence.min_reporters)
    seen = _weighed(seen, judge, _cases(judge, choosing, progress, "choose"))
    cases = _cases(judge, deciding, progress, "decide")
    before, after = judge.complete(cases, None), judge.complete(cases, seen)
    gained = sum(new and not old for old, new in zip(before, after, strict=True))
    lost = sum(old and not new for old, new in zip(before, after, strict=True))
    result = replace(
        result,
        asked=len(cases),
        before=sum(before) / len(cases),
        after=sum(after) / len(cases),
        gained=gained,
        lost=lost,
        p_value=mcnemar(gained, lost),
    )
    if gained <= lost or result.p_value >= _SIGNIFICANT:
        return replace(result, reason=_not_better(result))
    learned = make_learned(weighted, vectors_PD, snapshot, min_reporters=influence.min_reporters)
    learned = replace(learned, request_weight=seen.request_weight, pair_weight=seen.pair_weight)
    return replace(result, learned=learned)


def mcnemar(gained: int, lost: int) -> float:
    """The two-sided p-value of McNemar's exact test."""
    total, fewer = gained + lost, min(gained, lost)
    tail = sum(math.comb(total, count) for count in range(fewer + 1))
    return float(min(1.0, 2 * tail / 2**total))


def _split(weighted: Sequence[Weighted]) -> tuple[int, list[Session], list[Session]]:
    """The number of past sessions, and those that choose and decide, at most 300 each, drawn with a fixed seed."""
    past, later = int(_PAST * len(weighted)), int(_CHOOSING * len(weighted))
    return past, _drawn(weighted[past:later]), _drawn(weighted[later:])


def _drawn(weighted: Sequence[Weighted]) -> list[Session]:
    asked = [each.session for each in weighted if any(map(str.isalnum, each.session.text))]
    order = np.random.default_rng(_SEED).permutation(len(asked))[:_ASKED]
    return [asked[place] for place in sorted(order.tolist())]


def _cases(judge: _Judge, sessions: Sequence[Session], progress: Progress, stage: str) -> list[_Case]:
    cases = []
    for done, session in enumerate(sessions, start=1):
        cases.append(judge.case(session))
        progress(stage, done, len(sessions))
    return cases


def _weighed(learned: LearnedUse, judge: _Judge, cases: Sequence[_Case]) -> LearnedUse:
    """The learned part with the weight of the votes, then the weight of the pairs, that answer the most sessions."""
    learned = _best([replace(learned, request_weight=weight) for weight in _REQUEST_WEIGHTS], judge, cases)
    return _best([replace(learned, pair_weight=weight) for weight in _PAIR_WEIGHTS], judge, cases)


def _best(choices: Sequence[LearnedUse], judge: _Judge, cases: Sequence[_Case]) -> LearnedUse:
    """The first choice within one standard error of the best: smaller weights come first and leave more to the documents."""
    shares = [sum(judge.complete(cases, choice)) / len(cases) for choice in choices]
    error = math.sqrt(max(shares) * (1 - max(shares)) / len(cases))
    return next(choice for choice, share in zip(choices, shares, strict=True) if share >= max(shares) - error)


def _not_better(result: Learning) -> str:
    found = f"on {result.asked} held-out sessions CompleteRecall@{result.k} goes from {result.before:.1%} to {result.after:.1%}"
    if result.gained <= result.lost:
        return f"{found}: nothing is gained"
    return f"{found}, which may be chance (p = {result.p_value:.2f})"
