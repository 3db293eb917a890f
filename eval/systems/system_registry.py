"""Systems by name: presets, ablations of the default, endpoints, and groups of them."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from egotools import Client, ClientError
from eval.system import Ranked, System
from eval.systems.ablations import ABLATIONS, make_ablations
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError, NotReadyError, SnapshotError, error_from_status
from ontology.files import code_digest
from retrieval.presets import BASELINES, DEFAULT_PRESET, FAST_PRESET, make_presets
from retrieval.query.request import Request
from retrieval.ranking.weights import BASELINE_FUSION, FUSION
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["DEFAULT_SYSTEMS", "GROUPS", "LocalSystem", "RemoteSystem", "make_systems"]

_PACKAGES = ("inference", "ontology", "retrieval")


class LocalSystem:
    """Measures one retriever without reasons, because explaining is not part of the cost of retrieval.

    :param reranker: name of its reranker.
    :param without: the features that an ablation leaves out.
    """

    def __init__(
        self,
        retriever: Retriever,
        snapshot: Snapshot,
        encoder: Encoder,
        *,
        reranker: str,
        without: Sequence[str] = (),
    ) -> None:
        self._retriever = retriever
        self._config = {
            "kind": "local",
            "preset": retriever.name,
            "without": list(without),
            "snapshot_id": snapshot.id,
            "format_version": snapshot.manifest.format_version,
            "encoder": encoder.name,
            "encoder_sha256": encoder.digest,
            "reranker": reranker,
            "egotools": version("egotools"),
            "code_sha256": code_digest(*_PACKAGES),
        }

    @property
    def name(self) -> str:
        """The retriever's name."""
        return self._retriever.name

    @property
    def config(self) -> Mapping[str, Any]:
        """Snapshot, models, and the digest of the code, which includes all constants."""
        return self._config

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools, with the milliseconds of each stage.

        :raises DeadlineError: between two stages, when the deadline has passed.
        """
        deadline = time.monotonic() + timeout_s
        response = self._retriever.retrieve(
            Request(query=query, needs=tuple(needs), k=k, explain=False, deadline=deadline)
        )
        return Ranked(
            tools=tuple(tool.id for tool in response.tools),
            ms=response.timings_ms,
            fallbacks=response.fallbacks,
            abstained=response.unanswerable,
        )


PREFIX = "grpc:"
_OPENING_S = 10.0  # timeout of the first call, which describes the served snapshot


class RemoteSystem:
    """Measures an endpoint through the shipped client, without reasons.

    :param name: ``grpc:HOST:PORT``, for the server's default preset, or ``grpc:HOST:PORT/PRESET``.
    :param snapshot_id: the snapshot that it must serve, because gold ids, failures and graph belong to it.
    :raises SnapshotError: when it serves another snapshot.
    :raises InvalidArgumentError: when the name has no address, or the server does not have the preset.
    :raises EgotoolsError: when the server does not answer.
    """

    def __init__(self, name: str, *, snapshot_id: str) -> None:
        self.name = name
        self._snapshot_id = snapshot_id
        self._address, self._preset = _target(name)
        self._client = Client(self._address)
        weakref.finalize(self, self._client.close)
        try:
            catalog = self._client.catalog(timeout_s=_OPENING_S)
        except ClientError as error:
            raise error_from_status(
                error.code,
                f"the server does not answer: {error.message}",
                subject=self._address,
                remedy=error.remedy or "Start it, or leave it out of --systems",
            ) from error
        if catalog.snapshot_id != snapshot_id:
            raise SnapshotError(
                f"the server serves snapshot {catalog.snapshot_id}, and {snapshot_id} is measured",
                subject=self._address,
                remedy="Publish the same snapshot to the server, or measure the one that it serves",
            )
        if self._preset and self._preset not in catalog.presets:
            raise InvalidArgumentError(
                f"the server has no preset {self._preset!r}",
                subject=self._address,
                remedy=f"It has: {', '.join(catalog.presets)}; `egotools serve --baselines` has all",
            )
        self._config = {
            "kind": "grpc",
            "address": self._address,
            "preset": self._preset or catalog.default_preset,
            "snapshot_id": catalog.snapshot_id,
            "format_version": catalog.format_version,
            "models": dict(catalog.models),
            "created_by": dict(catalog.created_by),
        }

    @property
    def config(self) -> Mapping[str, Any]:
        """The address, and what the server reports about its snapshot and models."""
        return self._config

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools; ``total`` is the round-trip time, ``server`` the server's own total, in ms.

        :raises NotReadyError: when the server cannot be reached, or now serves another snapshot.
        :raises EgotoolsError: the error class for the status of the failed call.
        """
        started = time.perf_counter()
        try:
            answer = self._client.retrieve(
                query, needs=needs, k=k, preset=self._preset, explain=False, timeout_s=timeout_s
            )
        except ClientError as error:
            raise error_from_status(
                error.code, error.message, subject=error.subject or self._address, remedy=error.remedy
            ) from error
        total = (time.perf_counter() - started) * 1e3
        if answer.snapshot_id != self._snapshot_id:
            raise NotReadyError(f"the server now serves snapshot {answer.snapshot_id}", subject=self._address)
        stages = {"server" if stage == "total" else stage: spent for stage, spent in answer.timings_ms.items()}
        return Ranked(
            tools=tuple(tool.id for tool in answer.tools),
            ms={**stages, "total": total},
            fallbacks=answer.fallbacks,
            abstained=answer.unanswerable,
        )


