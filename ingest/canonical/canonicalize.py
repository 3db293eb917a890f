"""Canonicalise raw triples: one name for each object, one type for each name, and the ontology's predicates.

Tools are never changed. Every merge is reported with its evidence; every surface form is returned with its count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from ingest.canonical.duplicates import Duplicate, near_duplicates
from ingest.extract.extractor import Partition, RejectedTriple
from ingest.graph import node_key
from ingest.word_lists import word_list
from ontology.names import canonical_name, expansions, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.tool_graph import Synonym, Synonyms, Triple

__all__ = ["Canonicalization", "canonicalize"]

# "Purchase Order (PO)", "bill of materials (BOMs)"; and in reverse order "PO (purchase order)".
_LONG_SHORT = re.compile(r"((?:[^\W\d_][\w'’/-]*[ \t]+){1,8})\(\s*([A-Z][A-Z0-9&]{1,5})s?\s*\)")
_SHORT_LONG = re.compile(r"\b([A-Z][A-Z0-9&]{1,5})s?[ \t]*\(\s*((?:[^\W\d_][\w'’/-]*[ \t]*){2,8})\)")
_LOWER_WORD = re.compile(r"(?<![\w.`'\"_<{])[a-z][a-z0-9]{1,5}(?![\w`'\"=:>}])")
_SMALL = word_list("canonical", "abbreviation_small_words")
_MAX_CHARS = 20_000


@dataclass(frozen=True, kw_only=True)
class Abbreviations:
    """Abbreviations with their expansions, and the scope of each.

    :param everywhere: map from lower-case abbreviation to its expansion in the whole catalogue.
    :param in_tool: map from tool id to all expansions in its document, for documents that differ from ``everywhere``.
    :param declared_by: map from abbreviation to the id of the first tool that declares the expansion used everywhere.
    :param warnings: conflicts between documents, one sentence each.
    """

    everywhere: Mapping[str, str]
    in_tool: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    declared_by: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def of(self, tool_id: str) -> Mapping[str, str]:
        """Return the expansions in one tool's document."""
        return self.in_tool.get(tool_id, self.everywhere)

    def source(self, abbreviation: str, tool_id: str) -> str:
        """Return the source of an expansion, one clause."""
        own = self.in_tool.get(tool_id)
        if own is not None and own.get(abbreviation) != self.everywhere.get(abbreviation):
            return f"declared in the document of {tool_id}"
        declared = self.declared_by.get(abbreviation)
        return f"declared in the document of {declared}" if declared else "the ontology's list"


def read_abbreviations(tools: Sequence[Tool], ontology: Ontology) -> Abbreviations:
    """Collect the abbreviations that documents declare, and those of the ontology.

    An expansion is used in the document that declares it. It is used everywhere when no other document and no entry of the
    ontology has another one, and when the abbreviation is no ordinary word in the catalogue's descriptions.
    """
    meanings: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for tool in tools:
        for short, meaning in sorted(set(_declared(tool))):
            meanings[short][meaning].append(tool.id)
    everywhere = dict(ontology.abbreviations)
    declared_by: dict[str, str] = {}
    warnings: list[str] = []
    prose = _lower_words(tools, {short for short in meanings if short not in everywhere})
    for short, found in sorted(meanings.items()):
        listed = everywhere.get(short)
        if listed is not None and set(found) != {canonical_name(listed)}:
            warnings.append(_conflict(short, found, f"the ontology's list says {listed!r} and holds elsewhere"))
        elif len(found) > 1:
            warnings.append(_conflict(short, found, "it holds in those documents only"))
        elif listed is None and short in prose:
            warnings.append(_conflict(short, found, "it is also an ordinary word, so it holds in those documents only"))
        elif listed is None:
            ((everywhere[short], by),) = found.items()
            declared_by[short] = by[0]
    in_tool = _local(meanings, everywhere)
    return Abbreviations(everywhere=everywhere, in_tool=in_tool, declared_by=declared_by, warnings=tuple(warnings))


def _local(meanings: Mapping[str, Mapping[str, list[str]]], everywhere: Mapping[str, str]) -> dict[str, dict[str, str]]:
    own: dict[str, dict[str, str]] = defaultdict(dict)
    for short, found in sorted(meanings.items()):
        for meaning, tool_ids in sorted(found.items()):
            for tool_id in tool_ids:
                if canonical_name(everywhere.get(short, "")) != meaning:
                    own[tool_id].setdefault(short, meaning)
    return {tool_id: {**everywhere, **local} for tool_id, local in own.items()}


