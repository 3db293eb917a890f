"""A short fit of weights, for examples of pages that fit some."""

from __future__ import annotations

import math

import pytest

from eval.tuning import fit


def few_folds(patch: pytest.MonkeyPatch) -> None:
    """Fit as always, but over few folds and strengths, in an eighth of the time: tests/eval/tuning is about the fitting."""
    for name, value in {"_OUTER": 2, "_INNER": 2, "_STRENGTHS": (math.inf, 0.003)}.items():
        patch.setattr(fit, name, value)
