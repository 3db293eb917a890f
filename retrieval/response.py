"""Make a Response from the ranking of any retriever: the best tools with their reasons, how well needs are served, and the timings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from egotools.values import NeedResult, RankedTool, Reasons, Response
from inference.encoder import Floats1d
from retrieval.explain.explanation import Explainer
from retrieval.explain.reasons import entry_match, explain
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.confidence import NEEDED, Confidence, ServedNeed
from retrieval.ranking.features import clause_scores
from retrieval.ranking.need_fusion import NEEDED_OF_NEEDS, FusedNeeds
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.graph_views import consumer_edges

# In standard deviations of the scores: for a tool that takes an output of an executed one, times the confidence of the edge; and for a
# tool of the same system. Both found on the development halves of the shipped company and of the real documents.
_SUCCESSOR_BOOST = 1.0
_SYSTEM_BOOST = 1.0


def is_done(context: QueryContext, tools: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of some tools were executed already, bool [tools]."""
    return np.isin(tools, list(context.done))


def after_done(context: QueryContext, ranking: Ranking) -> Ranking:
    """The ranking without executed tools, with those raised that come after them; itself where none was executed. The
    feature ``task_boost`` is by how much each was raised."""
    if not context.done:
        return ranking
    ranking = ranking.take(~is_done(context, ranking.tools))
    if not len(ranking.tools):
        return ranking
    snapshot = context.snapshot
    taking = np.zeros(
        snapshot.tool_count, dtype=np.float32
    )  # the confidence that a tool takes an output of an executed one
    for tool in context.done:
        for edge, consumer, _ in consumer_edges(snapshot, tool):
            taking[consumer] = max(taking[consumer], snapshot.adjacency.confidences[edge])
    boosts = _SUCCESSOR_BOOST * taking
    # Where a clause is about another system, that system gains too.
    clauses_CT = clause_scores(context) if context.query.clauses else ()
    best = {int(context.candidates[row_T.argmax()]) for row_T in clauses_CT}
    systems = snapshot.tool_systems[sorted({*context.done, *best})]
    boosts[np.isin(snapshot.tool_systems, systems[systems >= 0])] += _SYSTEM_BOOST
    added = (float(ranking.scores.std()) * boosts[ranking.tools]).astype(np.float32)
    features = {**ranking.features, "task_boost": added}
    return Ranking(tools=ranking.tools, scores=ranking.scores + added, features=features)


# Of so many tools a budget of tokens takes some. Chosen for its time, half a millisecond a tool that is read for the
# first time; not measured.
BUDGETED = 50
NOTHING_FITS = "budget_tokens: none of the {} best tools has so few as {:,} tokens; the smallest has {:,}"
_NO_ESTIMATE = "{}: without an estimate of the probabilities the answer has k tools"


def respond(context: QueryContext, ranking: Ranking, *, preset: str, confidence: Confidence | None = None) -> Response:
    """Return the response with the best tools of a ranking. ``confidence``: confidence in the ranking; None where it is
    not estimated."""
    request = context.request
    best = _best(context, ranking)
    choice = request.auto_k and bool(request.first)
    if confidence is None:
        asked = {"auto_k": request.auto_k and not choice, "abstain": request.abstain}
        context.fallbacks += [_NO_ESTIMATE.format(name) for name, is_asked in asked.items() if is_asked]
    elif request.abstain and confidence.unanswerable:
        best = best[:0]
        context.fallbacks.append(f"no tool fits: the probability that one does is only {confidence.answerable:.2f}")
    elif request.auto_k and not choice:
        best = best[: max(1, int((confidence.probabilities[best] >= NEEDED).sum()))]
    if choice:
        best = _chosen(context, ranking, best)
    if request.budget_tokens:
        worth = None if confidence is None else -np.log1p(-np.minimum(confidence.probabilities, 1.0 - 1e-6))
        best = _within_budget(context, ranking, best, worth)
    tools = _tools(context, ranking, best, None if confidence is None else confidence.probabilities)
    return _response(
        context,
        tools,
        preset=preset,
        answerable_probability=None if confidence is None else round(confidence.answerable, 4),
        unanswerable=confidence is not None and confidence.unanswerable,
    )


def respond_to_needs(
    context: QueryContext,
    fused: FusedNeeds,
    rankings: Sequence[Ranking],
    served: Sequence[ServedNeed | None],
    *,
    preset: str,
) -> Response:
    """Return the response over needs: the best tools of the fused ranking, and how well each need is served.
    ``served``: how well each is served; None where it is not estimated."""
    ranking = fused.ranking
    results = tuple(
        NeedResult(
            need=need,
            tool=context.snapshot.tool_id(int(of_need.tools[of_need.best(1)[0]])) if len(of_need.tools) else "",
            probability=None if one is None else round(one.probability, 4),
            unserved=not len(of_need.tools) or (one is not None and one.unserved),
        )
        for need, of_need, one in zip(context.request.needs, rankings, served, strict=True)
    )
    unserved = all(each.unserved for each in results)
    best = _best(context, ranking)
    if context.request.abstain and unserved:
        best = best[:0]
        context.fallbacks.append("no tool fits any of the needs")
    elif context.request.auto_k and context.request.first:
        best = _chosen(context, ranking, best)
    elif context.request.auto_k:
        best = best[: max(1, int((ranking.scores[best] >= NEEDED_OF_NEEDS).sum()))]
    if context.request.budget_tokens:
        best = _within_budget(context, ranking, best, ranking.scores)
    supporting = {each.tool for each in context.supporting}
    tools = []
    context.answering = {context.snapshot.tool_number(of.tool): at for at, of in enumerate(results) if not of.unserved}
    found = _tools(context, ranking, best, np.minimum(ranking.scores, 1.0))
    for tool, number in zip(found, ranking.tools[best].tolist(), strict=True):
        needs = fused.needs_of(number)
        tools.append(replace(tool, needs=needs, completes=not needs and number in supporting))
    known = [each.probability for each in results if each.probability is not None]
    return _response(
        context,
        tuple(tools),
        preset=preset,
        answerable_probability=max(known, default=None),
        unanswerable=unserved,
        need_results=results,
    )


