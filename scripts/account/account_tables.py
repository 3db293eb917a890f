"""Tables of measured figures in Markdown, for the pages of accounts: shares and differences with their intervals, ratios with their bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from eval.metrics import interval, resampled_means
from ontology.reporting import Proportion

__all__ = ["markdown_table", "paired_difference", "ratio_table", "share"]

_RESAMPLES = 10_000
_LEAST_PAIRS = 10  # for an interval


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; all columns but the first one hold numbers."""
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def share(hits: int, of: int) -> str:
    """Return a count of hits with the 95 % interval of its share (Wilson)."""
    found = Proportion(hits, of)
    if found.low is None or found.high is None:
        return "–"
    return f"{hits} of {of} ({100 * found.low:.0f}–{100 * found.high:.0f} %)"


def paired_difference(system: Mapping[str, float], reference: Mapping[str, float], stratum: str) -> str:
    """Return the mean difference of paired shares, the system's minus the reference's, in points.

    The bootstrap interval of 95 % stands beside it; where there are fewer than ten pairs, or all differ by the same, resampling says
    nothing, and the number of pairs stands there.

    :param system: share by task or question; those of the reference are the same.
    :param stratum: name from which the resamples are drawn; the same one gives the same interval.
    :raises KeyError: when the two have not the same tasks.
    """
    gains = [system[each] - reference[each] for each in sorted(system.keys() | reference.keys())]
    mean = f"{100 * fmean(gains):+.0f} points"
    if len(gains) < _LEAST_PAIRS or len(set(gains)) == 1:
        return f"{mean} (n = {len(gains)})"
    means = resampled_means(np.array([gains], dtype=np.float32).T, resamples=_RESAMPLES, seed=7, stratum=stratum)
    low, high = (float(each[0]) for each in interval(means))
    return f"{mean} ({100 * low:+.0f} to {100 * high:+.0f})"


def ratio_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of a benchmark's ratios, as :class:`scripts.account.ratio.Ratio` has them."""
    return markdown_table(
        ("ratio", "measured", "bound", ""),
        (
            (
                each["name"] + (f" ({each['note']})" if each["note"] else ""),
                f"{each['above'] / each['below']:.2f}",
                f"{'≥' if each['at_least'] else '≤'} {each['most']:g}",
                "met" if each["met"] else "**missed**",
            )
            for each in rows
        ),
    )
