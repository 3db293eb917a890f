"""The queue agrees with what is known in closed form, and the page with the program."""

from __future__ import annotations

import random
from statistics import median

import pytest

from scripts.scale.__main__ import costs, predictions
from scripts.scale.queueing import ServiceTime, simulate
from tests.conftest import ROOT

EXPONENTIAL_MS = 10.0


class _Exponential(ServiceTime):
    """Service times of a queue whose mean wait has a formula."""

    def draw_s(self, chance: random.Random) -> float:
        return chance.expovariate(1e3 / EXPONENTIAL_MS)


def test_one_exponential_worker_has_the_latencies_of_theory() -> None:
    """M/M/1: the time in the system is exponential with the rate of service less that of arrivals."""
    found = simulate(
        _Exponential(median_ms=1, p95_ms=2), rate_per_s=50, together=1, workers=1, queue=10**6, seconds=4_000, seed=3
    )
    assert found.p50_ms == pytest.approx(13.86, rel=0.05)  # ln 2 / (100 - 50) s
    assert found.p95_ms == pytest.approx(59.9, rel=0.05)  # ln 20 / 50 s
    assert found.answers_per_s == pytest.approx(50, rel=0.02)
    assert found.refused == 0


def test_service_times_have_their_quantiles() -> None:
    chance = random.Random(1)
    drawn = sorted(ServiceTime(median_ms=10, p95_ms=24).draw_s(chance) * 1e3 for _ in range(20_000))
    assert median(drawn) == pytest.approx(10, rel=0.03)
    assert drawn[19_000] == pytest.approx(24, rel=0.05)


def test_beyond_the_peak_the_queue_is_full_and_the_rest_is_refused() -> None:
    fixed = ServiceTime(median_ms=10, p95_ms=10)
    found = simulate(fixed, rate_per_s=400, together=0.8, workers=2, queue=64, seconds=20, warm_s=2, seed=5)
    assert found.answers_per_s == pytest.approx(160, rel=0.02)  # two workers at 0.8 of 100/s
    assert found.refused == pytest.approx((400 - 160) * 20, rel=0.1)
    assert found.p50_ms == pytest.approx((64 / 160 + 0.0125) * 1e3, rel=0.05)


def test_the_same_seed_gives_the_same_run() -> None:
    service = ServiceTime(median_ms=10, p95_ms=30)
    runs = [simulate(service, rate_per_s=100, together=0.9, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("made", [costs, predictions])
def test_the_page_has_what_the_program_makes(made: object) -> None:
    assert callable(made)
    assert made() in (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
