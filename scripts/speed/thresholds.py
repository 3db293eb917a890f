"""The thresholds of the figures: each a ratio within one run, or a bound that no machine should miss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from scripts.speed.probe import PRESETS, RECALL_K
from scripts.speed.speed_results import InProcess, MeasuredSize, Memory, Point, SpeedResults

__all__ = ["Verdict", "verdicts"]

_TEXT_STAGES = ("encode", "rank")  # no part of the graph's cost
_LARGE = 40_000  # tools from which on memory and loading have a threshold
_BYTES_A_TOOL = 8_000
_PRIVATE_A_TOOL = 4_000  # half of it: the rest are file pages, which servers share and the system can drop
_RECALL = 0.98
_LOAD_S = 2.0
_OVERHEAD = 1.5
_HALF_LOAD = 2.0
_GROWTH = 2.0
_KEPT = 0.7
_QUEUED = 1.5
_NEEDS_CPU, _NEEDS_MS = 2.5, 2.0


class Verdict(NamedTuple):
    """Whether one threshold is met by one size, or by one preset at one size.

    :param threshold: in words, with its figure.
    :param of: what was measured: a preset, a size, or both.
    :param measured: the figure, as it is shown.
    """

    threshold: str
    of: str
    measured: str
    met: bool


def verdicts(results: SpeedResults) -> list[Verdict]:
    """Every threshold over every size and preset, threshold by threshold."""
    sizes = results.sizes
    first, last = sizes[0], sizes[-1]
    found = [verdict for size in sizes for verdict in _building(size)]
    found += [verdict for size in sizes for verdict in _needs(size)]
    found += _graph_cost(first, last)
    found += [verdict for preset in PRESETS for size in sizes for verdict in _serving(size, preset, results.places)]
    if last.tools > first.tools:
        found += _growth(first, last)
    if last.tools >= _LARGE:
        found += _large(last, results.floor)
    places = {verdict.threshold: place for place, verdict in reversed(list(enumerate(found)))}
    return sorted(found, key=lambda verdict: places[verdict.threshold])


def _building(size: MeasuredSize) -> Iterator[Verdict]:
    embedding = size.build.seconds["encode"]
    rest = sum(size.build.seconds.values()) - embedding
    words = "building takes no longer beside embedding than embedding does"
    yield Verdict(words, _named(size), f"{rest:.1f} and {embedding:.1f} s", rest <= embedding)
    recall = size.in_process.recall
    words = f"recall@{RECALL_K} of the index against exact search is at least {_RECALL}"
    yield Verdict(words, _named(size), f"{recall:.4f}", recall >= _RECALL)


def _needs(size: MeasuredSize) -> Iterator[Verdict]:
    words = f"in process: eight needs take at most {_NEEDS_CPU} x the processor time of the same words as one request"
    times = size.in_process.needs_cpu[8]
    yield Verdict(words, _named(size), f"{times:.2f}", times <= _NEEDS_CPU)
    if size.tools >= _LARGE:
        words = (
            f"in process: four needs take at most {_NEEDS_MS:g} x the time of the same words as one request, medians"
        )
        needs_ms, request_ms = size.in_process.needs_ms[4], size.in_process.words_ms[4]
        yield Verdict(
            words, _named(size), f"{needs_ms:.1f} and {request_ms:.1f} ms", needs_ms <= _NEEDS_MS * request_ms
        )


def _graph_cost(first: MeasuredSize, last: MeasuredSize) -> Iterator[Verdict]:
    encode = first.in_process.median_ms["paper"]["encode"]
    for preset in PRESETS:
        for size, share in ((first, 0.5), (last, 1.0)):
            spent = _graph_ms(size.in_process, preset)
            words = f"in process, {_named(size)}: all but encoding and ranking takes at most {share:g} x the encoding"
            yield Verdict(words, preset, f"{spent:.2f} of {encode:.2f} ms", spent <= share * encode)


def _graph_ms(figures: InProcess, preset: str) -> float:
    """Median milliseconds of every stage but encoding the request and ranking the candidates."""
    return sum(ms for stage, ms in figures.median_ms[preset].items() if stage not in (*_TEXT_STAGES, "total"))


def _serving(size: MeasuredSize, preset: str, places: int) -> Iterator[Verdict]:
    serving, of = size.serving, f"{preset} {size.tools:,}"
    overhead = serving.overhead(preset)
    words = f"a round trip takes at most {_OVERHEAD} x the retrieval, one caller"
    yield Verdict(words, of, f"{overhead:.2f}", overhead <= _OVERHEAD)
    for point in serving.loop(preset, "open"):
        if point.load == 0.5:
            yield _half_load(of, point, _p95(serving.one_caller(preset)))
        elif point.load > 1:
            yield from _overload(of, point, serving.peak(preset), places)


def _half_load(of: str, point: Point, one_caller_ms: float) -> Verdict:
    times, refused = _p95(point) / one_caller_ms, sum(point.refused.values())
    words = f"at half load the p95 is at most {_HALF_LOAD} x that of one caller, and nothing is refused"
    measured = f"{times:.2f}" + (f", {refused} refused" if refused else "")
    return Verdict(words, of, measured, times <= _HALF_LOAD and not refused)


def _overload(of: str, point: Point, peak: float, places: int) -> Iterator[Verdict]:
    load = f"at {point.load:.0%} load"
    kept = point.answered_per_s / peak
    yield Verdict(f"{load} at least {_KEPT:.0%} of the peak is answered", of, f"{kept:.0%}", kept >= _KEPT)
    others = sorted(set(point.refused) - {"RESOURCE_EXHAUSTED"})
    measured = f"{sum(point.refused.values())} refused" + (f", some with {', '.join(others)}" if others else "")
    yield Verdict(f"{load} the rest is refused with RESOURCE_EXHAUSTED and nothing else", of, measured, not others)
    # Little's law: as many as find a place, at the rate at which they leave it.
    times = _p95(point) / (places / max(point.answered_per_s, 1e-9) * 1e3)
    words = f"{load} the p95 is at most {_QUEUED} x the time that a full queue takes"
    yield Verdict(words, of, f"{times:.2f}", times <= _QUEUED)


def _p95(point: Point) -> float:
    return math.inf if point.p95_ms is None else point.p95_ms


def _growth(first: MeasuredSize, last: MeasuredSize) -> Iterator[Verdict]:
    more = last.tools / first.tools
    for preset in PRESETS:
        growth = _graph_ms(last.in_process, preset) / _graph_ms(first.in_process, preset)
        words = f"in process, all but encoding and ranking grows less than the tools, {more:.1f} x"
        yield Verdict(words, preset, f"{growth:.2f} x", growth < more)
        spent = [size.serving.one_caller(preset).server_cpu_ms or math.inf for size in (first, last)]
        growth = spent[1] / spent[0]
        words = f"the processor time of an answer over gRPC grows at most {_GROWTH} x for {more:.1f} x the tools"
        yield Verdict(words, preset, f"{growth:.2f} x", growth <= _GROWTH)


def _large(size: MeasuredSize, floor: Memory) -> Iterator[Verdict]:
    of = _named(size)
    beyond = size.in_process.resident_bytes / size.tools
    words = f"in process: at most {_BYTES_A_TOOL:,} bytes of memory a tool beyond code and models"
    yield Verdict(words, of, f"{beyond:,.0f}", beyond <= _BYTES_A_TOOL)
    own = (size.serving.memory.private - floor.private) / size.tools
    words = f"a server: at most {_PRIVATE_A_TOOL:,} bytes a tool of memory that no file backs, beyond code and models"
    yield Verdict(words, of, f"{own:,.0f}", own <= _PRIVATE_A_TOOL)
    load_s = size.in_process.load_s
    words = f"a snapshot loads in at most {_LOAD_S:g} s, every file hashed"
    yield Verdict(words, of, f"{load_s:.2f} s", load_s <= _LOAD_S)


def _named(size: MeasuredSize) -> str:
    return f"{size.tools:,} tools"