def _target(name: str) -> tuple[str, str]:
    """Split a name into address and preset; an address may contain slashes (``dns:///host:port``)."""
    address = name.removeprefix(PREFIX)
    head, slash, tail = address.rpartition("/")
    preset = ""
    if slash and head and not head.endswith("/"):
        address, preset = head, tail
    if not address:
        raise InvalidArgumentError(
            "the name has no address", subject=name, remedy="Write grpc:HOST:PORT or grpc:HOST:PORT/PRESET"
        )
    return address, preset


PAPER_FOUR = ("semantic", "bm25-regex-title", "hybrid", "paper")
GROUPS = ("paper-four", "baselines", "ablations", "all")
DEFAULT_SYSTEMS = ("paper-four", "rrf", "fusion", DEFAULT_PRESET)


def make_systems(
    names: Sequence[str], snapshot: Snapshot, encoder: Encoder, *, reranker: Reranker | None = None
) -> list[System]:
    """Return the systems with these names, each once, in this order.

    :param names: presets, ablations (``default-no-…``), ``grpc:HOST:PORT``, ``grpc:HOST:PORT/PRESET``, and the groups
        ``paper-four`` (the paper's table), ``baselines`` (all that use no graph), ``ablations``, and ``all``.
    :param reranker: scores the candidates of presets that rerank; ablations keep the embedded fusion.
    :raises InvalidArgumentError: when there is no name, or for an unknown name, with the list of all systems.
    :raises EgotoolsError: when an endpoint cannot be measured; see :class:`eval.systems.system_registry.RemoteSystem`.
    """
    presets = make_presets(snapshot, encoder, reranker)
    ablations = make_ablations(snapshot, encoder)
    groups = {
        "paper-four": PAPER_FOUR,
        "baselines": tuple(name for name in BASELINES if name != "paper"),
        "ablations": tuple(ablations),
        # Without a reranker `fast` is the same as `default`.
        "all": (*(name for name in presets if reranker or name != FAST_PRESET), *ablations),
    }
    wanted = _expand(names, groups, known=(*presets, *ablations))
    systems: list[System] = []
    for name in wanted:
        if name.startswith(PREFIX):
            systems.append(RemoteSystem(name, snapshot_id=snapshot.id))
        elif name in presets:
            embedded = BASELINE_FUSION if name in BASELINES else FUSION
            chosen = embedded if reranker is None or name == FAST_PRESET else reranker.name
            systems.append(LocalSystem(presets[name], snapshot, encoder, reranker=chosen))
        else:
            without = ABLATIONS[name].without
            systems.append(LocalSystem(ablations[name], snapshot, encoder, reranker=FUSION, without=without))
    return systems


def _expand(names: Sequence[str], groups: Mapping[str, Sequence[str]], *, known: Sequence[str]) -> list[str]:
    wanted: dict[str, None] = {}
    for name in names:
        if name not in groups and name not in known and not name.startswith(PREFIX):
            raise InvalidArgumentError(
                f"there is no system {name!r}",
                subject="systems",
                remedy=f"Known: {', '.join(sorted(known))}, {PREFIX}HOST:PORT, {PREFIX}HOST:PORT/PRESET; "
                f"groups: {', '.join(GROUPS)}",
            )
        wanted.update(dict.fromkeys(groups.get(name, (name,))))
    if not wanted:
        raise InvalidArgumentError("no system is named", subject="systems", remedy="Name at least one")
    return list(wanted)
