"""Map the predicates of raw triples to those of the ontology: by name, by synonym, else the fallback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.canonical.merges import MergeKind
from ingest.word_lists import word_list
from ontology.names import verb_lemma, words
from ontology.ontology import Ontology

__all__ = ["Resolution", "Signature", "resolve_predicates"]

Signature = tuple[str, str, str, str]
"""``(predicate, phrase, head type, tail type)`` of a raw triple."""

_AUXILIARIES = word_list("canonical", "auxiliaries")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The ontology predicate of a raw predicate, with a score in [0, 1].

    :param kind: the kind of merge, or None when the raw predicate is of the ontology.
    """

    predicate: str
    kind: MergeKind | None = None
    evidence: str = ""
    score: float = 1.0


def resolve_predicates(signatures: Iterable[Signature], ontology: Ontology) -> dict[Signature, Resolution]:
    """Map from each raw signature to the predicate of the ontology.

    A predicate of the ontology is not changed, except the fallback with a phrase: then the phrase is mapped. A raw predicate without
    a match is unchanged when the fallback does not allow its types either; validation rejects it.
    """
    synonyms = _base_synonyms(ontology)
    return {
        signature: _by_name(signature, ontology, synonyms) or _fallback(signature, ontology)
        for signature in sorted(set(signatures))
    }


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
    evidence = f"no predicate of the ontology between {head_type} and {tail_type} has this name or synonym"
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