def _conflict(short: str, found: Mapping[str, list[str]], outcome: str) -> str:
    declarations = "; ".join(f"{meaning!r} in {by[0]}" for meaning, by in sorted(found.items()))
    return f"the abbreviation {short!r} is declared as {declarations}: {outcome}"


def _declared(tool: Tool) -> Iterator[tuple[str, str]]:
    for text in _texts(tool):
        if "(" not in text:
            continue
        for match in _LONG_SHORT.finditer(text[:_MAX_CHARS]):
            if meaning := _meaning(match[2], match[1], at_end=True):
                yield match[2].lower(), meaning
        for match in _SHORT_LONG.finditer(text[:_MAX_CHARS]):
            if meaning := _meaning(match[1], match[2], at_end=False):
                yield match[1].lower(), meaning


def _texts(tool: Tool) -> Iterable[str]:
    yield tool.description
    yield from (parameter.description for parameter in (*tool.parameters, *tool.returns))


def _meaning(short: str, text: str, *, at_end: bool) -> str:
    """Return the canonical name of the words whose initials are ``short`` (initials of small words are optional), or empty."""
    initials = [letter for letter in short.lower() if letter.isalnum()]
    tokens = words(text)
    if len(initials) < 2 or not tokens or tokens[-1] in _SMALL:
        return ""
    starts = range(len(tokens) - 1, -1, -1) if at_end else (0,)
    for start in starts:
        if tokens[start] not in _SMALL and _has_initials(tokens[start:], initials):
            return canonical_name(" ".join(tokens[start:]))
    return ""


def _has_initials(tokens: Sequence[str], initials: Sequence[str]) -> bool:
    if not tokens:
        return not initials
    if initials and tokens[0][0] == initials[0] and _has_initials(tokens[1:], initials[1:]):
        return True
    return tokens[0] in _SMALL and _has_initials(tokens[1:], initials)


def _lower_words(tools: Sequence[Tool], wanted: set[str]) -> set[str]:
    """Return the words of ``wanted`` that appear in lower case in some description: these are also ordinary words."""
    seen: set[str] = set()
    if wanted:
        for tool in tools:
            for text in _texts(tool):
                seen.update(word for word in _LOWER_WORD.findall(text[:_MAX_CHARS]) if word in wanted)
    return seen


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


Node = tuple[str, str]
"""``(type, name)``"""

Ends = tuple[Node, str, Node]
"""``(head, predicate, tail)``"""


def _declared_types(ontology: Ontology) -> frozenset[str]:
    """Return the types that documents declare by structure or metadata; they never change (a department "sales")."""
    declared = {"tool", "parameter", "value"}
    for predicate in ontology.predicates.values():
        if predicate.metadata:
            declared.update(predicate.range)
    return frozenset(declared)


def one_type(counts: Mapping[Node, int], ends: Iterable[Ends], ontology: Ontology) -> dict[Node, str]:
    """Map from each node whose type changes to its new type.

    The new type is the most frequent type of the name, ties in alphabetical order. A change is left out when it would violate the
    domain or range of a triple's predicate.

    :param counts: map from node to its number of occurrences.
    :param ends: the distinct triples, for the check of domain and range.
    """
    fixed = _declared_types(ontology)
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    for (entity_type, name), count in counts.items():
        if entity_type not in fixed:
            by_name[name][entity_type] += count
    changes: dict[Node, str] = {}
    for name, types in by_name.items():
        chosen = min(types, key=lambda candidate: (-types[candidate], candidate))
        changes.update(((entity_type, name), chosen) for entity_type in types if entity_type != chosen)
    if changes:
        _remove_invalid(changes, [end for end in set(ends) if end[0] in changes or end[2] in changes], ontology)
    return changes


def _remove_invalid(changes: dict[Node, str], ends: Iterable[Ends], ontology: Ontology) -> None:
    """Remove the changes that make a valid triple invalid; repeat until there are none."""
    valid = [(h, p, t) for h, p, t in ends if ontology.allows(h[0], p, t[0])]
    while True:
        invalid = {
            node
            for head, predicate, tail in valid
            if not ontology.allows(changes.get(head, head[0]), predicate, changes.get(tail, tail[0]))
            for node in (head, tail)
            if node in changes
        }
        if not invalid:
            return
        for node in invalid:
            del changes[node]


_NEAR_DUPLICATE_TYPES = ("business_object", "capability")
_WITHOUT_SYNONYMS = ("tool", "parameter", "value")
_NAME_SEPARATORS = frozenset(" _-./,:;'’()[]&")


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
