"""One set as an unseen one: its snapshot, built with the rules off that were found on its catalogue, and its requests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from research.unseen import found_rules
from research.unseen.found_rules import ENCODER_SAW, catalogue_of, switches_off
from research.unseen.switches import switched
from scripts.bench_sets import BenchSet, bench_sets, catalog_address, sampled

if TYPE_CHECKING:
    from eval.queries import LabelledQuery
    from inference.encoder import Encoder
    from inference.result_cache import ResultCache
    from retrieval.snapshot.reader import Snapshot

__all__ = ["PLAIN_ENCODER", "Encoders", "UnseenSet", "encoder_of", "unseen_sets"]

PLAIN_ENCODER = "minilm-l6-int8.v1"


def encoder_of(name: str, encoder: str) -> str:
    """Return the encoder to measure a set with: the plain one where the other was trained on the set's catalogue."""
    return PLAIN_ENCODER if catalogue_of(name) in ENCODER_SAW.get(encoder, ()) else encoder


class Encoders:
    """Encoders by name, loaded once, behind one cache of vectors.

    :param cache: remembers vectors between runs; None for none.
    """

    def __init__(self, cache: ResultCache | None = None) -> None:
        self._cache = cache
        self._known: dict[str, Encoder] = {}

    def __getitem__(self, name: str) -> Encoder:
        from inference import load_encoder
        from inference.cached_encoder import CachedEncoder

        if name not in self._known:
            self._known[name] = CachedEncoder(load_encoder(name), self._cache)
        return self._known[name]


@dataclass(frozen=True)
class UnseenSet:
    """A set and its snapshot.

    :param encoder: the one that has not seen the catalogue.
    :param limit: requests at most, chosen by the hash of their ids; 0 for all.
    """

    bench_set: BenchSet
    snapshot: Snapshot
    encoder: Encoder
    limit: int

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.bench_set.name

    @cached_property
    def queries(self) -> list[LabelledQuery]:
        """The requests, in the order of their file."""
        from eval.queries import read_queries

        chosen = {row["id"] for row in sampled(self.bench_set, self.limit)}
        return [one for one in read_queries([self.bench_set.queries]).queries if one.id in chosen]


def unseen_sets(names: Sequence[str], folder: Path, encoders: Encoders, *, encoder: str, limit: int) -> list[UnseenSet]:
    """Build the snapshots of these sets, or open those that an earlier run built of the same documents with the same code.

    :param folder: where they are kept.
    """
    from ontology.files import code_digest
    from retrieval.snapshot.reader import open_snapshot
    from services.jobs.build import build_snapshot

    table = hashlib.sha256(Path(found_rules.__file__).read_bytes()).hexdigest()
    code = code_digest("ingest", "ontology", "retrieval.index", "retrieval.snapshot")
    found = []
    for bench_set in bench_sets(names):
        model = encoders[encoder_of(bench_set.name, encoder)]
        key = hashlib.sha256(f"{table} {code} {model.name} {model.digest}".encode()).hexdigest()[:12]
        here = folder / catalogue_of(bench_set.name) / key
        with switched(switches_off(bench_set.name, during="ingest")):
            if not (here / "store" / "CURRENT").exists():
                here.mkdir(parents=True, exist_ok=True)
                build_snapshot([str(catalog_address(bench_set, here))], here / "store", encoder=model, cached=False)
        print(f"{bench_set.name}: built", flush=True)
        snapshot = open_snapshot(here / "store", verify=False)
        found.append(UnseenSet(bench_set=bench_set, snapshot=snapshot, encoder=model, limit=limit))
    return found
