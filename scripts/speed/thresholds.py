"""The bars: what the figures are held to, each a ratio within one run, or a bound that no machine should miss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.speed.probe import PRESETS, RECALL_K
from scripts.speed.result_rows import Row, alone, overhead, peak, points

__all__ = ["Verdict", "bars"]

_TEXT_STAGES = ("encode", "rank")  # what the bars of the graph's cost leave out
_LARGE = 40_000  # tools from which on the bars of memory and loading are meant
_BYTES_A_TOOL = 8_000
_PRIVATE_A_TOOL = 4_000  # half of it: the rest are file pages, which servers share and the system can drop
_RECALL = 0.98
_LOAD_S = 2.0
_OVERHEAD = 1.5
_HALF_LOAD = 2.0
_GROWTH = 2.0
_KEPT = 0.7
_QUEUED = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether one bar is met by one size, or by one preset at one size.

    :param bar: what is demanded.
    :param of: what was measured: a preset, a size, or both.
    :param measured: the figure, as it is shown.
    """

    bar: str
    of: str
    measured: str
    met: bool


def bars(results: Mapping[str, Any]) -> list[Verdict]:
    """Every bar over every size and preset, bar by bar."""
    rows = results["rows"]
    verdicts = [verdict for row in rows for verdict in _building(row)]
    verdicts += _graph_cost(rows[0], rows[-1])
    verdicts += [verdict for preset in PRESETS for row in rows for verdict in _serving(row, preset, results["places"])]
    verdicts += _growth(rows[0], rows[-1])
    if rows[-1]["tools"] >= _LARGE:
        verdicts += _large(rows[-1], results["floor"])
    places = {verdict.bar: place for place, verdict in reversed(list(enumerate(verdicts)))}
    return sorted(verdicts, key=lambda verdict: places[verdict.bar])


def _building(row: Row) -> Iterator[Verdict]:
    of = _size(row)
    pipeline = sum(spent for stage, spent in row["seconds"].items() if stage != "encode")
    embedding = row["seconds"]["encode"]
    yield Verdict(
        bar="building takes no longer beside embedding than embedding does",
        of=of,
        measured=f"{pipeline:.1f} and {embedding:.1f} s",
        met=pipeline <= embedding,
    )
    yield Verdict(
        bar=f"recall@{RECALL_K} of the index against exact search is at least {_RECALL}",
        of=of,
        measured=f"{row['recall']:.4f}",
        met=row["recall"] >= _RECALL,
    )


def _graph_cost(first: Row, last: Row) -> Iterator[Verdict]:
    encode = first["median_ms"]["paper"]["encode"]
    for preset in PRESETS:
        for row, share in ((first, 0.5), (last, 1.0)):
            spent = _graph_ms(row, preset)
            yield Verdict(
                bar=f"in process, {_size(row)}: all but encoding and ranking takes at most {share:g} x the encoding",
                of=preset,
                measured=f"{spent:.2f} of {encode:.2f} ms",
                met=spent <= share * encode,
            )


def _graph_ms(row: Row, preset: str) -> float:
    """Median milliseconds of every stage but encoding the request and ranking the candidates."""
    stages: Mapping[str, float] = row["median_ms"][preset]
    return sum(spent for stage, spent in stages.items() if stage not in (*_TEXT_STAGES, "total"))


def _serving(row: Row, preset: str, places: int) -> Iterator[Verdict]:
    of, times = f"{preset} {row['tools']:,}", overhead(row, preset)
    yield Verdict(
        bar=f"a round trip takes at most {_OVERHEAD} x the retrieval, one caller",
        of=of,
        measured=f"{times:.2f}",
        met=times <= _OVERHEAD,
    )
    alone_ms, best = alone(row, preset)["p95_ms"], peak(row, preset)
    for point in points(row, preset, "open"):
        if point["load"] == 0.5:
            times, refused = (point["p95_ms"] or math.inf) / alone_ms, sum(point["refused"].values())
            yield Verdict(
                bar=f"at half load the p95 is at most {_HALF_LOAD} x that of one caller, and nothing is refused",
                of=of,
                measured=f"{times:.2f}" + (f", {refused} refused" if refused else ""),
                met=times <= _HALF_LOAD and not refused,
            )
        elif point["load"] > 1:
            yield from _overload(of, point, best, places)


def _overload(of: str, point: Mapping[str, Any], best: float, places: int) -> Iterator[Verdict]:
    load = f"at {point['load']:.0%} load"
    kept, codes = point["answered_per_s"] / best, set(point["refused"])
    refused, others = sum(point["refused"].values()), sorted(codes - {"RESOURCE_EXHAUSTED"})
    yield Verdict(
        bar=f"{load} at least {_KEPT:.0%} of the peak is answered", of=of, measured=f"{kept:.0%}", met=kept >= _KEPT
    )
    yield Verdict(
        bar=f"{load} the rest is refused with RESOURCE_EXHAUSTED and nothing else",
        of=of,
        measured=f"{refused} refused" + (f", some with {', '.join(others)}" if others else ""),
        met=not others,
    )
    # Little: as many as find a place, at the rate at which they leave it.
    longest_ms = places / max(point["answered_per_s"], 1e-9) * 1e3
    times = (point["p95_ms"] or math.inf) / longest_ms
    yield Verdict(
        bar=f"{load} the p95 is at most {_QUEUED} x the time that a full queue takes",
        of=of,
        measured=f"{times:.2f}",
        met=times <= _QUEUED,
    )


def _growth(first: Row, last: Row) -> Iterator[Verdict]:
    if last["tools"] <= first["tools"]:
        return
    more = last["tools"] / first["tools"]
    linear = f"in process, all but encoding and ranking grows less than the tools, {more:.1f} x"
    bounded = f"the processor time of an answer over gRPC grows at most {_GROWTH} x for {more:.1f} x the tools"
    for preset in PRESETS:
        growth = _graph_ms(last, preset) / _graph_ms(first, preset)
        yield Verdict(bar=linear, of=preset, measured=f"{growth:.2f} x", met=growth < more)
        growth = alone(last, preset)["server_cpu_ms"] / alone(first, preset)["server_cpu_ms"]
        yield Verdict(bar=bounded, of=preset, measured=f"{growth:.2f} x", met=growth <= _GROWTH)


def _large(row: Row, floor: Mapping[str, Any]) -> Iterator[Verdict]:
    of = _size(row)
    beyond = row["resident_bytes"] / row["tools"]
    yield Verdict(
        bar=f"in process: at most {_BYTES_A_TOOL:,} bytes of memory a tool beyond code and models",
        of=of,
        measured=f"{beyond:,.0f}",
        met=beyond <= _BYTES_A_TOOL,
    )
    own = (row["serving"]["memory"]["private"] - floor["memory"]["private"]) / row["tools"]
    yield Verdict(
        bar=f"a server: at most {_PRIVATE_A_TOOL:,} bytes a tool of memory that no file backs, beyond code and models",
        of=of,
        measured=f"{own:,.0f}",
        met=own <= _PRIVATE_A_TOOL,
    )
    yield Verdict(
        bar=f"a snapshot loads in at most {_LOAD_S:g} s, every file hashed",
        of=of,
        measured=f"{row['load_s']:.2f} s",
        met=row["load_s"] <= _LOAD_S,
    )


def _size(row: Row) -> str:
    return f"{row['tools']:,} tools"
