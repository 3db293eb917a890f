"""A short fit of weights, for examples of pages that fit some."""

from __future__ import annotations

import pytest

from eval.tuning import fit


def few_folds(patch: pytest.MonkeyPatch) -> None:
    """Fit as always, but over few folds, in less time: tests/eval/tuning is about the fitting."""
    for name, value in {"_OUTER": 2, "_INNER": 2}.items():
        patch.setattr(fit, name, value)
