"""Systems to measure: retrievers in this process, presets and ablations of the default; and running servers."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from egotools import Client, ClientError, Response
from eval.run import Ranked, System
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError, NotReadyError, SnapshotError, error_from_status
from ontology.files import code_digest
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import BASELINES, DEFAULT_PRESET, FAST_PRESET, make_presets
from retrieval.query.request import Request
from retrieval.ranking.features import FEATURES
from retrieval.ranking.weights import BASELINE_FUSION, FUSION, weights_of
from retrieval.retriever import DEFAULT, RetrievalConfig, Retriever
from retrieval.snapshot.reader import Snapshot

_PREFIX = "grpc:"
_OPENING_S = 10.0  # timeout of the first call, which describes the served snapshot

_PAPER_FOUR = ("semantic", "bm25", "hybrid", "paper")
GROUPS = ("paper-four", "baselines", "ablations", "all")
DEFAULT_SYSTEMS = ("paper-four", "rrf", "fusion", DEFAULT_PRESET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The parts of ``default`` that are switched off."""

    config: RetrievalConfig = field(default=DEFAULT)  # the stages that run
    zero: tuple[str, ...] = ()  # the weights that are set to 0

    @property
    def without(self) -> tuple[str, ...]:
        """The names of the stages and weights that are switched off."""
        return (*(stage for stage, runs in asdict(self.config).items() if not runs), *self.zero)


_GRAPH_STAGES = (
    "semantic_entries",
    "ngram_entries",
    "ego_candidates",
    "resolver_boost",
    "dependency_expansion",
    "dependency_edges",
)
_STAGES = {
    "typed-values": "typed_values",
    "phrases": "phrases",
    "ego-candidates": "ego_candidates",
    "resolvers": "resolver_boost",
    "dependency-expansion": "dependency_expansion",
    "dependencies": "dependency_edges",
    "semantic-entries": "semantic_entries",
    "ngrams": "ngram_entries",
    "text-candidates": "text_candidates",
}
_WEIGHTS = {"systems": "system_coherence", "clauses": "clause_fusion"}
_WEIGHTS |= {each.name.removesuffix("_text").removeprefix("graph_").replace("_", "-"): each.name for each in FEATURES}
# ``default`` without one of its stages or features, by name.
ABLATIONS: Mapping[str, Ablation] = {
    "default-no-graph": Ablation(
        config=RetrievalConfig(**dict.fromkeys(_GRAPH_STAGES, False)), zero=("graph_support", "system_coherence")
    ),
    **{f"default-no-{name}": Ablation(config=RetrievalConfig(**{stage: False})) for name, stage in _STAGES.items()},
    **{f"default-no-{name}": Ablation(zero=(weight,)) for name, weight in _WEIGHTS.items()},
}


def make_ablations(snapshot: Snapshot, encoder: Encoder) -> dict[str, Retriever]:
    """Return every ablation over one snapshot, by name."""
    made: dict[str, Retriever] = {}
    for name, ablation in ABLATIONS.items():
        weights = weights_of(snapshot).replace(**dict.fromkeys(ablation.zero, 0.0))
        made[name] = GraphRetriever(snapshot, encoder, name=name, config=ablation.config, weights=weights)
    return made


def make_systems(
    names: Sequence[str], snapshot: Snapshot, encoder: Encoder, *, reranker: Reranker | None = None
) -> list[System]:
    """Return the systems with these names, each once, in this order.

    :param names: presets, ablations (``default-no-…``), ``grpc:HOST:PORT``, ``grpc:HOST:PORT/PRESET``, and the groups
        ``paper-four`` (the paper's table), ``baselines`` (all that use no graph), ``ablations``, and ``all``.
    :param reranker: scores the candidates of presets that rerank; ablations keep the embedded fusion.
    :raises InvalidArgumentError: when there is no name, or for an unknown name, with the list of all systems.
    :raises EgotoolsError: when an endpoint cannot be measured; see :class:`RemoteSystem`.
    """
    presets, ablations = make_presets(snapshot, encoder, reranker), make_ablations(snapshot, encoder)
    groups = {
        "paper-four": _PAPER_FOUR,
        "baselines": tuple(name for name in BASELINES if name != "paper"),
        "ablations": tuple(ablations),
        # Without a reranker `fast` is the same as `default`.
        "all": (*(name for name in presets if reranker or name != FAST_PRESET), *ablations),
    }
    systems: list[System] = []
    for name in dict.fromkeys(name for given in names for name in groups.get(given, (given,))):
        if name.startswith(_PREFIX):
            systems.append(RemoteSystem(name, snapshot_id=snapshot.id))
        elif name in presets:
            embedded = BASELINE_FUSION if name in BASELINES else FUSION
            chosen = embedded if reranker is None or name == FAST_PRESET else reranker.name
            systems.append(LocalSystem(presets[name], snapshot, encoder, reranker=chosen))
        elif name in ablations:
            without = ABLATIONS[name].without
            systems.append(LocalSystem(ablations[name], snapshot, encoder, reranker=FUSION, without=without))
        else:
            known = ", ".join(sorted((*presets, *ablations)))
            remedy = f"Known: {known}, {_PREFIX}HOST:PORT, {_PREFIX}HOST:PORT/PRESET; groups: {', '.join(GROUPS)}"
            raise InvalidArgumentError(f"there is no system {name!r}", subject="systems", remedy=remedy)
    if not systems:
        raise InvalidArgumentError("no system is named", subject="systems", remedy="Name at least one")
    return systems