def _response(context: QueryContext, tools: tuple[RankedTool, ...], **others: Any) -> Response:
    return Response(
        tools=tools,
        snapshot_id=context.snapshot.id,
        timings_ms={**context.timings_ms, "total": context.total_ms()},
        fallbacks=tuple(dict.fromkeys(context.fallbacks)),
        **others,
    )


def _tools(
    context: QueryContext, ranking: Ranking, best: NDArray[np.int64], probabilities: Floats1d | None
) -> tuple[RankedTool, ...]:
    """The tools at some positions of a ranking, with what the request asks for."""
    request, returned = context.request, ranking.take(best)
    numbers, found = returned.tools.tolist(), []
    with context.stage("explain"):
        explainer = Explainer(context, numbers) if request.explain or request.explanation else None
        shown = cache(partial(entry_match, context.snapshot))
        for place, tool in enumerate(_while_waited_for(request, returned, "explain")):
            reasons = Reasons()
            if request.explain:
                features = {name: round(float(values[place]), 6) for name, values in returned.features.items()}
                reasons = explain(context, tool, returned=numbers, features=features, shown=shown)
            found.append(
                RankedTool(
                    id=context.snapshot.tool_id(tool),
                    rank=place + 1,
                    score=round(float(returned.scores[place]), 6),
                    reasons=reasons,
                    explanation="" if explainer is None else explainer.explain(tool),
                    probability=None if probabilities is None else round(float(probabilities[best[place]]), 4),
                )
            )
    return tuple(found)


def _best(context: QueryContext, ranking: Ranking) -> NDArray[np.int64]:
    """Positions of the best k tools that were not executed already; with a budget of tokens at least 50, of which it takes k."""
    most = max(context.request.k, BUDGETED) if context.request.budget_tokens else context.request.k
    best = ranking.best(most + len(context.done))
    return best[~is_done(context, ranking.tools[best])][:most]


def _chosen(context: QueryContext, ranking: Ranking, best: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of these positions those of the tools that a model chose; at least the first."""
    chosen = set(context.request.first)
    kept = [place for place in best.tolist() if context.snapshot.tool_id(int(ranking.tools[place])) in chosen]
    return np.asarray(kept, dtype=np.int64) if kept else best[:1]


def _within_budget(
    context: QueryContext, ranking: Ranking, best: NDArray[np.int64], worth: Floats1d | None
) -> NDArray[np.int64]:
    """Of these positions those that are taken within the budget of tokens, in the order of the ranking. Tools are taken
    by what each adds to the expected completeness over the root of its size; one that does not fit is passed over. On
    438 requests of five sets (shipped company, restbench, tau2_service, toolsandbox, tooltalk) 43.9/62.8/84.0 % of the
    whole requests are complete within 1,000/2,000/4,000 tokens and 76.3/91.7/98.0 % over needs; with the first tools of
    the ranking until one does not fit 36.1/53.5/78.1 and 73.7/89.5/95.0. Found on these: powers of the size from .25 to
    .7 are within 1.6 points; the size itself loses on short lists. ``worth``: what each candidate adds, float32
    [candidates], -log(1 - probability) or expected needs; None: not known, the order counts."""
    budget = context.request.budget_tokens
    if not len(best):
        return best
    ids = map(context.snapshot.tool_id, _while_waited_for(context.request, ranking.take(best), "budget"))
    sizes = np.asarray([context.request.size_of(tool_id) for tool_id in ids], dtype=np.int64)
    order = np.arange(len(best)) if worth is None else np.argsort(-worth[best] / np.sqrt(sizes + 1.0), kind="stable")
    taken = fitting(sizes.tolist(), order.tolist(), budget)[: context.request.k]
    if not taken:
        context.fallbacks.append(NOTHING_FITS.format(len(best), budget, int(sizes.min())))
    elif better := max(taken) + 1 - len(taken):
        context.fallbacks.append(f"budget_tokens: {better} tools that rank higher than the last one did not fit")
    return best[sorted(taken)]


def fitting(sizes: Sequence[int], order: Sequence[int], budget: int) -> list[int]:
    """Of places in some order those that are within a budget together; one that no longer fits is passed over."""
    taken: list[int] = []
    left = budget
    for place in order:
        if sizes[place] <= left:
            taken.append(place)
            left -= sizes[place]
    return taken


def _while_waited_for(request: Request, returned: Ranking, stage: str) -> Iterator[int]:
    """Yield the returned tools; a DeadlineError before one when the caller no longer waits."""
    for tool in returned.tools:
        request.check(stage)
        yield int(tool)
