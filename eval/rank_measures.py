"""Register the metrics of egotools in ``ir_measures``, which then computes them and parses their names.

``ir_measures`` itself can define measures at run time, but only with pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import ir_measures
from ir_measures import Evaluator, Measure, Metric, Provider

from eval.metrics import METRICS

__all__ = ["make_evaluator"]

_library: Any = ir_measures  # parts of it have no types
RankValue = Callable[[Sequence[int], int], float]


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
            order = sorted(scores, key=lambda document: (-scores[document], document))
            ranks = [rank for rank, document in enumerate(order, start=1) if document in relevant]
            for measure in self._chosen:
                found = [rank for rank in ranks if rank <= measure["cutoff"]]
                yield Metric(query, measure, measure.rank_value(found, len(relevant)))


class _Provider(Provider):
    NAME = "egotools"

    def supports(self, measure: Any) -> bool:
        return hasattr(measure, "rank_value")

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(measures, _library.util.QrelsConverter(qrels).as_dict_of_dict())


_provider: Any = _Provider
_library.DefaultPipeline.providers.insert(0, _provider())
for _metric in METRICS:
    if _metric.value is not None:
        _library.measures.register(_rank_measure(_metric.name, _metric.value))
