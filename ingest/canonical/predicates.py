"""Map the predicates of raw triples to those of the ontology: by name, by synonym, by nearest meaning, else the fallback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.canonical.merges import MergeKind
from ingest.word_lists import word_list
from ontology.names import verb_lemma, words
from ontology.ontology import Ontology

if TYPE_CHECKING:
    from inference.encoder import Encoder

__all__ = ["PREDICATE_THRESHOLD", "Resolution", "Signature", "resolve_predicates"]

PREDICATE_THRESHOLD = 0.7
"""Minimum cosine of a phrase and a predicate's name or synonym, in [-1, 1]."""

Signature = tuple[str, str, str, str]
"""``(predicate, phrase, head type, tail type)`` of a raw triple."""

_AUXILIARIES = word_list("canonical", "auxiliaries")
_SMALL_WORDS = word_list("canonical", "directions") | word_list("canonical", "negations")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The ontology predicate of a raw predicate, with a score in [0, 1].

    :param kind: the kind of merge, or None when the raw predicate is of the ontology.
    """

    predicate: str
    kind: MergeKind | None = None
    evidence: str = ""
    score: float = 1.0


def resolve_predicates(
    signatures: Iterable[Signature],
    ontology: Ontology,
    *,
    encoder: Encoder | None,
    threshold: float = PREDICATE_THRESHOLD,
) -> dict[Signature, Resolution]:
    """Map from each raw signature to the predicate of the ontology.

    A predicate of the ontology is not changed, except the fallback with a phrase: then the phrase is mapped. A raw predicate without
    a match is unchanged when the fallback does not allow its types either; validation rejects it.
    """
    resolved: dict[Signature, Resolution] = {}
    unnamed: list[Signature] = []
    synonyms = _base_synonyms(ontology)
    for signature in sorted(set(signatures)):
        found = _by_name(signature, ontology, synonyms)
        if found is None:
            unnamed.append(signature)
        else:
            resolved[signature] = found
    nearest = _Nearest(unnamed, ontology, encoder) if encoder is not None and unnamed else None
    for signature in unnamed:
        near = nearest.of(signature, threshold) if nearest else None
        resolved[signature] = near or _fallback(signature, ontology)
    return resolved


def _by_name(signature: Signature, ontology: Ontology, synonyms: Mapping[str, str]) -> Resolution | None:
    predicate, phrase, head_type, tail_type = signature
    known = ontology.predicates.get(predicate)
    if known is not None and not (predicate == ontology.fallback and phrase):
        return Resolution(predicate=predicate)
    phrase_words = phrase or predicate
    for found, evidence in (
        (ontology.predicate_for(phrase_words), "a synonym in the ontology"),
        (synonyms.get(_base(phrase_words), ""), "inflection of a synonym in the ontology"),
    ):
        if found and found == predicate:
            return Resolution(predicate=predicate)
        if found and not ontology.predicates[found].derived and ontology.allows(head_type, found, tail_type):
            return Resolution(predicate=found, kind="predicate-synonym", evidence=evidence)
    return None


def _fallback(signature: Signature, ontology: Ontology) -> Resolution:
    predicate, _, head_type, tail_type = signature
    fallback = ontology.fallback
    if predicate == fallback:
        return Resolution(predicate=fallback)
    if not ontology.allows(head_type, fallback, tail_type):
        return Resolution(predicate=predicate)
    evidence = f"no predicate of the ontology between {head_type} and {tail_type} comes near"
    return Resolution(predicate=fallback, kind="predicate-fallback", evidence=evidence, score=0.0)


def _base_synonyms(ontology: Ontology) -> dict[str, str]:
    """Map from phrases without auxiliaries and third-person endings to predicate, for phrases of only one predicate."""
    found: dict[str, set[str]] = {}
    for predicate in ontology.predicates.values():
        for phrase in (predicate.name, *predicate.synonyms):
            found.setdefault(_base(phrase), set()).add(predicate.name)
    return {base: min(names) for base, names in found.items() if base and len(names) == 1}


def _base(phrase: str) -> str:
    # Remove only -s: "managed by" and "manages" have opposite directions.
    phrase_words = words(phrase)
    kept = [word for word in phrase_words if word not in _AUXILIARIES] or phrase_words
    return " ".join(verb_lemma(word) if word.endswith("s") else word for word in kept)


class _Nearest:
    """Finds the nearest predicate of a phrase by vector, among those that the types allow."""

    def __init__(self, signatures: Iterable[Signature], ontology: Ontology, encoder: Encoder) -> None:
        self._ontology = ontology
        self._labels = [
            (" ".join(words(label)), predicate.name)
            for predicate in ontology.predicates.values()
            if not predicate.derived and predicate.name != ontology.fallback
            for label in (predicate.name, *predicate.synonyms)
            if len(label) > 2
        ]
        phrases = sorted({_phrase_of(signature) for signature in signatures} - {""})
        self._row = {phrase: number for number, phrase in enumerate(phrases)}
        if phrases:
            labels = np.asarray(encoder.encode([label for label, _ in self._labels]))
            self._cosines = np.asarray(encoder.encode(phrases)) @ labels.T

    def of(self, signature: Signature, threshold: float) -> Resolution | None:
        """Return the nearest predicate with at least the threshold, or None; ties by order in the ontology."""
        phrase = _phrase_of(signature)
        if phrase not in self._row:
            return None
        cosines = self._cosines[self._row[phrase]]
        for column in np.argsort(-cosines, kind="stable"):
            label, predicate = self._labels[column]
            if cosines[column] < threshold:
                return None
            if _same_direction(phrase, label) and self._ontology.allows(signature[2], predicate, signature[3]):
                evidence = f"cosine {cosines[column]:.3f} with {label!r}"
                return Resolution(
                    predicate=predicate,
                    kind="predicate-embedding",
                    evidence=evidence,
                    score=min(1.0, float(cosines[column])),
                )
        return None


def _phrase_of(signature: Signature) -> str:
    return " ".join(words(signature[1] or signature[0]))


def _same_direction(phrase: str, label: str) -> bool:
    """Whether both phrases have the same prepositions and negations. These reverse a relation, but change vectors little."""
    return _SMALL_WORDS.intersection(phrase.split()) == _SMALL_WORDS.intersection(label.split())
