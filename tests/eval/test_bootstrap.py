"""The paired bootstrap: intervals that cover, pairs that help, and draws that depend on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eval.metrics import check, interval, p_value, resampled_means
from ontology.errors import InvalidArgumentError


def _bernoulli(share: float, rows: int, seed: int) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).random(rows) < share).astype(np.float32)


def _means(*columns: NDArray[np.float32], resamples: int = 2_000, stratum: str = "set") -> NDArray[np.float32]:
    return resampled_means(np.stack(columns, axis=1), resamples=resamples, seed=0, stratum=stratum)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """300 samples of 120 requests; a share covered near .95 has a standard error of .0126."""
    covered = 0
    for sample in range(300):
        low, high = interval(_means(_bernoulli(0.6, 120, seed=sample), resamples=400, stratum=str(sample)))
        covered += int(low[0] <= 0.6 <= high[0])
    assert 0.90 <= covered / 300 <= 0.985


@pytest.mark.parametrize("draws", [1, 2, 3, 41, 1_000])
def test_the_ends_of_an_interval_are_the_quantiles_of_numpy_to_the_last_bit(draws: int) -> None:
    random = np.random.Generator(np.random.PCG64(draws))
    several_CB = np.stack(
        [random.normal(size=draws), random.integers(0, 3, draws) / 2, random.integers(0, 90, draws) / 7]
    )
    means_CB = several_CB.astype(np.float32)
    expected = np.quantile(means_CB, [0.025, 0.975], axis=1).astype(np.float32)
    assert np.array_equal(np.stack(interval(means_CB)), expected)


def test_p_values() -> None:
    base = _bernoulli(0.5, 400, seed=1)
    clearly = np.maximum(base, _bernoulli(0.2, 400, seed=2))
    as_good_on_others = base[::-1]
    means = _means(base, base, clearly, as_good_on_others, resamples=2_000)
    p = p_value(means - means[0])
    assert p[0] == p[1] == 1
    assert p[2] == pytest.approx(2 / 2_001)  # no draw against it: as small as so many draws can say
    assert p[2] == p_value(means[0] - means[2:3])[0]  # two-sided
    assert p[3] > 0.5


@pytest.mark.parametrize(("resamples", "seed", "subject"), [(0, 0, "resamples"), (10, -1, "seed")])
def test_what_cannot_be_drawn_is_refused(resamples: int, seed: int, subject: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        check(resamples=resamples, seed=seed)
    assert caught.value.subject == subject
