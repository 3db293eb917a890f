"""Register the metrics of egotools in ``ir_measures``, which then computes them and parses their names.

``ir_measures`` itself can define measures at run time, but only with pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import ir_measures
from ir_measures import Evaluator, Measure, Metric, Provider

__all__ = ["RankValue", "make_evaluator", "register_measure"]

_library: Any = ir_measures  # parts of it have no types
RankValue: TypeAlias = Callable[[Sequence[int], int], float]
"""The value of one answer, from the ranks of its gold tools, ascending, and the number of gold tools."""


@cache
def register_measure(name: str, compute: RankValue) -> None:
    """Register a metric as a measure of ``ir_measures``; each only once."""
    _add_provider()
    _library.measures.register(_rank_measure(name, compute))


@cache
def _add_provider() -> None:
    provider: Any = _Provider
    _library.DefaultPipeline.providers.insert(0, provider())


def make_evaluator(names: Sequence[str], judged: Mapping[str, Mapping[str, int]]) -> Any:
    """Return the evaluator of ``ir_measures`` for these measures.

    :param names: names such as ``CompleteRecall@10``.
    :param judged: map from query id to document to relevance; a document with a value above 0 is relevant.
    """
    return _library.evaluator([_library.parse_measure(name) for name in names], judged)


def _rank_measure(name: str, compute: RankValue) -> Any:
    class RankMeasure(Measure):
        __name__ = NAME = name
        SHORT_DESC = compute.__doc__
        SUPPORTED_PARAMS = {"cutoff": _library.ParamInfo(dtype=int, required=True, desc="rank k")}  # noqa: RUF012
        rank_value = staticmethod(compute)

    make: Any = RankMeasure
    return make()


class _Evaluator(Evaluator):
    def __init__(self, chosen: Iterable[Any], qrels: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(chosen, set(qrels))
        self._chosen = list(chosen)
        self._relevant = {query: {doc for doc, rel in docs.items() if rel > 0} for query, docs in qrels.items()}

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        for query, scores in _library.util.RunConverter(run).as_dict_of_dict().items():
            if query not in self._relevant:
                continue
            relevant = self._relevant[query]
            # Equal scores by id, descending, as trec_eval does and with it R, AP and nDCG of ir_measures.
            order = sorted(scores, key=lambda document: (scores[document], document), reverse=True)
            ranks = [rank for rank, document in enumerate(order, start=1) if document in relevant]
            for measure in self._chosen:
                found = [rank for rank in ranks if rank <= measure["cutoff"]]
                yield Metric(query, measure, measure.rank_value(found, len(relevant)))


class _Provider(Provider):
    NAME = "egotools"

    def supports(self, measure: Any) -> bool:
        measure.validate_params()  # as every provider: a measure without its cutoff is an error here, not later
        return hasattr(measure, "rank_value")

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(measures, _library.util.QrelsConverter(qrels).as_dict_of_dict())
