"""What one run measured: typed values, kept as ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ontology.errors import NotFoundError
from ontology.files import write_file

__all__ = [
    "Build",
    "InProcess",
    "MeasuredSize",
    "Memory",
    "Point",
    "Serving",
    "SpeedResults",
    "read_results",
    "write_results",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A snapshot, and what building it took.

    :param tools_sha256: SHA-256 (hex) of the tools, by which a later run knows them.
    :param seconds: stage of the build → seconds; ``encode`` is the embedding.
    :param reused: whether an earlier run built it.
    """

    tools: int
    tools_sha256: str
    snapshot_id: str
    nodes: int
    edges: int
    build_s: float
    seconds: Mapping[str, float]
    reused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess:
    """A snapshot measured in one process.

    :param resident_bytes: resident memory that loading and asking added to code and models.
    :param recall: share of the exact nearest nodes that the index finds, in [0, 1].
    :param median_ms: preset → stage → milliseconds; ``p95_ms`` likewise.
    :param needs_cpu: number of needs → their processor time as a multiple of that of the same words as one request; ``default``, with reasons.
    :param needs_ms: number of needs → median milliseconds; ``words_ms``: of the same words as one request.
    """

    load_s: float
    resident_bytes: int
    snapshot_bytes: int
    recall: float
    median_ms: Mapping[str, Mapping[str, float]]
    p95_ms: Mapping[str, Mapping[str, float]]
    needs_cpu: Mapping[int, float]
    needs_ms: Mapping[int, float]
    words_ms: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes that a process holds.

    :param rss: resident pages; a page that other processes hold too counts whole. ``peak_rss``: the most it ever was.
    :param pss: resident pages; a shared page counts for its share.
    :param mapped_rss: of these the files of the snapshot: pages that the system can drop and read again, and that every
        server of the same snapshot shares; ``mapped_pss`` likewise.
    :param private: pages that no file backs: the heap of Python, the weights, arrays made at load.
    """

    rss: int
    pss: int
    mapped_rss: int
    mapped_pss: int
    private: int
    peak_rss: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One load and its result. Milliseconds are of answered calls; None where there were none.

    :param loop: ``closed`` or ``open``.
    :param callers: of the closed loop; 0 for an open one.
    :param load: rate of arrivals as a share of the closed loop's peak; 0 for a closed one.
    :param offered_per_s: calls that were due in the measured time, a second.
    :param answered_per_s: answers that came in the measured time, a second: throughput and goodput.
    :param p50_ms: from the moment a call was due to its answer; ``p95_ms``, ``p99_ms`` likewise.
    :param late_p95_ms: from the moment a call was due to the moment the client sent it; part of the latency.
    :param refused: status code → calls.
    :param stages_ms: stage → median, as the answers report it; with ``queue``, ``total`` and ``rest``, which is the latency
        that no stage explains: encoding and decoding of messages, gRPC, this client.
    :param server_cpu_ms: processor time of the server for an answer; of this client: ``client_cpu_ms``.
    :param others: share of the processors' time that other programs used, in [0, 1]: where it is not near 0 the machine
        was shared, and so were the times.
    """

    loop: str
    callers: int = 0
    load: float = 0.0
    offered_per_s: float
    answered_per_s: float
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    late_p95_ms: float | None
    refused: Mapping[str, int]
    stages_ms: Mapping[str, float]
    server_cpu_ms: float | None = None
    client_cpu_ms: float | None = None
    others: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A snapshot measured over gRPC.

    :param ready_s: from the start of the server to its first health.
    :param memory: of the server after all loads.
    :param points: preset → its loads, closed loops first.
    """

    snapshot_id: str
    ready_s: float
    memory: Memory
    points: Mapping[str, tuple[Point, ...]]

    def loop(self, preset: str, loop: str) -> list[Point]:
        """The loads of one preset in ``closed`` or ``open`` loops."""
        return [point for point in self.points[preset] if point.loop == loop]

    def one_caller(self, preset: str) -> Point:
        """The closed loop with the fewest callers: one."""
        return min(self.loop(preset, "closed"), key=lambda point: point.callers)

    def peak(self, preset: str) -> float:
        """Answers a second of the best closed loop."""
        return max(point.answered_per_s for point in self.loop(preset, "closed"))

    def overhead(self, preset: str) -> float:
        """The round trip of one caller as a multiple of the retriever's own time; both medians of the same calls."""
        point = self.one_caller(preset)
        return (point.p50_ms or 0.0) / point.stages_ms["total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSize:
    """A catalogue of one size."""

    build: Build
    in_process: InProcess
    serving: Serving

    @property
    def tools(self) -> int:
        """How many."""
        return self.build.tools


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedResults:
    """A run.

    :param processors: that client and server share.
    :param places: requests that the server admits at once, at work or waiting.
    :param seconds: measured time of each load.
    :param queries: set → requests of it.
    :param floor_tools: tools of the smallest server, which holds code and models and next to nothing else.
    :param floor: its memory.
    :param sizes: ascending.
    :param measured: with which commit, when, and with which encoder.
    """

    processors: int
    python: str
    places: int
    seconds: float
    queries: Mapping[str, int]
    floor_tools: int
    floor: Memory
    sizes: tuple[MeasuredSize, ...]
    measured: str = ""


_RESULTS = TypeAdapter(SpeedResults)


def write_results(path: Path, results: SpeedResults) -> None:
    """Keep a run."""
    write_file(path, _RESULTS.dump_json(results, indent=1).decode() + "\n")


def read_results(path: Path) -> SpeedResults:
    """The run that was kept.

    :raises NotFoundError: when there is none, or one of another form.
    """
    try:
        return _RESULTS.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise NotFoundError(
            "nothing was measured yet", subject=str(path), remedy="Run it without --no-measure"
        ) from error
