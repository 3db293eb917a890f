"""Systems by name: presets, ablations of the default, endpoints, and groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.system import System
from eval.systems.local import LocalSystem
from eval.systems.remote import PREFIX, RemoteSystem
from inference.encoder import Encoder
from inference.reranker import Reranker
from ontology.errors import InvalidArgumentError
from retrieval.ablations import ABLATIONS, make_ablations
from retrieval.presets import BASELINES, DEFAULT_PRESET, FAST_PRESET, make_presets
from retrieval.ranking.weights import BASELINE_FUSION, FUSION
from retrieval.snapshot.reader import Snapshot

__all__ = ["DEFAULT_SYSTEMS", "GROUPS", "PAPER_FOUR", "make_systems"]

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
    :raises EgotoolsError: when an endpoint cannot be measured; see :class:`eval.systems.remote.RemoteSystem`.
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
