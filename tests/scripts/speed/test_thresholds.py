"""Each threshold is met by good figures and missed by bad ones."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.speed.thresholds import verdicts
from tests.scripts.speed.made_up import figures, made_up, results_of


def test_good_figures_meet_every_threshold() -> None:
    found = verdicts(made_up())
    assert [verdict for verdict in found if not verdict.met] == []
    assert len({verdict.threshold for verdict in found}) == 16
    order = [verdict.threshold for verdict in found]
    assert sorted(order, key=order.index) == order  # all of one threshold stand together


POINTS = ("serving", "points", "default")


@pytest.mark.parametrize(
    ("path", "value", "words", "measured"),
    [
        ((0, "build", "seconds", "extract"), 20.0, "beside embedding", "21.0 and 10.0 s"),
        ((1, "in_process", "recall"), 0.97, "recall@10", "0.9700"),
        ((0, "in_process", "median_ms", "paper", "entry"), 3.0, "1,000 tools: all but encoding", "3.75 of 4.00 ms"),
        ((1, "in_process", "median_ms", "default", "ego"), 5.0, "44,000 tools: all but encoding", "6.50 of 4.00 ms"),
        ((0, "in_process", "needs_cpu", "8"), 2.6, "eight needs", "2.60"),
        ((1, "in_process", "needs_ms", "4"), 16.5, "four needs", "16.5 and 8.0 ms"),
        ((1, "in_process", "resident_bytes"), 44_000 * 9_000, "in process: at most 8,000 bytes", "9,000"),
        ((1, "serving", "memory", "private"), 160_000_000 + 44_000 * 4_500, "a server: at most 4,000 bytes", "4,500"),
        ((1, "in_process", "load_s"), 2.5, "loads in at most", "2.50 s"),
        ((0, *POINTS, 0, "p50_ms"), 13.0, "x the retrieval", "1.62"),
        ((0, *POINTS, 2, "p95_ms"), 41.0, "at half load", "2.05"),
        ((0, *POINTS, 2, "p95_ms"), None, "at half load", "inf"),
        ((0, *POINTS, 2, "refused"), {"UNAVAILABLE": 3}, "at half load", "1.20, 3 refused"),
        ((1, *POINTS, 3, "answered_per_s"), 138.0, "at least 70% of the peak", "69%"),
        (
            (1, *POINTS, 3, "refused"),
            {"INTERNAL": 1, "RESOURCE_EXHAUSTED": 9},
            "nothing else",
            "10 refused, some with INTERNAL",
        ),
        ((1, *POINTS, 3, "p95_ms"), 530.0, "a full queue", "1.53"),
        ((1, *POINTS, 0, "server_cpu_ms"), 16.5, "the processor time", "2.06 x"),
    ],
)
def test_each_threshold_can_be_missed(path: tuple[Any, ...], value: Any, words: str, measured: str) -> None:
    made = figures()
    place: Any = made["sizes"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    missed = [verdict for verdict in verdicts(results_of(made)) if not verdict.met]
    assert [(words in verdict.threshold, verdict.measured) for verdict in missed] == [(True, measured)]


def test_growth_faster_than_the_catalogue_misses_its_threshold() -> None:
    made = figures()
    made["sizes"][1]["in_process"]["median_ms"]["paper"]["ego"] = 80.0
    missed = [verdict for verdict in verdicts(results_of(made)) if not verdict.met and verdict.of == "paper"]
    said = {verdict.threshold: verdict.measured for verdict in missed}
    assert said == {
        "in process, 44,000 tools: all but encoding and ranking takes at most 1 x the encoding": "81.50 of 4.00 ms",
        "in process, all but encoding and ranking grows less than the tools, 44.0 x": "65.20 x",
    }


def test_one_small_size_is_held_to_no_growth_and_no_memory() -> None:
    made = figures()
    del made["sizes"][1]
    said = " ".join(verdict.threshold for verdict in verdicts(results_of(made)))
    assert "grow" not in said
    assert "bytes" not in said
