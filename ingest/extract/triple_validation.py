"""Triple validation: a triple must match the ontology, have evidence in the document, and not contradict its declarations.

The paper lists this step as missing. It uses no model, only the document; each rejected triple has a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from ingest.extract.extractor import Extraction, Fault, Partition, partition
from ingest.extract.sentences import ACTIONS, ALSO_NOUNS
from ingest.extract.structure import (
    declared_metadata,
    document_texts,
    documented_name,
    field_texts,
    parameter_texts,
    path_context,
)
from ontology.names import canonical_name, expand, identified_entity, noun_lemma, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.tool_graph import Triple

__all__ = ["REASONS", "apply_triple_rules", "validate"]

_TOOL = "tool"
_PARAMETER = "parameter"
_Canonical = Callable[[str, str], str]
_Key = tuple[str, str, str, str, str]


def apply_triple_rules(tool: Tool, triples: Iterable[Triple], ontology: Ontology) -> Extraction:
    """Apply the paper's rules to the triples of one tool's document.

    A triple that violates a rule goes to ``Extraction.rejected`` with one of the reasons ``empty-name``,
    ``confidence-range``, ``foreign-provenance``, ``tool-misplaced`` and ``self-loop``. Of equal triples the one with the
    highest confidence is kept, at the position of the first; the others are not counted as rejected.

    :param triples: raw triples in document order; the tool may be named by its id, name or title.
    """
    canonical = _canonical(ontology)
    titles = frozenset(canonical(text, "") for text in (tool.id, tool.name, tool.title)) - {""}
    with_ids = (_with_tool_id(triple, tool, titles) for triple in triples)
    checked = partition(with_ids, lambda triple: _fault(triple, tool, titles, canonical))
    unique = _most_confident(checked.kept, canonical)
    named = _most_confident([*unique, *_has_entity(tool, unique, ontology, canonical)], canonical)
    return Extraction(tool_id=tool.id, triples=tuple(named), rejected=tuple(checked.rejected))


def _canonical(ontology: Ontology) -> _Canonical:
    """Return a cached function from name and type to canonical name, for one tool."""

    @cache
    def canonical(name: str, kind: str) -> str:
        return name if kind == _TOOL else canonical_name(name, ontology.abbreviations)

    return canonical


def _key(triple: Triple, canonical: _Canonical) -> _Key:
    return (
        triple.head_type,
        canonical(triple.head, triple.head_type),
        triple.predicate,
        triple.tail_type,
        canonical(triple.tail, triple.tail_type),
    )


def _with_tool_id(triple: Triple, tool: Tool, titles: frozenset[str]) -> Triple:
    """Return the triple with the tool's id as its head when the head is the tool's name or title."""
    if triple.head_type == _TOOL and triple.head != tool.id and canonical_name(triple.head) in titles:
        return replace(triple, head=tool.id)
    return triple


def _fault(triple: Triple, tool: Tool, titles: frozenset[str], canonical: _Canonical) -> Fault | None:
    key = _key(triple, canonical)
    head, tail = key[1], key[4]
    if not head or not tail:
        return Fault("empty-name", "one end has no letter or digit")
    if not 0.0 <= triple.confidence <= 1.0:
        return Fault("confidence-range", f"the confidence {triple.confidence} is not between 0 and 1")
    if triple.provenance.tool_id != tool.id or not triple.provenance.extractor or not triple.provenance.field:
        return Fault("foreign-provenance", "the provenance does not name this tool, a field of it and an extractor")
    if misplaced := _misplaced(triple, tool, titles, (head, tail)):
        return Fault("tool-misplaced", misplaced)
    if head == tail and (
        triple.head_type == triple.tail_type or _PARAMETER not in (triple.head_type, triple.tail_type)
    ):
        # The parameter `city` that refers to the business object "city" is no loop: they are two nodes.
        return Fault("self-loop", f"head and tail are both {head!r}")
    return None


def _misplaced(triple: Triple, tool: Tool, titles: frozenset[str], ends: tuple[str, str]) -> str:
    """Return why a tool must not be at this end of the triple, or empty."""
    tool_heads = triple.predicate.startswith("has_") or triple.predicate in ("returns", "depends_on")
    if triple.head_type == _TOOL and (triple.head != tool.id or not tool_heads):
        return "a tool heads only its own has_*, returns and depends_on triples"
    if triple.tail_type == _TOOL and not (triple.predicate == "depends_on" and triple.head_type == _TOOL):
        return "a tool is a tail only of another tool's depends_on"
    for name, kind in zip(ends, (triple.head_type, triple.tail_type), strict=True):
        # "Purchase Order" may be a tool and an object; "Send Reminder" is an action, so it is a capability.
        if kind not in (_TOOL, _PARAMETER, "capability", "value") and name in titles and _is_action(name):
            return f"{name!r} is the tool itself, not an entity"
    return ""


def _is_action(name: str) -> bool:
    tokens = words(name)
    return len(tokens) > 1 and tokens[0] in ACTIONS and tokens[0] not in ALSO_NOUNS


def _most_confident(triples: Iterable[Triple], canonical: _Canonical) -> list[Triple]:
    best: dict[_Key, Triple] = {}
    for triple in triples:
        key = _key(triple, canonical)
        if key not in best or triple.confidence > best[key].confidence:
            best[key] = triple
    return list(best.values())


def _has_entity(tool: Tool, triples: Iterable[Triple], ontology: Ontology, canonical: _Canonical) -> Iterator[Triple]:
    """Yield the missing has_entity triples: of entities that no other has_* triple connects to the tool."""
    connected = {_key(t, canonical)[3:] for t in triples if t.head_type == _TOOL}
    for triple in triples:
        template = replace(triple, head=tool.id, head_type=_TOOL, predicate="has_entity", phrase="")
        for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
            is_entity = ontology.allows(_TOOL, "has_entity", kind)
            if is_entity and (kind, canonical(name, kind)) not in connected:
                yield replace(template, tail=name, tail_type=kind)


# Map from reason code to its description.
REASONS = {
    "unknown-type": "an end has a type that the ontology does not have",
    "unknown-predicate": "the ontology has no such predicate",
    "derived-predicate": "egotools derives this predicate between tools; no document states it",
    "outside-domain": "the predicate is not allowed between these types",
    "confidence-range": "the confidence is not between 0 and 1",
    "span-outside-field": "the span of the evidence is outside its field",
    "no-evidence": "a word of the head or the tail is not in the document",
    "contradicts-declared": "the document declares something else",
}
_MAX_EVIDENCE_CHARS = 200_000
_MAX_REMEMBERED = 4_000  # texts whose words are kept, some 10 MB; chosen, not tuned
_CHUNK_CHARS = 20_000  # maximum that ontology.names.words reads in one call


def validate(tool: Tool, triples: Sequence[Triple], ontology: Ontology) -> Partition:
    """Divide the triples of one tool's document into valid and rejected ones; reasons are keys of :data:`REASONS`.

    Only the first 200,000 characters of the document are searched for evidence.
    """
    document = _Document(tool, ontology)
    return partition(triples, lambda triple: next(filter(None, (check(triple, document) for check in _CHECKS)), None))


class _Document:
    """One tool's document, prepared once for all of its triples."""

    def __init__(self, tool: Tool, ontology: Ontology) -> None:
        self.tool = tool
        self.ontology = ontology
        self._canonical: dict[str, str] = {}
        self._allowed: dict[str, frozenset[str]] = {}
        self.lemmas = _evidence(tool, ontology)
        context = path_context(tool)
        self.inputs = self._named(tool.parameters, [documented_name(one, context) for one in tool.parameters])
        self.outputs = self._named(tool.returns, [documented_name(one, context, output=True) for one in tool.returns])
        self.metadata = declared_metadata(tool, ontology)
        self._texts = parameter_texts(tool)

    def _named(self, parameters: Sequence[Parameter], names: Sequence[str]) -> dict[str, list[Parameter]]:
        """Map from canonical name to parameters: by the name in the graph, the dotted path, and its last segment."""
        named: dict[str, list[Parameter]] = {}
        for parameter, name in zip(parameters, names, strict=True):
            variants = (name, parameter.name, parameter.name.rpartition(".")[2])
            for variant in dict.fromkeys(self.canonical(text) for text in variants):
                named.setdefault(variant, []).append(parameter)
        return named

    def texts(self, field: str) -> list[str]:
        """Return the texts of a provenance field; an empty list when the tool has no such field."""
        known = self._texts.get(field)
        if known is None:
            known = self._texts[field] = field_texts(self.tool, field)
        return known

    def canonical(self, name: str) -> str:
        known = self._canonical.get(name)
        if known is None:
            known = self._canonical[name] = canonical_name(name, self.ontology.abbreviations)
        return known

    def allowed(self, name: str, parameters: Sequence[Parameter]) -> frozenset[str]:
        """Return the allowed values of the parameters with this name; empty when every value is allowed."""
        if name not in self._allowed:
            values = {self.canonical(value) for parameter in parameters for value in parameter.enum}
            self._allowed[name] = frozenset(values)
        return self._allowed[name]


