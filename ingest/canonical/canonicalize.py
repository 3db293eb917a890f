"""Canonicalise raw triples: one name for each object, one type for each name, and the ontology's predicates.

Tools are never changed. Every merge is reported with its evidence; every surface form is returned with its count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ingest.canonical.abbreviations import Abbreviations, read_abbreviations
from ingest.canonical.duplicates import Duplicate, near_duplicates
from ingest.canonical.merges import Canonicalization, Merge, MergeKind
from ingest.canonical.predicates import Resolution, Signature, resolve_predicates
from ingest.canonical.single_type import one_type
from ingest.extract.extractor import Partition, RejectedTriple
from ingest.graph import node_key
from ontology.names import canonical_name, expansions, verb_lemma, words
from ontology.ontology import Ontology
from ontology.synonym import Synonym, Synonyms
from ontology.tool import Tool
from ontology.triple import Triple

__all__ = ["canonicalize"]

_NEAR_DUPLICATE_TYPES = ("business_object", "capability")
_WITHOUT_SYNONYMS = ("tool", "parameter", "value")
_NAME_SEPARATORS = frozenset(" _-./,:;'’()[]&")

Node = tuple[str, str]
# Type, name as read, tool id where abbreviations or synonyms mean something of their own, else "".
Surface = tuple[str, str, str]


def canonicalize(
    triples: Iterable[Triple],
    tools: Sequence[Tool],
    ontology: Ontology,
    *,
    synonyms: Mapping[str, Synonyms] = {},
) -> Canonicalization:
    """Make names, types and predicates canonical.

    :param triples: raw triples of the catalogue, from any extractor.
    :param tools: the tools of the catalogue; their documents may declare abbreviations.
    :param synonyms: tool id → the names that replace others in what is read of it.
    """
    raw = list(triples)
    names = _Names(read_abbreviations(tools, ontology), synonyms)
    names.read(raw)
    predicates = resolve_predicates(map(_signature, raw), ontology)
    nodes = _Nodes(names)
    nodes.unify_types(raw, predicates, ontology)
    nodes.unify_duplicates()
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
    """Map from surface form to canonical name, and to its number of occurrences."""

    abbreviations: Abbreviations
    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    canonical: dict[Surface, str] = field(default_factory=dict)
    counts: Counter[Surface] = field(default_factory=Counter)
    replaced: dict[Surface, Synonym] = field(default_factory=dict)

    def read(self, triples: Iterable[Triple]) -> None:
        """Count and name both ends of each triple."""
        for triple in triples:
            for surface in self.ends(triple):
                if surface[0] != "tool":
                    self.counts[surface] += 1
                    if surface not in self.canonical:
                        self.canonical[surface] = self._named(surface)

    def ends(self, triple: Triple) -> tuple[Surface, Surface]:
        """Return the surface forms of head and tail."""
        tool_id = triple.provenance.tool_id
        own = tool_id if tool_id in self.abbreviations.in_tool or tool_id in self.synonyms else ""
        return (triple.head_type, triple.head, own), (triple.tail_type, triple.tail, own)

    def node(self, surface: Surface) -> Node:
        """Return the node of a surface form, before types and near-duplicates are merged."""
        return (surface[0], surface[1] if surface[0] == "tool" else self.canonical[surface])

    def _named(self, surface: Surface) -> str:
        entity_type, text, tool_id = surface
        if entity_type == "value":
            return _value_name(text)
        name = canonical_name(text, self.abbreviations.of(tool_id))
        name = _with_base_verb(name) if entity_type == "capability" else name
        found = self._synonym(entity_type, name, tool_id)
        if found is None:
            return name
        self.replaced[surface] = found
        return found.name

    def _synonym(self, entity_type: str, name: str, tool_id: str) -> Synonym | None:
        """Return what replaces a canonical name, or None; of a capability its object is replaced."""
        synonyms = self.synonyms.get(tool_id, {}) if entity_type not in _WITHOUT_SYNONYMS else {}
        if entity_type != "capability":
            return synonyms.get(name)
        verb, _, rest = name.partition(" ")
        found = synonyms.get(rest)
        return found._replace(name=f"{verb} {found.name}") if found is not None else None


class _Nodes:
    """Map from each name to its final node."""

    def __init__(self, names: _Names) -> None:
        self._names = names
        self._types: dict[Node, str] = {}
        self._duplicates: dict[Node, Duplicate] = {}

    def final(self, node: Node) -> Node:
        """Return the node after types and near-duplicates are merged."""
        typed = (self._types.get(node, node[0]), node[1])
        duplicate = self._duplicates.get(typed)
        return (typed[0], duplicate.target) if duplicate else typed

    def unify_types(
        self, raw: Sequence[Triple], predicates: Mapping[Signature, Resolution], ontology: Ontology
    ) -> None:
        """Choose one type for each name that was extracted with several types."""
        names = self._names
        ends = {
            (names.node(head), predicates[_signature(triple)].predicate, names.node(tail))
            for triple in raw
            for head, tail in (names.ends(triple),)
        }
        self._types = one_type(self._counts(), ends, ontology)

    def unify_duplicates(self) -> None:
        """Merge names of one type that are different spellings of one name."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for node, count in self._counts().items():
            entity_type, name = self.final(node)
            if name and entity_type in _NEAR_DUPLICATE_TYPES:
                counts[entity_type][name] += count
        for entity_type in sorted(counts):
            for duplicate in near_duplicates(counts[entity_type]):
                self._duplicates[entity_type, duplicate.name] = duplicate

    def surface_forms(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Map from node key to ``(form, count)``, most frequent first, ties in alphabetical order; nodes sorted by key."""
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
        """Return the merges of names and types. A changed spelling is a merge only when its node has another form too."""
        found: dict[tuple[str, str, str, str], Merge] = {}
        for surface, count in sorted(self._names.counts.items()):
            node = self._names.node(surface)
            if not node[1]:
                continue
            shared = len(forms[node_key(*self.final(node))]) > 1
            for merge in self._steps(surface, node, count, shared):
                key = (merge.kind, merge.entity_type, merge.surface, merge.canonical)
                found.setdefault(key, merge)
        return found.values()

    def _steps(self, surface: Surface, node: Node, count: int, shared: bool) -> Iterable[Merge]:
        entity_type, name = node
        synonym = self._names.replaced.get(surface)
        change = _Change("synonym", synonym.origin) if synonym else _change(surface, name, self._names.abbreviations)
        if change is not None and (shared or change.kind in ("abbreviation", "synonym")):
            yield Merge(
                kind=change.kind,
                entity_type=entity_type,
                surface=surface[1],
                canonical=name,
                evidence=change.evidence,
                count=count,
            )
        final_type = self._types.get(node, entity_type)
        if node in self._types:
            evidence = f"{name!r} is read as {final_type!r} most often"
            yield Merge(kind="type", entity_type=entity_type, surface=name, canonical=final_type, evidence=evidence)
        duplicate = self._duplicates.get((final_type, name))
        if duplicate:
            yield Merge(
                kind="near-duplicate",
                entity_type=final_type,
                surface=duplicate.name,
                canonical=duplicate.target,
                evidence=duplicate.evidence,
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
) -> Partition:
    kept, rejected = result = Partition([], [])
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
    return result


def _renamed(triple: Triple, head: Node, predicate: str, tail: Node) -> Triple:
    phrase = triple.phrase or ("" if predicate == triple.predicate else triple.predicate)
    return replace(
        triple,
        head=head[1],
        head_type=head[0],
        predicate=predicate,
        tail=tail[1],
        tail_type=tail[0],
        phrase=phrase,
    )


def _predicate_merges(raw: Iterable[Triple], predicates: Mapping[Signature, Resolution]) -> Iterable[Merge]:
    counts: Counter[tuple[str, Resolution]] = Counter()
    for triple in raw:
        counts[triple.phrase or triple.predicate, predicates[_signature(triple)]] += 1
    for (phrase, resolution), count in counts.items():
        if resolution.kind is not None:
            yield Merge(
                kind=resolution.kind,
                entity_type="predicate",
                surface=phrase,
                canonical=resolution.predicate,
                evidence=resolution.evidence,
                score=resolution.score,
                count=count,
            )


class _Change(NamedTuple):
    """The change from a surface form to its canonical name."""

    kind: MergeKind
    evidence: str


def _change(surface: Surface, name: str, abbreviations: Abbreviations) -> _Change | None:
    """Return the change from a surface form to its canonical name; None where they are equal."""
    entity_type, text, tool_id = surface
    if text == name:
        return None
    tokens = words(text)
    if " ".join(tokens) == name or (entity_type == "value" and text.casefold() == name):
        return _Change("case", "upper and lower case, separators")
    expanded = [(word, meaning) for word, meaning in expansions(tokens, abbreviations.of(tool_id)) if word != meaning]
    if expanded and entity_type != "value":
        meanings = (f"{word} = {meaning} ({abbreviations.source(word, tool_id)})" for word, meaning in expanded)
        return _Change("abbreviation", ", ".join(meanings))
    return _Change("inflection", "singular and base forms")


def _value_name(text: str) -> str:
    """Return a value's name: like an entity's, but abbreviations are not expanded (``AR`` may be Argentina); with symbols, only in lower case."""
    stripped = " ".join(text.split())
    named = all(letter.isalnum() or letter in _NAME_SEPARATORS for letter in stripped)
    return canonical_name(stripped) if named and any(map(str.isalpha, stripped)) else stripped.casefold()


def _with_base_verb(name: str) -> str:
    verb, _, rest = name.partition(" ")
    return f"{verb_lemma(verb)} {rest}" if rest else name
