"""The memory row of the soak: a second snapshot during swaps is no growth, and growth is seen through it."""

from __future__ import annotations

import math
import random

import pytest

from scripts.reliability import soak_mixed
from scripts.reliability.soak_mixed import _floors, _judged, _Sample, _slope, _Soak

MIB = 1024 * 1024


def samples(growth_per_hour: float) -> list[_Sample]:
    """Five seconds apart, the second snapshot of 7 MiB in a fifth of them, more often towards the end."""
    chance = random.Random(7)
    found = []
    for at in range(2_400, 7_200, 5):
        swapping = 7.0 * (chance.random() < 0.1 + 0.2 * at / 7_200)
        found.append(_Sample(float(at), int((180 + growth_per_hour * at / 3_600 + swapping) * MIB), 1, 1))
    return found


@pytest.mark.parametrize("growth", [0.0, 2.0])
def test_swaps_are_no_growth_and_growth_is_seen(growth: float) -> None:
    assert _slope(_floors(samples(growth))) == pytest.approx(growth, abs=0.1)


def test_a_short_run_has_no_slope() -> None:
    assert math.isnan(_slope(_floors(samples(2.0)[:3])))


@pytest.mark.parametrize(("seconds", "held"), [(7_200.0, True), (300.0, False)])
def test_a_run_that_is_too_short_to_measure_memory_is_not_held(
    monkeypatch: pytest.MonkeyPatch, seconds: float, held: bool
) -> None:
    monkeypatch.setattr(soak_mixed, "SECONDS", seconds)
    state = _Soak(address="", pids=[], parent=0, shared=())
    state.samples = [_Sample(float(at), 180 * MIB, 1, 1) for at in range(0, int(seconds), 5)]
    state.spent = [(float(at), 0.01) for at in range(int(seconds))]
    state.snapshots.update(["one", "two"])
    assert _judged(state).held is held