_Check = Callable[[Triple, _Document], Fault | None]


def _in_ontology(triple: Triple, document: _Document) -> Fault | None:
    ontology = document.ontology
    for kind in (triple.head_type, triple.tail_type):
        if kind not in ontology.entity_types:
            return Fault("unknown-type", f"the ontology has no entity type {kind!r}")
    predicate = ontology.predicates.get(triple.predicate)
    if predicate is None:
        return Fault("unknown-predicate", f"the ontology has no predicate {triple.predicate!r}")
    if predicate.derived:
        return Fault("derived-predicate", REASONS["derived-predicate"])
    if not ontology.allows(triple.head_type, triple.predicate, triple.tail_type):
        return Fault(
            "outside-domain", f"{triple.predicate!r} is not allowed from {triple.head_type!r} to {triple.tail_type!r}"
        )
    return None


def _confidence_in_range(triple: Triple, document: _Document) -> Fault | None:
    if 0.0 <= triple.confidence <= 1.0:
        return None
    return Fault("confidence-range", f"the confidence is {triple.confidence}")


def _span_inside(triple: Triple, document: _Document) -> Fault | None:
    span = triple.provenance
    texts = document.texts(span.field)
    if not texts:
        return Fault("span-outside-field", f"the tool has no field {span.field!r}")
    if (span.start, span.end) == (-1, -1):
        return None
    if 0 <= span.start < span.end and any(span.end <= len(text) for text in texts):
        return None
    return Fault("span-outside-field", f"characters {span.start} to {span.end} are not inside {span.field!r}")


