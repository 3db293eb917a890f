"""What paths and requests cost beside encoding the catalogue's inputs once; all within one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from datagen.catalogue import Catalogue
from datagen.paths.path_sampler import FoundPaths, find_paths
from datagen.paths.pp_graph import build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence
from datagen.synthetic_request import CLASSES
from inference.arrays import Floats2d
from inference.encoder import Encoder
from ontology.ontology import load_ontology
from ontology.tool import Tool

__all__ = ["DatagenTimes", "measure_datagen", "table_of"]

PATHS_A_CLASS = 200
REQUESTS_PER_S = 500
_WORDED = 600

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class DatagenTimes:
    """What was measured of one catalogue.

    :param seconds: step → seconds; those of the P-P graph without encoding.
    :param encoding_s: encoding each distinct input once.
    :param requests_per_s: worded by rules, one thread; ``worded`` of them came of ``asked``.
    """

    tools: int
    inputs: int
    seconds: dict[str, float]
    encoding_s: float
    rp_edges: int
    pp_edges: int
    paths: int
    requests_per_s: float
    asked: int
    worded: int

    @property
    def paths_s(self) -> float:
        """Everything up to the paths, without encoding."""
        return sum(self.seconds.values())

    @property
    def met(self) -> bool:
        """Whether paths cost no more than encoding, and wording keeps its pace."""
        return self.paths_s <= self.encoding_s and self.requests_per_s >= REQUESTS_PER_S

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {**asdict(self), "paths_s": self.paths_s, "met": self.met}


class _Timed:
    """An encoder that notes how long it took, and how much it was given."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dimensions = encoder.name, encoder.dimensions
        self.seconds, self.texts = 0.0, 0

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """As the encoder does."""
        start = time.perf_counter()
        rows = self._encoder.encode(texts)
        self.seconds += time.perf_counter() - start
        self.texts += len(texts)
        return rows


def measure_datagen(tools: Sequence[Tool], encoder: Encoder) -> DatagenTimes:
    """Time each step up to the paths, and wording, over these tools."""
    catalogue = Catalogue(snapshot_id="", tools=tuple(tools), ontology=load_ontology())
    timed, seconds = _Timed(encoder), dict[str, float]()
    _step(seconds, "profiles", lambda: catalogue.profiles)
    outputs = _step(seconds, "outputs", lambda: RulesOutputs(catalogue).find())
    rp = _step(seconds, "R-P graph", lambda: build_rp_graph(catalogue, outputs))
    pp = _step(seconds, "P-P graph", lambda: build_pp_graph(catalogue, timed))
    seconds["P-P graph"] -= timed.seconds
    wanted = dict.fromkeys(CLASSES, PATHS_A_CLASS)
    found = _step(
        seconds,
        "sequence and paths",
        lambda: find_paths(catalogue, rp, pp.links, RulesSequence(catalogue, rp), wanted=wanted),
    )
    asked, worded, rate = _wording(catalogue, found)
    return DatagenTimes(
        tools=len(catalogue.tools), inputs=timed.texts, seconds=seconds, encoding_s=timed.seconds, rp_edges=len(rp),
        pp_edges=len(pp.links), paths=sum(map(len, found.by_class.values())), requests_per_s=rate, asked=asked, worded=worded,
    )  # fmt: skip


def table_of(times: DatagenTimes) -> str:
    """The figures as a Markdown table."""
    rows = [(name, f"{seconds:.2f} s") for name, seconds in times.seconds.items()]
    rows += [
        ("**up to the paths**", f"**{times.paths_s:.2f} s**"),
        (f"encoding {times.inputs:,} distinct inputs once", f"{times.encoding_s:.2f} s"),
        ("paths, of encoding", f"{times.paths_s / times.encoding_s:.2f}" if times.encoding_s else "–"),
        ("R-P edges; P-P edges; paths", f"{times.rp_edges:,}; {times.pp_edges:,}; {times.paths:,}"),
        ("requests worded by rules", f"{times.requests_per_s:,.0f}/s ({times.worded:,} of {times.asked:,})"),
    ]
    return "\n".join([f"| {times.tools:,} tools | |", "|---|---:|", *(f"| {name} | {said} |" for name, said in rows)])


def _step(seconds: dict[str, float], name: str, make: Callable[[], Result]) -> Result:
    start = time.perf_counter()
    result = make()
    seconds[name] = time.perf_counter() - start
    return result


def _wording(catalogue: Catalogue, found: FoundPaths) -> tuple[int, int, float]:
    """How many requests were asked for, how many were worded, and how many of these a second; reading tools counts too."""
    from datagen.generation.rules_generator import RulesGenerator
    from datagen.seams import Draft

    generator = RulesGenerator(catalogue)
    share = _WORDED // len(CLASSES)
    jobs = [(name, path) for name, paths in found.by_class.items() for path in paths[:share]]
    if not jobs:
        return 0, 0, 0.0
    generator.generate(jobs[0][1], jobs[0][0], seed=0)  # loads the lexicon
    start = time.perf_counter()
    drafts = [generator.generate(path, name, seed=seed) for seed, (name, path) in enumerate(jobs)]
    elapsed = time.perf_counter() - start
    worded = sum(isinstance(draft, Draft) for draft in drafts)
    return len(jobs), worded, worded / elapsed
