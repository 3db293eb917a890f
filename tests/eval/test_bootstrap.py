"""The paired bootstrap: intervals that cover, pairs that help, and draws that depend on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eval import bootstrap
from eval.bootstrap import check, interval, p_value, resampled_means
from ontology.errors import InvalidArgumentError


def _bernoulli(share: float, rows: int, seed: int) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).random(rows) < share).astype(np.float32)


def _means(*columns: NDArray[np.float32], resamples: int = 2_000, stratum: str = "set") -> NDArray[np.float32]:
    return resampled_means(np.stack(columns, axis=1), resamples=resamples, seed=0, stratum=stratum)


def test_draws_are_means_of_as_many_rows_with_replacement() -> None:
    """Of the rows 0 and 1, a draw has the mean 0, 1/2 or 1 with the chances 1/4, 1/2 and 1/4."""
    means = _means(np.array([0, 1], dtype=np.float32), resamples=20_000)
    values, counts = np.unique(means, return_counts=True)
    assert values.tolist() == [0, 0.5, 1]
    assert counts / 20_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.015)  # five standard errors


def test_all_columns_are_averaged_over_the_same_draws() -> None:
    column = _bernoulli(0.4, 50, seed=1)
    means = _means(column, column, 1 - column)
    assert np.array_equal(means[0], means[1])
    assert means[0] + means[2] == pytest.approx(1, abs=1e-6)


def test_the_draws_are_the_seeds_and_the_stratums() -> None:
    column = _bernoulli(0.5, 80, seed=1)
    first = _means(column)
    assert np.array_equal(first, _means(column))
    assert np.array_equal(first[0], _means(column, 1 - column)[0])
    assert not np.array_equal(first, _means(column, stratum="another"))
    other_seed = resampled_means(column[:, None], resamples=2_000, seed=1, stratum="set")
    assert not np.array_equal(first, other_seed)


def test_drawing_in_many_parts_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    column = _bernoulli(0.5, 37, seed=1)
    whole = _means(column)
    monkeypatch.setattr(bootstrap, "_DRAWS_AT_ONCE", 1_000)
    assert np.array_equal(whole, _means(column))
    monkeypatch.setattr(bootstrap, "_DRAWS_AT_ONCE", 1)
    assert np.array_equal(whole, _means(column))


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """300 samples of 120 requests; a share covered near .95 has a standard error of .0126."""
    covered = 0
    for sample in range(300):
        low, high = interval(_means(_bernoulli(0.6, 120, seed=sample), resamples=400, stratum=str(sample)))
        covered += int(low[0] <= 0.6 <= high[0])
    assert 0.90 <= covered / 300 <= 0.985


def test_the_interval_agrees_with_the_normal_one_where_that_holds() -> None:
    column = _bernoulli(0.5, 1_000, seed=3)
    low, high = interval(_means(column, resamples=10_000))
    error = 1.96 * column.std() / np.sqrt(len(column))
    assert [low[0], high[0]] == pytest.approx([column.mean() - error, column.mean() + error], abs=0.002)


@pytest.mark.parametrize("draws", [1, 2, 3, 41, 1_000])
def test_the_ends_of_an_interval_are_the_quantiles_of_numpy_to_the_last_bit(draws: int) -> None:
    random = np.random.Generator(np.random.PCG64(draws))
    several_CB = np.stack(
        [random.normal(size=draws), random.integers(0, 3, draws) / 2, random.integers(0, 90, draws) / 7]
    )
    means_CB = several_CB.astype(np.float32)
    expected = np.quantile(means_CB, [0.025, 0.975], axis=1).astype(np.float32)
    assert np.array_equal(np.stack(interval(means_CB)), expected)


def test_one_request_and_constant_requests_have_an_interval_without_width() -> None:
    for column in (np.array([0.3], dtype=np.float32), np.full(40, 0.3, dtype=np.float32)):
        low, high = interval(_means(column))
        assert [low[0], high[0]] == pytest.approx([0.3, 0.3], abs=1e-6)


def test_paired_intervals_are_narrower_where_requests_are_hard_for_both() -> None:
    base = _bernoulli(0.5, 400, seed=1)
    better = np.maximum(base, _bernoulli(0.05, 400, seed=2))
    paired = _means(base, better)
    apart = _means(better, stratum="other requests")
    low, high = interval(np.stack([paired[1] - paired[0], apart[0] - paired[0]]))
    widths = high - low
    assert widths[0] < 0.5 * widths[1]
    assert low[0] > 0 > low[1]  # only the pairs show it


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


def test_a_p_value_below_5_percent_is_an_interval_without_0() -> None:
    rng = np.random.default_rng(5)
    differences = rng.normal(np.linspace(-0.1, 0.1, 81)[:, None], 0.03, size=(81, 4_001)).astype(np.float32)
    low, high = interval(differences)
    clear = (low > 0) | (high < 0)
    p = p_value(differences)
    assert clear.any()
    assert not clear.all()
    near = np.abs(p - 0.05) < 0.005  # the +1 and the interpolation of percentiles
    assert np.array_equal((p < 0.05)[~near], clear[~near])


def test_false_alarms_are_about_as_rare_as_they_should_be() -> None:
    """Two systems that are as good as each other, 300 times: p below .05 in about 5 %."""
    alarms = 0
    for sample in range(300):
        means = _means(_bernoulli(0.5, 150, seed=2 * sample), _bernoulli(0.5, 150, seed=2 * sample + 1), resamples=400)
        alarms += int(p_value(means[1:] - means[0])[0] < 0.05)
    assert 0.01 <= alarms / 300 <= 0.10


@pytest.mark.parametrize(("resamples", "seed", "subject"), [(0, 0, "resamples"), (10, -1, "seed")])
def test_what_cannot_be_drawn_is_refused(resamples: int, seed: int, subject: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        check(resamples=resamples, seed=seed)
    assert caught.value.subject == subject
