"""The figures of a run: the content of its report."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from datagen.measures import Diversity, Histogram, Leakage, histogram_of, measure_diversity, measure_leakage
from datagen.report.coverage import Coverage, measure_coverage
from datagen.run.make_requests import RunResult
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from inference.encoder import Encoder

__all__ = ["EXAMPLES", "ClassFigures", "GraphFigures", "RunFigures", "figures_of"]

EXAMPLES = 10
"""Number of requests of each class in the report."""
_BINS = 20
_LONG_ID = 4  # characters: a shorter id may be a part of any word
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|‘[^’]*’|\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFigures:
    """The numbers of wanted requests, of paths found and of requests made, for one class."""

    wanted: int
    paths: int
    made: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFigures:
    """The edges between the tools.

    :param rp_pairs: number of pairs of tools with an R-P edge.
    :param pp_compared: number of pairs of tools whose inputs were compared.
    """

    tools_with_outputs: int
    outputs_documented: int
    outputs_inferred: int
    rp_edges: int
    rp_pairs: int
    rp_confidence: Histogram
    pp_edges: int
    pp_compared: int
    pp_threshold: float
    pp_reason: str
    pp_distribution: Histogram


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """All figures; their JSON form is ``report.json``.

    :param by: map from step to the versioned names of its implementations.
    :param stopped: the error that ended the run early, or empty.
    :param gold_set_sizes: number of requests by class and number of tools.
    :param shapes: number of requests by class and shape of the path.
    :param rejected: number of rejections by stage and reason, most frequent first.
    :param examples: map from class to ids of requests.
    """

    snapshot_id: str
    seed: int
    by: Mapping[str, tuple[str, ...]]
    stopped: str
    classes: Mapping[str, ClassFigures]
    gold_set_sizes: Mapping[str, Mapping[str, int]]
    shapes: Mapping[str, Mapping[str, int]]
    graph: GraphFigures
    coverage: Coverage
    diversity: Diversity
    leakage: Leakage
    rejected: Mapping[str, Mapping[str, int]]
    examples: Mapping[str, tuple[str, ...]]

    @property
    def made(self) -> int:
        """Number of requests made."""
        return sum(each.made for each in self.classes.values())

    @property
    def wanted(self) -> int:
        """Number of requests wanted."""
        return sum(each.wanted for each in self.classes.values())


def figures_of(made: RunResult, encoder: Encoder) -> RunFigures:
    """Compute the figures of a run.

    :param encoder: encoder for the comparison of requests.
    """
    requests, catalogue = made.generated.requests, made.catalogue
    counts = _Counts(made.seed)
    for request in requests:
        counts.add(request)
    return RunFigures(
        snapshot_id=catalogue.snapshot_id,
        seed=made.seed,
        by=made.names,
        stopped=str(made.generated.stopped or ""),
        classes={
            name: ClassFigures(wanted=wanted, paths=len(made.paths.by_class.get(name, ())), made=counts.kept[name])
            for name, wanted in made.wanted.items()
        },
        gold_set_sizes={name: dict(sorted(sizes.items())) for name, sizes in counts.sizes.items()},
        shapes={name: dict(sorted(shapes.items())) for name, shapes in counts.shapes.items()},
        graph=_graph(made),
        coverage=measure_coverage(
            catalogue,
            made.rp,
            requests,
            paths=(path for paths in made.paths.by_class.values() for path in paths),
            rejected=made.rejected,
        ),
        diversity=measure_diversity(
            (request.text for request in requests), encoder, vectors=made.generated.vectors.blocks
        ),
        leakage=measure_leakage(
            (request.id, request.text, [catalogue.tool(tool) for tool in request.path.tools]) for request in requests
        ),
        rejected=_rejected(made.rejected),
        examples={name: tuple(id for _, id in counts.examples[name]) for name in made.wanted},
    )


class _Counts:
    """Counts of the requests by class, taken in one pass.

    :ivar examples: for each class the ids with the smallest hashes of seed and id, with these hashes, smallest first.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.kept: Counter[str] = Counter()
        self.sizes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.shapes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.examples: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)

    def add(self, request: SyntheticRequest) -> None:
        """Count a request."""
        name = request.request_class
        self.kept[name] += 1
        self.sizes[name][str(len(request.path.tools))] += 1
        self.shapes[name][request.path.shape] += 1
        rank = hashlib.sha256(f"{self._seed}\n{request.id}".encode()).hexdigest()
        self.examples[name] = sorted([*self.examples[name], (rank, request.id)])[:EXAMPLES]


def _graph(made: RunResult) -> GraphFigures:
    outputs = [output for found in made.outputs.by_tool.values() for output in found]
    documented = sum(output.documented for output in outputs)
    return GraphFigures(
        tools_with_outputs=sum(map(bool, made.outputs.by_tool.values())),
        outputs_documented=documented,
        outputs_inferred=len(outputs) - documented,
        rp_edges=len(made.rp),
        rp_pairs=len(made.rp.pairs),
        rp_confidence=histogram_of([edge.confidence for edge in made.rp], _BINS),
        pp_edges=len(made.pp.links),
        pp_compared=made.pp.compared,
        pp_threshold=round(made.pp.threshold.cosine, 4),
        pp_reason=made.pp.threshold.reason,
        pp_distribution=made.pp.distribution,
    )


def _rejected(rejected: Iterable[RejectedRequest]) -> dict[str, dict[str, int]]:
    """Count rejections by stage and reason; reasons that differ only in names and numbers count as one."""
    counts: dict[str, Counter[str]] = {}
    for one in rejected:
        reason = one.reason
        for tool in sorted(one.subject, key=len, reverse=True):
            reason = reason.replace(tool, "…") if len(tool) >= _LONG_ID else reason
        counts.setdefault(one.stage, Counter())[_QUOTED.sub("…", reason)] += 1
    return {
        stage: dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))) for stage, reasons in counts.items()
    }
