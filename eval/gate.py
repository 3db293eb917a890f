"""The gate: no set on which the candidate is worse than the yardstick beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.report.figure_lookup import Figures
from eval.summary import Summary
from ontology.errors import InvalidArgumentError

__all__ = ["GATE_MEASURES", "Loss", "losses"]

GATE_MEASURES = ("CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A set and a measure in which the candidate is below the baseline, its whole interval with it.

    :param difference: candidate minus baseline, and the upper end ``high`` of its paired 95 % interval; both below 0.
    """

    set_name: str
    measure: str
    difference: float
    high: float

    def __str__(self) -> str:
        return f"{self.set_name}, {self.measure}: {self.difference:+.1%}, at best {self.high:+.1%}"


def losses(summary: Summary, candidate: str, *, measures: Sequence[str] = GATE_MEASURES) -> list[Loss]:
    """Where the candidate loses to the summary's baseline outside the paired bootstrap interval.

    :raises InvalidArgumentError: when a set lacks the figure: a gate that measures nothing must not pass.
    """
    figures = Figures(summary)
    found = []
    for set_name in summary.sets:
        for measure in measures:
            figure = figures.get(figures.requests(set_name), candidate, measure)
            if figure is None or figure.difference is None or figure.difference_high is None:
                raise InvalidArgumentError(
                    f"{candidate!r} has no difference to {summary.baseline!r}",
                    subject=f"{set_name}, {measure}",
                    remedy="Measure both first",
                )
            if figure.difference_high < 0:
                loss = Loss(
                    set_name=set_name, measure=measure, difference=figure.difference, high=figure.difference_high
                )
                found.append(loss)
    return found
