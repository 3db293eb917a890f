"""Make a Response from the ranking of any retriever: the best tools with their reasons, and the timings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from egotools.values import EntryMatch, RankedTool, Reasons, Response
from retrieval.explain.explanation import Explainer
from retrieval.explain.reasons import entry_match, explain
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.request import Request
from retrieval.ranking.confidence import Confidence
from retrieval.ranking.ranking import Ranking
from retrieval.task_state import is_done

__all__ = ["respond"]

_NO_ESTIMATE = "{}: without an estimate of the probabilities the answer has k tools"


def respond(context: QueryContext, ranking: Ranking, *, preset: str, confidence: Confidence | None = None) -> Response:
    """Return the response with the best tools of a ranking.

    :param confidence: confidence in the ranking; None where it is not estimated.
    """
    request = context.request
    best = _best(context, ranking)
    if confidence is None:
        asked = {"auto_k": request.auto_k, "abstain": request.abstain}
        context.fallbacks += [_NO_ESTIMATE.format(name) for name, is_asked in asked.items() if is_asked]
    elif request.abstain and confidence.unanswerable:
        best = best[:0]
        context.fallbacks.append(f"no tool fits: the probability that one does is only {confidence.answerable:.2f}")
    elif request.auto_k:
        best = confidence.sufficient(best)
    returned = ranking.take(best)
    wanted = request.explain or request.explanation
    probabilities = None if confidence is None else confidence.probabilities[best]
    with context.stage("explain"):
        explainer = Explainer(context, returned.tools.tolist()) if wanted else None
        shown = cache(partial(entry_match, context.snapshot))
        tools = tuple(
            RankedTool(
                id=context.snapshot.tool_id(tool),
                rank=place + 1,
                score=round(float(returned.scores[place]), 6),
                reasons=_reasons(context, returned, place, shown) if request.explain else Reasons(),
                explanation="" if explainer is None else explainer.explain(tool),
                probability=None if probabilities is None else round(float(probabilities[place]), 4),
            )
            for place, tool in enumerate(_while_waited_for(request, returned))
        )
    return Response(
        tools=tools,
        snapshot_id=context.snapshot.id,
        preset=preset,
        timings_ms={**context.timings_ms, "total": context.total_ms()},
        fallbacks=tuple(context.fallbacks),
        answerable_probability=None if confidence is None else round(confidence.answerable, 4),
        unanswerable=confidence is not None and confidence.unanswerable,
    )


def _best(context: QueryContext, ranking: Ranking) -> NDArray[np.int64]:
    """Positions of the best k tools that were not executed already."""
    best = ranking.best(context.request.k + len(context.done))
    return best[~is_done(context, ranking.tools[best])][: context.request.k]


def _while_waited_for(request: Request, returned: Ranking) -> Iterator[int]:
    """Yield the returned tools.

    :raises DeadlineError: before a tool when the caller no longer waits: an explanation takes milliseconds a tool.
    """
    for tool in returned.tools:
        request.check("explain")
        yield int(tool)


def _reasons(context: QueryContext, returned: Ranking, place: int, shown: Callable[[EntryNode], EntryMatch]) -> Reasons:
    tools = returned.tools.tolist()
    features = {name: round(float(values[place]), 6) for name, values in returned.features.items()}
    return explain(context, tools[place], returned=tools, features=features, shown=shown)
