"""The Merge: a surface form that is part of a node with another name, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ingest.extract.extractor import RejectedTriple
from ontology.triple import Triple

__all__ = ["Canonicalization", "Merge", "MergeKind"]

MergeKind: TypeAlias = Literal[
    "case",
    "inflection",
    "abbreviation",
    "near-duplicate",
    "type",
    "predicate-synonym",
    "predicate-embedding",
    "predicate-fallback",
]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Merge:
    """One merge, for the report.

    :param entity_type: type of the node, or ``predicate``.
    :param surface: the form in the documents: a name, a type (``kind="type"``), or a predicate's phrase.
    :param canonical: the canonical form.
    :param evidence: why, one clause.
    :param score: in [0, 1]; 1 where a rule decided, a cosine where vectors did.
    :param count: occurrences of the surface form.
    """

    kind: MergeKind
    entity_type: str
    surface: str
    canonical: str
    evidence: str
    score: float = 1.0
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Canonicalization:
    """What canonicalisation made of a catalogue's triples.

    :param triples: canonical triples in the order of the raw ones; equal keys stay apart, each with its provenance.
    :param surface_forms: node key (``type:name``) → the forms it was read in with their counts, most frequent first.
    :param merges: every merge, sorted by kind, type, canonical name and surface form.
    :param rejected: triples that merging left without meaning (``self-loop``, ``no-name``).
    :param abbreviations: what abbreviations mean in the whole catalogue: the ontology's and those that documents declare;
        requests must be read with the same ones.
    :param warnings: what was declared and not followed, one sentence each.
    """

    triples: tuple[Triple, ...]
    surface_forms: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    rejected: tuple[RejectedTriple, ...] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