class LocalSystem:
    """Measures one retriever without reasons, because explaining is not part of the cost of retrieval."""

    def __init__(
        self, retriever: Retriever, snapshot: Snapshot, encoder: Encoder, *, reranker: str, without: Sequence[str] = ()
    ) -> None:
        self._retriever = retriever
        self.name = retriever.name
        # Snapshot, models, and the digest of the code, which includes all constants.
        self.config: Mapping[str, Any] = {
            "kind": "local",
            "preset": retriever.name,
            "without": list(without),
            "snapshot_id": snapshot.id,
            "format_version": snapshot.manifest.format_version,
            "encoder": encoder.name,
            "encoder_sha256": encoder.digest,
            "reranker": reranker,
            "egotools": version("egotools"),
            "code_sha256": code_digest("inference", "ontology", "retrieval"),
        }

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools, with the milliseconds of each stage."""
        deadline = time.monotonic() + timeout_s
        request = Request(query=query, needs=tuple(needs), k=k, explain=False, deadline=deadline)
        response = self._retriever.retrieve(request)
        return _ranked(response, response.timings_ms)


class RemoteSystem:
    """Measures an endpoint through the shipped client, without reasons."""

    def __init__(self, name: str, *, snapshot_id: str) -> None:
        self.name = name
        self._snapshot_id = snapshot_id
        self._address, self._preset = _target(name)
        self._client = Client(self._address)
        weakref.finalize(self, self._client.close)
        try:
            catalog = self._client.catalog(timeout_s=_OPENING_S)
        except ClientError as error:
            problem = f"the server does not answer: {error.message}"
            remedy = error.remedy or "Start it, or leave it out of --systems"
            raise error_from_status(error.code, problem, subject=self._address, remedy=remedy) from error
        if catalog.snapshot_id != snapshot_id:
            problem = f"the server serves snapshot {catalog.snapshot_id}, and {snapshot_id} is measured"
            remedy = "Publish the same snapshot to the server, or measure the one that it serves"
            raise SnapshotError(problem, subject=self._address, remedy=remedy)
        if self._preset and self._preset not in catalog.presets:
            problem = f"the server has no preset {self._preset!r}"
            remedy = f"It has: {', '.join(catalog.presets)}; `egotools serve --baselines` has all"
            raise InvalidArgumentError(problem, subject=self._address, remedy=remedy)
        # The address, and what the server reports about its snapshot and models.
        self.config: Mapping[str, Any] = {
            "kind": "grpc",
            "address": self._address,
            "preset": self._preset or catalog.default_preset,
            "snapshot_id": catalog.snapshot_id,
            "format_version": catalog.format_version,
            "models": dict(catalog.models),
            "created_by": dict(catalog.created_by),
        }

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools; ``total`` is the round-trip time, ``server`` the server's own total, in ms."""
        started = time.perf_counter()
        try:
            answer = self._client.retrieve(
                query, needs=needs, k=k, preset=self._preset, explain=False, timeout_s=timeout_s
            )
        except ClientError as error:
            subject = error.subject or self._address
            raise error_from_status(error.code, error.message, subject=subject, remedy=error.remedy) from error
        total = (time.perf_counter() - started) * 1e3
        if answer.snapshot_id != self._snapshot_id:
            raise NotReadyError(f"the server now serves snapshot {answer.snapshot_id}", subject=self._address)
        stages = {"server" if stage == "total" else stage: spent for stage, spent in answer.timings_ms.items()}
        return _ranked(answer, {**stages, "total": total})


def _ranked(answer: Response, ms: Mapping[str, float]) -> Ranked:
    tools = tuple(tool.id for tool in answer.tools)
    return Ranked(tools=tools, ms=ms, fallbacks=answer.fallbacks, abstained=answer.unanswerable)


def _target(name: str) -> tuple[str, str]:
    """Split a name into address and preset; an address may contain slashes (``dns:///host:port``)."""
    address = name.removeprefix(_PREFIX)
    head, _, tail = address.rpartition("/")
    if not address:
        remedy = "Write grpc:HOST:PORT or grpc:HOST:PORT/PRESET"
        raise InvalidArgumentError("the name has no address", subject=name, remedy=remedy)
    return (head, tail) if head and not head.endswith("/") else (address, "")
