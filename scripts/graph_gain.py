"""How the differences of a comparison are spread over the sets: means without the sets that a rule was found on,
and a test with the set as the unit.

The intervals of the single figures come from drawing requests within given sets. They do not show that a mean rests
on few sets; the sign-flip test does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from eval.summary import Figure, Summary
from scripts.bench_sets import (
    DEPENDENCIES_GIVEN,
    GRAPH_RULE_SETS,
    MACRO_SETS,
    SHIPPED,
    SHIPPED_DEV,
    SHIPPED_GENERATED,
    SHIPPED_TEST,
)

__all__ = ["MeanOverSets", "SetGroups", "leave_one_out", "mean_over_sets", "set_differences", "share_of", "sign_flip_p"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetGroups:
    """The sets of a comparison.

    :param no_rule: sets that no rule of the graph was found on; of the shipped requests only the test half, where the
        halves are known.
    :param rules: sets that one was found on (:data:`~scripts.bench_sets.GRAPH_RULE_SETS`).
    :param in_no_mean: the same requests again with dependencies given, requests that were generated from the graph, and
        the dev half of the shipped requests.
    """

    no_rule: tuple[str, ...]
    rules: tuple[str, ...]
    in_no_mean: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> SetGroups:
        """Sort sets into the groups, in their order."""
        apart = {SHIPPED_GENERATED, SHIPPED_DEV}
        if SHIPPED_TEST in names:
            names = [name for name in names if name != SHIPPED]  # both halves together
        in_no_mean = [name for name in names if name.endswith(DEPENDENCIES_GIVEN) or name in apart]
        counted = [name for name in names if name not in in_no_mean]
        return cls(
            no_rule=tuple(name for name in counted if name not in GRAPH_RULE_SETS),
            rules=tuple(name for name in counted if name in GRAPH_RULE_SETS),
            in_no_mean=tuple(in_no_mean),
        )

    @property
    def published(self) -> tuple[str, ...]:
        """The sets of the published mean."""
        return tuple(name for name in (*self.no_rule, *self.rules) if name in MACRO_SETS)

    @property
    def published_without_rule(self) -> tuple[str, ...]:
        """Those of them that no rule was found on."""
        return tuple(name for name in self.no_rule if name in MACRO_SETS)


@dataclass(frozen=True, slots=True)
class MeanOverSets:
    """The mean of the differences of some sets, each set counting the same, and its p-value with the set as the
    unit.
    """

    value: float
    p: float


def set_differences(summary: Summary, measure: str) -> dict[str, Figure]:
    """Set → the figure of its one difference to the baseline."""
    return {
        one.group: one
        for one in summary.figures
        if (one.scope, one.measure) == ("set", measure) and one.difference is not None
    }


def mean_over_sets(differences: Mapping[str, Figure], names: Sequence[str]) -> MeanOverSets:
    """The mean over these sets."""
    values = [differences[name].difference or 0.0 for name in names]
    return MeanOverSets(sum(values) / len(values), sign_flip_p(values))


def leave_one_out(differences: Mapping[str, Figure], names: Sequence[str]) -> tuple[float, float]:
    """The lowest and the highest mean over all of these sets but one; there are at least two."""
    values = [differences[name].difference or 0.0 for name in names]
    means = [(sum(values) - value) / (len(values) - 1) for value in values]
    return min(means), max(means)


def share_of(differences: Mapping[str, Figure], part: Sequence[str], whole: Sequence[str]) -> float:
    """The share of the sum over ``whole`` that comes from the sets of ``part``."""
    total = sum(differences[name].difference or 0.0 for name in whole)
    return sum(differences[name].difference or 0.0 for name in part) / total


def sign_flip_p(differences: Sequence[float]) -> float:
    """Two-sided p of a mean: the share of all assignments of signs whose mean is as far from 0 or farther; exact.

    Fisher's randomisation test (The Design of Experiments, 1935, section 21). Of n sets it cannot be below 2 / 2^n.
    """
    observed = abs(sum(differences)) - 1e-9
    signs = product((1, -1), repeat=len(differences))
    far = sum(abs(sum(s * d for s, d in zip(one, differences, strict=True))) >= observed for one in signs)
    return float(far / 2 ** len(differences))
