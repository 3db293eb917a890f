"""Z-scores: one row alone has the same bits as among others, so that weights are tried as they will rank."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from retrieval.ranking.z_scores import standardise

_values = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 1.0, 1e-30])


@settings(max_examples=100)
@given(arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 200)), elements=_values, fill=_values))
def test_a_row_alone_is_standardised_as_among_others(rows: np.ndarray) -> None:
    together = standardise(rows)
    assert together.dtype == np.float32
    assert [standardise(row).tobytes() for row in rows] == [row.tobytes() for row in together]


def test_equal_values_have_no_spread_and_others_have_mean_0_and_deviation_1() -> None:
    assert standardise(np.full(5, 3.3, dtype=np.float32)).tolist() == [0.0] * 5
    z_scores = standardise(np.array([1.0, 2.0, 6.0], dtype=np.float32))
    assert abs(float(z_scores.mean())) < 1e-6 and abs(float(z_scores.std()) - 1) < 1e-6
