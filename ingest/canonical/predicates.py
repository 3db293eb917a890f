"""Predicates of raw triples made those of the ontology: by name, by synonym, by nearest meaning, else the fallback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ontology.names import verb_lemma, words
from ontology.ontology import Ontology

if TYPE_CHECKING:
    from inference.encoder import Encoder

__all__ = ["PREDICATE_THRESHOLD", "Resolution", "Signature", "resolve_predicates"]

PREDICATE_THRESHOLD = 0.7
"""Least cosine of a phrase and a predicate's name or synonym, in [-1, 1]."""

Signature = tuple[str, str, str, str]
"""``(predicate, phrase, head type, tail type)`` of a raw triple."""

_AUXILIARIES = frozenset(
    "am are be been being can could do does has have is may must shall should was were will would".split()
)
_NEGATIONS = frozenset("cannot never no nor not without".split())
_DIRECTED = frozenset("by for from in into of on onto out to under upon via with".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a raw predicate became.

    :param kind: a merge kind, or empty when the predicate was the ontology's own.
    """

    predicate: str
    kind: str = ""
    evidence: str = ""
    score: float = 1.0


def resolve_predicates(
    signatures: Iterable[Signature],
    ontology: Ontology,
    *,
    encoder: Encoder | None,
    threshold: float = PREDICATE_THRESHOLD,
) -> dict[Signature, Resolution]:
    """What each raw predicate, with its phrase and the types of its ends, is in the ontology.

    A predicate of the ontology stays, but for the fallback with a phrase: that says that nobody could name it, and the
    phrase is tried. What no predicate takes stays as it is when the fallback does not take its types either;
    validation rejects it with its reason.
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
    spoken = phrase or predicate
    for found, evidence in (
        (ontology.predicate_for(spoken), "a synonym in the ontology"),
        (synonyms.get(_base(spoken), ""), "inflection of a synonym in the ontology"),
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
    """Phrases without auxiliaries and third-person endings → predicate, where only one predicate has them."""
    found: dict[str, set[str]] = {}
    for predicate in ontology.predicates.values():
        for phrase in (predicate.name, *predicate.synonyms):
            found.setdefault(_base(phrase), set()).add(predicate.name)
    return {base: min(names) for base, names in found.items() if base and len(names) == 1}


def _base(phrase: str) -> str:
    # Only -s is taken off: "managed by" and "manages" run in opposite directions.
    spoken = words(phrase)
    kept = [word for word in spoken if word not in _AUXILIARIES] or spoken
    return " ".join(verb_lemma(word) if word.endswith("s") else word for word in kept)


class _Nearest:
    """The nearest predicate of a phrase by vector, among those that the types allow."""

    def __init__(self, signatures: Iterable[Signature], ontology: Ontology, encoder: Encoder) -> None:
        self._ontology = ontology
        self._labels = [
            (" ".join(words(label)), predicate.name)
            for predicate in ontology.predicates.values()
            if not predicate.derived and predicate.name != ontology.fallback
            for label in (predicate.name, *predicate.synonyms)
            if len(label) > 2
        ]
        phrases = sorted({_spoken(signature) for signature in signatures} - {""})
        self._row = {phrase: number for number, phrase in enumerate(phrases)}
        if phrases:
            labels = np.asarray(encoder.encode([label for label, _ in self._labels]))
            self._cosines = np.asarray(encoder.encode(phrases)) @ labels.T

    def of(self, signature: Signature, threshold: float) -> Resolution | None:
        """The nearest predicate, or None when none is near enough; ties by order in the ontology."""
        phrase = _spoken(signature)
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


def _spoken(signature: Signature) -> str:
    return " ".join(words(signature[1] or signature[0]))


def _same_direction(phrase: str, label: str) -> bool:
    """Whether both phrases have the same small words: those turn a relation round, which vectors hardly see."""
    said, named = set(phrase.split()), set(label.split())
    small = _DIRECTED | _NEGATIONS
    return said & small == named & small
