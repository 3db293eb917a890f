"""The Merge: one surface form that became part of a node of another name, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.extract.extractor import RejectedTriple
from ontology.triple import Triple

__all__ = ["KINDS", "Canonicalization", "Merge"]

KINDS = (
    "case",
    "inflection",
    "abbreviation",
    "near-duplicate",
    "type",
    "predicate-synonym",
    "predicate-embedding",
    "predicate-fallback",
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Merge:
    """One merge, for the report.

    :param kind: one of ``KINDS``.
    :param entity_type: type of the node, or ``predicate``.
    :param surface: the form that was read: a name, a type (``kind="type"``), or a predicate's phrase.
    :param canonical: what it became.
    :param evidence: why, one clause.
    :param score: in [0, 1]; 1 where a rule decided, a cosine where vectors did.
    :param count: how many times the surface form was read.
    """

    kind: str
    entity_type: str
    surface: str
    canonical: str
    evidence: str
    score: float = 1.0
    count: int = 1

    def to_json(self) -> dict[str, Any]:
        """The JSON form, for the report."""
        return {
            "kind": self.kind,
            "entity_type": self.entity_type,
            "surface": self.surface,
            "canonical": self.canonical,
            "evidence": self.evidence,
            "score": round(self.score, 4),
            "count": self.count,
        }


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