def _has_evidence(triple: Triple, document: _Document) -> Fault | None:
    """Check that every word of both ends is in the document, in any inflection, with abbreviations expanded."""
    for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
        if kind == "tool":
            continue
        for word in expand(words(name), document.ontology.abbreviations):
            if document.lemmas.isdisjoint(_lemmas(word)):
                return Fault("no-evidence", f"{word!r} of {name!r} is not in the document")
    return None


def _contradiction(triple: Triple, document: _Document) -> Fault | None:
    check = _CONFLICT_CHECKS.get(triple.predicate)
    conflict = check(triple, document) if check else ""
    declared = document.metadata.get(triple.predicate, frozenset()) if triple.predicate in _EXCLUSIVE else frozenset()
    if not conflict and declared and document.canonical(triple.tail) not in declared:
        conflict = f"the metadata declares another {triple.predicate.removeprefix('has_').replace('_', ' ')}"
    if not conflict and "parameter" in (triple.head_type, triple.tail_type) and check is None:
        conflict = _unknown_parameter(triple, document)
    return Fault("contradicts-declared", conflict) if conflict else None


def _unknown_parameter(triple: Triple, document: _Document) -> str:
    for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
        known = document.canonical(name)
        if kind == "parameter" and known not in document.inputs and known not in document.outputs:
            return f"the tool has no input or output {name!r}"
    return ""


