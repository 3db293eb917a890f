"""16-bit floats as 32-bit ones: the same numbers as NumPy gives, for every finite one."""

from __future__ import annotations

import numpy as np

from retrieval.index.half_floats import as_float32


def test_every_finite_number_is_the_same() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    assert as_float32(finite).tobytes() == finite.astype(np.float32).tobytes()


def test_the_shape_stays_and_the_given_numbers_too() -> None:
    halves_ND = np.linspace(-1, 1, 12).astype(np.float16).reshape(3, 4)
    before = halves_ND.copy()
    floats_ND = as_float32(halves_ND)
    assert floats_ND.shape == (3, 4)
    assert floats_ND.dtype == np.float32
    assert as_float32(halves_ND[:0]).shape == (0, 4)
    np.testing.assert_array_equal(halves_ND, before)
