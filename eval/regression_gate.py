"""Two rules of the regression gate: a candidate must not lose on any set, and must gain on average.

Both rules use the paired bootstrap intervals of a summary, whose baseline is the system to compare with. The third rule,
that the candidate must not be below what was recorded of it, is in :mod:`eval.gate_reference`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eval.report.figure_lookup import Figures, Scope
from eval.summary import Figure, Summary
from ontology.errors import InvalidArgumentError

__all__ = ["GATE_MEASURES", "Loss", "losses", "missing_gains"]

GATE_MEASURES = ("CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10")
_DECISIVE = GATE_MEASURES[-1]  # at the default k; its whole interval must be above 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A set and a measure in which the whole interval of the difference is below 0.

    :param difference: candidate minus baseline, and the upper end ``high`` of its paired 95 % interval; both below 0.
    """

    baseline: str
    set_name: str
    measure: str
    difference: float
    high: float

    def __str__(self) -> str:
        return f"{self.set_name}, {self.measure}: {self.difference:+.1%} to {self.baseline}, at best {self.high:+.1%}"


def losses(summary: Summary, candidate: str, *, measures: Sequence[str] = GATE_MEASURES) -> list[Loss]:
    """Return the sets and measures in which the candidate is significantly below the summary's baseline.

    :raises InvalidArgumentError: when a set has no such figure: without figures the gate must not pass.
    """
    figures = Figures(summary)
    scopes = [figures.requests(name) for name in summary.sets]
    return [
        Loss(
            baseline=summary.baseline,
            set_name=scope.name,
            measure=measure,
            difference=figure.difference or 0.0,
            high=figure.difference_high or 0.0,
        )
        for scope in scopes
        for measure, figure in _figures(figures, scope, candidate, measures)
        if (figure.difference_high or 0.0) < 0
    ]


def missing_gains(summary: Summary, candidate: str) -> list[str]:
    """Return the reasons why the candidate has no gain over the baseline, averaged over the sets; empty for a gain.

    There is a gain when the whole interval of the mean difference over the sets is above 0 at ten tools, and at three and five
    tools not all of it is below. A system with the same answers as the baseline has a difference of 0, which is no gain.

    :raises InvalidArgumentError: when there is no such figure.
    """
    figures = Figures(summary)
    reasons = []
    for measure, figure in _figures(figures, figures.requests(), candidate, GATE_MEASURES):
        difference, low = figure.difference or 0.0, figure.difference_low or 0.0
        high = figure.difference_high or 0.0
        is_missing = low <= 0 if measure == _DECISIVE else high < 0
        if is_missing:
            interval = f"[{low:+.1%}, {high:+.1%}]"
            reasons.append(f"mean of {len(summary.sets)} sets, {measure}: {difference:+.1%} {interval}")
    return reasons


def _figures(figures: Figures, scope: Scope, candidate: str, measures: Sequence[str]) -> Iterator[tuple[str, Figure]]:
    """Yield the candidate's figure for each measure."""
    for measure in measures:
        figure = figures.get(scope, candidate, measure)
        if figure is None or figure.difference is None:
            raise InvalidArgumentError(
                f"{candidate!r} has no difference to {figures.summary.baseline!r}",
                subject=f"{scope.name}, {measure}",
                remedy="Measure both first",
            )
        yield measure, figure