def _input_conflict(triple: Triple, document: _Document) -> str:
    known = document.canonical(triple.tail) in document.inputs
    return "" if known else f"the tool has no input {triple.tail!r}"


def _output_conflict(triple: Triple, document: _Document) -> str:
    if not document.tool.returns or document.canonical(triple.tail) in document.outputs:
        return ""
    return f"the tool declares its outputs, and {triple.tail!r} is none of them"


def _value_conflict(triple: Triple, document: _Document) -> str:
    name = document.canonical(triple.head)
    found = [*document.inputs.get(name, ()), *document.outputs.get(name, ())]
    if not found:
        return f"the tool has no input or output {triple.head!r}"
    allowed = document.allowed(name, found)
    if allowed and document.canonical(triple.tail) not in allowed:
        return f"{triple.tail!r} is not among the allowed values of {triple.head!r}"
    return ""


def _dependency_conflict(triple: Triple, document: _Document) -> str:
    """Check that a dependency between tools does not reverse a declared one."""
    tool = document.tool
    if triple.tail_type != "tool" or triple.head_type != "tool":
        return _unknown_parameter(triple, document)
    declared = {dependency.tool for dependency in tool.depends_on}
    if triple.head in declared and triple.tail == tool.id:
        return f"the tool declares the reverse: it depends on {triple.head!r}"
    return ""


# Metadata of these predicates is complete: another value contradicts it.
_EXCLUSIVE = frozenset(("has_line_of_business", "has_department", "has_system"))
_CONFLICT_CHECKS: dict[str, Callable[[Triple, _Document], str]] = {
    "has_parameter": _input_conflict,
    "returns": _output_conflict,
    "has_value": _value_conflict,
    "depends_on": _dependency_conflict,
}
_CHECKS: tuple[_Check, ...] = (_in_ontology, _confidence_in_range, _span_inside, _contradiction, _has_evidence)


def _evidence(tool: Tool, ontology: Ontology) -> frozenset[str]:
    found: set[str] = set()
    left = _MAX_EVIDENCE_CHARS
    of_texts = _text_evidence(ontology)
    for text in document_texts(tool):
        text = text[:left]
        left -= len(text)
        found |= of_texts.of(text)
        if left <= 0:
            break
    for parameter in (*tool.parameters, *tool.returns):
        # "sessionid" is evidence of a session.
        found.update(identified_entity(parameter.name, ontology.abbreviations).split())
    return frozenset(found)


class _TextEvidence:
    """The words of texts, in any inflection. The tools of one document repeat the descriptions of their fields."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology
        self._known: dict[str, frozenset[str]] = {}

    def of(self, text: str) -> frozenset[str]:
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            known = self._known[text] = self._found(text)
        return known

    def _found(self, text: str) -> frozenset[str]:
        found: set[str] = set()
        for start in range(0, len(text), _CHUNK_CHARS):
            read = words(text[start : start + _CHUNK_CHARS])
            for word in expand(read, self.ontology.abbreviations):
                found |= _lemmas(word)
            found.update(read)  # an abbreviation is also evidence in its short form
        return frozenset(found)


_last: list[_TextEvidence] = []  # of the ontology that was used last; a build uses one


def _text_evidence(ontology: Ontology) -> _TextEvidence:
    if not _last or _last[0].ontology is not ontology:
        _last[:] = [_TextEvidence(ontology)]
    return _last[0]


@lru_cache(maxsize=1 << 16)
def _lemmas(word: str) -> frozenset[str]:
    return frozenset((word, noun_lemma(word), verb_lemma(word)))
