"""Canonicalisation: raw triples in, triples over one name a thing, one type a name and the ontology's predicates out.

Tools are never touched. Every merge is told with its evidence, and every surface form is kept with its count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.canonical.abbreviations import Abbreviations, read_abbreviations
from ingest.canonical.duplicates import Duplicate, near_duplicates
from ingest.canonical.merges import Canonicalization, Merge
from ingest.canonical.predicates import Resolution, Signature, resolve_predicates
from ingest.canonical.single_type import one_type
from ingest.extract.extractor import RejectedTriple
from ingest.graph import node_key
from ontology.names import canonical_name, expansions, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.triple import Triple

if TYPE_CHECKING:
    from inference.encoder import Encoder

__all__ = ["NEAR_DUPLICATE_THRESHOLD", "canonicalize"]

NEAR_DUPLICATE_THRESHOLD = 0.95
"""Least cosine of two names that differ by a word close in meaning."""

_NEAR_DUPLICATE_TYPES = ("business_object", "capability")
_NAME_SEPARATORS = frozenset(" _-./,:;'’()[]&")

Node = tuple[str, str]
Surface = tuple[str, str, str]  # type, name as read, tool id where abbreviations mean something of their own, else ""


def canonicalize(
    triples: Iterable[Triple],
    tools: Sequence[Tool],
    ontology: Ontology,
    *,
    encoder: Encoder | None = None,
    threshold: float = NEAR_DUPLICATE_THRESHOLD,
) -> Canonicalization:
    """Make names, types and predicates canonical.

    :param triples: raw triples of the catalogue, from any extractor.
    :param tools: the documents, for the abbreviations that they declare.
    :param encoder: for near-duplicates and for predicates that no synonym names; without one only rules decide.
    :param threshold: least cosine of near-duplicates, in [-1, 1].
    """
    raw = list(triples)
    names = _Names(read_abbreviations(tools, ontology))
    names.read(raw)
    predicates = resolve_predicates(map(_signature, raw), ontology, encoder=encoder)
    nodes = _Nodes(names)
    nodes.unify_types(raw, predicates, ontology)
    nodes.unify_duplicates(encoder, threshold)
    kept, rejected = _rewritten(raw, names, nodes, predicates)
    forms = nodes.surface_forms()
    merges = [*nodes.merges(forms), *_predicate_merges(raw, predicates)]
    return Canonicalization(
        triples=tuple(kept),
        surface_forms=forms,
        merges=tuple(sorted(merges, key=lambda m: (m.kind, m.entity_type, m.canonical, m.surface, m.evidence))),
        rejected=tuple(rejected),
        abbreviations=names.abbreviations.everywhere,
        warnings=names.abbreviations.warnings,
    )


@dataclass
class _Names:
    """The canonical name of each surface form, and how often each was read."""

    abbreviations: Abbreviations
    canonical: dict[Surface, str] = field(default_factory=dict)
    counts: Counter[Surface] = field(default_factory=Counter)

    def read(self, triples: Iterable[Triple]) -> None:
        """Name both ends of each triple."""
        for triple in triples:
            for surface in self.ends(triple):
                if surface[0] != "tool":
                    self.counts[surface] += 1
                    if surface not in self.canonical:
                        self.canonical[surface] = self._named(surface)

    def ends(self, triple: Triple) -> tuple[Surface, Surface]:
        """The surface forms of head and tail."""
        tool_id = triple.provenance.tool_id
        own = tool_id if tool_id in self.abbreviations.in_tool else ""
        return (triple.head_type, triple.head, own), (triple.tail_type, triple.tail, own)

    def node(self, surface: Surface) -> Node:
        """The node of a surface form, before types and duplicates are made one."""
        return (surface[0], surface[1] if surface[0] == "tool" else self.canonical[surface])

    def _named(self, surface: Surface) -> str:
        entity_type, text, tool_id = surface
        if entity_type == "value":
            return _value_name(text)
        name = canonical_name(text, self.abbreviations.of(tool_id))
        return _with_base_verb(name) if entity_type == "capability" else name


class _Nodes:
    """Which node each name ends up in."""

    def __init__(self, names: _Names) -> None:
        self._names = names
        self._types: dict[Node, str] = {}
        self._duplicates: dict[Node, Duplicate] = {}

    def final(self, node: Node) -> Node:
        """The node that a name of a type ends up in."""
        typed = (self._types.get(node, node[0]), node[1])
        duplicate = self._duplicates.get(typed)
        return (typed[0], duplicate.target) if duplicate else typed

    def unify_types(
        self, raw: Sequence[Triple], predicates: Mapping[Signature, Resolution], ontology: Ontology
    ) -> None:
        """Give one type to the names that language gave several."""
        names = self._names
        ends = {
            (names.node(head), predicates[_signature(triple)].predicate, names.node(tail))
            for triple in raw
            for head, tail in (names.ends(triple),)
        }
        self._types = one_type(self._counts(), ends, ontology)

    def unify_duplicates(self, encoder: Encoder | None, threshold: float) -> None:
        """Merge the names of one type that are one name written in two ways."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for node, count in self._counts().items():
            entity_type, name = self.final(node)
            if name and entity_type in _NEAR_DUPLICATE_TYPES:
                counts[entity_type][name] += count
        for entity_type in sorted(counts):
            for duplicate in near_duplicates(counts[entity_type], encoder=encoder, threshold=threshold):
                self._duplicates[entity_type, duplicate.name] = duplicate

    def surface_forms(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Node key → surface forms with counts, most frequent first, ties by alphabet; nodes in order of their keys."""
        forms: dict[Node, Counter[str]] = defaultdict(Counter)
        for surface, count in self._names.counts.items():
            node = self._names.node(surface)
            if node[1]:
                forms[self.final(node)][surface[1]] += count
        return {
            node_key(*node): tuple(sorted(forms[node].items(), key=lambda form: (-form[1], form[0])))
            for node in sorted(forms)
        }

    def merges(self, forms: Mapping[str, Sequence[tuple[str, int]]]) -> Iterable[Merge]:
        """The merges of names and types; a name that was only spelled anew, with nothing to merge with, is none."""
        told: dict[tuple[str, str, str, str], Merge] = {}
        for surface, count in sorted(self._names.counts.items()):
            node = self._names.node(surface)
            if not node[1]:
                continue
            shared = len(forms[node_key(*self.final(node))]) > 1
            for merge in self._steps(surface, node, count, shared):
                key = (merge.kind, merge.entity_type, merge.surface, merge.canonical)
                told.setdefault(key, merge)
        return told.values()

    def _steps(self, surface: Surface, node: Node, count: int, shared: bool) -> Iterable[Merge]:
        kind, evidence = _how(surface, node[1], self._names.abbreviations)
        if kind and (shared or kind == "abbreviation"):
            yield Merge(
                kind=kind, entity_type=node[0], surface=surface[1], canonical=node[1], evidence=evidence, count=count
            )
        if node in self._types:
            evidence = f"{node[1]!r} is read as {self._types[node]!r} most often"
            yield Merge(
                kind="type", entity_type=node[0], surface=node[1], canonical=self._types[node], evidence=evidence
            )
        duplicate = self._duplicates.get((self._types.get(node, node[0]), node[1]))
        if duplicate:
            yield Merge(
                kind="near-duplicate",
                entity_type=self._types.get(node, node[0]),
                surface=duplicate.name,
                canonical=duplicate.target,
                evidence=duplicate.evidence,
                score=duplicate.score,
            )

    def _counts(self) -> Counter[Node]:
        counts: Counter[Node] = Counter()
        for surface, count in self._names.counts.items():
            counts[self._names.node(surface)] += count
        return counts


def _signature(triple: Triple) -> Signature:
    return (triple.predicate, triple.phrase, triple.head_type, triple.tail_type)


def _rewritten(
    raw: Iterable[Triple], names: _Names, nodes: _Nodes, predicates: Mapping[Signature, Resolution]
) -> tuple[list[Triple], list[RejectedTriple]]:
    kept: list[Triple] = []
    rejected: list[RejectedTriple] = []
    for triple in raw:
        head_surface, tail_surface = names.ends(triple)
        head, tail = nodes.final(names.node(head_surface)), nodes.final(names.node(tail_surface))
        if not head[1] or not tail[1]:
            rejected.append(RejectedTriple(triple, "no-name", "one end has no letter or digit"))
        elif head == tail:
            detail = f"both ends became the {head[0]} {head[1]!r}"
            rejected.append(RejectedTriple(triple, "self-loop", detail))
        else:
            kept.append(_renamed(triple, head, predicates[_signature(triple)].predicate, tail))
    return kept, rejected


def _renamed(triple: Triple, head: Node, predicate: str, tail: Node) -> Triple:
    phrase = triple.phrase or ("" if predicate == triple.predicate else triple.predicate)
    return Triple(
        head=head[1],
        head_type=head[0],
        predicate=predicate,
        tail=tail[1],
        tail_type=tail[0],
        confidence=triple.confidence,
        provenance=triple.provenance,
        phrase=phrase,
    )


def _predicate_merges(raw: Iterable[Triple], predicates: Mapping[Signature, Resolution]) -> Iterable[Merge]:
    counts: Counter[tuple[str, Resolution]] = Counter()
    for triple in raw:
        resolution = predicates[_signature(triple)]
        if resolution.kind:
            counts[triple.phrase or triple.predicate, resolution] += 1
    for (phrase, resolution), count in counts.items():
        yield Merge(
            kind=resolution.kind,
            entity_type="predicate",
            surface=phrase,
            canonical=resolution.predicate,
            evidence=resolution.evidence,
            score=resolution.score,
            count=count,
        )


def _how(surface: Surface, name: str, abbreviations: Abbreviations) -> tuple[str, str]:
    """Kind and evidence of the step from a surface form to its canonical name; no kind where they are equal."""
    entity_type, text, tool_id = surface
    if text == name:
        return "", ""
    spoken = words(text)
    if " ".join(spoken) == name or (entity_type == "value" and text.casefold() == name):
        return "case", "upper and lower case, separators"
    meanings = abbreviations.of(tool_id)
    short = [(word, said) for word, said in expansions(spoken, meanings) if word != said and entity_type != "value"]
    if short:
        said = ", ".join(f"{word} = {meaning} ({abbreviations.source(word, tool_id)})" for word, meaning in short)
        return "abbreviation", said
    return "inflection", "singular and base forms"


def _value_name(text: str) -> str:
    """A value's name: that of an entity, but without abbreviations (``AR`` may be Argentina), and signs keep their meaning."""
    stripped = " ".join(text.split())
    if any(letter.isalpha() for letter in stripped) and all(
        letter.isalnum() or letter in _NAME_SEPARATORS for letter in stripped
    ):
        return canonical_name(stripped)
    return stripped.casefold()


def _with_base_verb(name: str) -> str:
    verb, _, rest = name.partition(" ")
    return f"{verb_lemma(verb)} {rest}" if rest else name
