"""The Merge: a surface form whose node has another name, with the evidence."""

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
    "synonym",
    "near-duplicate",
    "type",
    "predicate-synonym",
    "predicate-fallback",
]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Merge:
    """One merge, for the report.

    :param entity_type: type of the node, or ``predicate``.
    :param surface: the form in the documents: a name, a type (``kind="type"``), or a predicate's phrase.
    :param canonical: the canonical form.
    :param evidence: the reason, one clause.
    :param score: in [0, 1]; 1, and 0 for a predicate that only fell back.
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
    """The result of canonicalisation.

    :param triples: canonical triples in the order of the raw ones; triples with equal keys are not merged.
    :param surface_forms: map from node key (``type:name``) to ``(form, count)``, most frequent first.
    :param merges: every merge, sorted by kind, type, canonical name and surface form.
    :param rejected: triples that are invalid after merging (``self-loop``, ``no-name``).
    :param abbreviations: map from abbreviation to expansion in the whole catalogue, from the ontology and the documents;
        requests must be parsed with the same map.
    :param warnings: declared abbreviations that are not used everywhere, one sentence each.
    """

    triples: tuple[Triple, ...]
    surface_forms: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    rejected: tuple[RejectedTriple, ...] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
