"""Triple validation: a triple must match the ontology, have evidence in the document, and not contradict its declarations.

The paper lists this step as missing. It uses no model, only the document; each rejected triple has a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TypeAlias

from ingest.extract.extractor import Extraction, RejectedTriple
from ingest.extract.sentences import vocabulary
from ingest.extract.structure import declared_metadata, document_texts, documented_name, field_texts, path_context
from ontology.names import canonical_name, expand, identified_entity, noun_lemma, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.tool_graph import Triple

_TOOL, _PARAMETER = "tool", "parameter"
_PLAIN_ACTIONS = vocabulary("actions") - vocabulary("also_nouns")
_EXCLUSIVE = ("has_line_of_business", "has_department", "has_system")  # declared in full: another value contradicts
_MAX_EVIDENCE_CHARS = 200_000
_CHUNK_CHARS = 20_000  # maximum that ontology.names.words reads in one call
_Key: TypeAlias = tuple[str, str, str, str, str]


def validate(tool: Tool, triples: Iterable[Triple], ontology: Ontology) -> Extraction:
    """Return the valid triples of one tool's document, and the others with their reasons, from raw ones in document
    order; the tool may be named by its id, name or title. Of equal triples the one with the highest confidence is kept,
    at the position of the first; the others are not counted as rejected. An entity that no ``has_*`` triple connects to
    the tool gets a ``has_entity``. Reasons are ``empty-name``, ``confidence-range``, ``foreign-provenance``,
    ``tool-misplaced``, ``self-loop``, ``unknown-type``, ``unknown-predicate``, ``derived-predicate`` (egotools derives
    it; no document states it), ``outside-domain``, ``span-outside-field``, ``contradicts-declared`` and
    ``no-evidence``. Only the first 200,000 characters are searched for evidence."""
    document = _Document(tool, ontology)
    kept: list[Triple] = []
    rejected: list[RejectedTriple] = []
    for triple in triples:
        if triple.head_type == _TOOL and triple.head != tool.id and canonical_name(triple.head) in document.titles:
            triple = replace(triple, head=tool.id)
        fault = document.fault_of(triple)
        if fault is None:
            kept.append(triple)
        else:
            rejected.append(RejectedTriple(triple, *fault))
    unique = document.most_confident(kept)
    connected = {document.key(triple)[3:] for triple in unique if triple.head_type == _TOOL}
    missing = [
        replace(triple, head=tool.id, head_type=_TOOL, predicate="has_entity", phrase="", tail=name, tail_type=kind)
        for triple in unique
        for name, kind in _ends(triple)
        if ontology.allows(_TOOL, "has_entity", kind) and (kind, document.canonical(name, kind)) not in connected
    ]
    found = document.most_confident([*unique, *missing])
    return Extraction(tool_id=tool.id, triples=tuple(found), rejected=tuple(rejected))


class _Document:
    def __init__(self, tool: Tool, ontology: Ontology) -> None:
        self.tool, self.ontology = tool, ontology
        self._canonical: dict[str, str] = {}
        self.titles = {self.canonical(text) for text in (tool.id, tool.name, tool.title)} - {""}
        self.texts = field_texts(tool)
        self.metadata = declared_metadata(tool, ontology)
        context = path_context(tool)
        self.inputs = self._named(tool.parameters, [documented_name(one, context) for one in tool.parameters])
        self.outputs = self._named(tool.returns, [documented_name(one, context, output=True) for one in tool.returns])

    def canonical(self, name: str, kind: str = "") -> str:
        """Return the canonical name of an entity of a type; a tool's id is its name."""
        if kind == _TOOL:
            return name
        known = self._canonical.get(name)
        if known is None:
            known = self._canonical[name] = canonical_name(name, self.ontology.abbreviations)
        return known

    def _named(self, parameters: Sequence[Parameter], names: Sequence[str]) -> dict[str, list[Parameter]]:
        """Map from canonical name to parameters: by the name in the graph, the dotted path, and its last segment."""
        named: dict[str, list[Parameter]] = {}
        for parameter, name in zip(parameters, names, strict=True):
            variants = (name, parameter.name, parameter.name.rpartition(".")[2])
            for variant in dict.fromkeys(map(self.canonical, variants)):
                named.setdefault(variant, []).append(parameter)
        return named

    @cached_property
    def evidence(self) -> set[str]:
        """The words of the document, in any inflection, abbreviations written out too."""
        found: set[str] = set()
        left = _MAX_EVIDENCE_CHARS
        for text in document_texts(self.tool):
            found |= _words_of(text[:left])
            left -= len(text)
            if left <= 0:
                break
        for short, meaning in self.ontology.abbreviations.items():
            if found.issuperset(short.split()):
                found |= _words_of(meaning)
        for parameter in (*self.tool.parameters, *self.tool.returns):  # "sessionid" is evidence of a session
            found.update(identified_entity(parameter.name, self.ontology.abbreviations).split())
        return found

    def key(self, triple: Triple) -> _Key:
        head, tail = self.canonical(triple.head, triple.head_type), self.canonical(triple.tail, triple.tail_type)
        return (triple.head_type, head, triple.predicate, triple.tail_type, tail)

    def most_confident(self, triples: Iterable[Triple]) -> list[Triple]:
        best: dict[_Key, Triple] = {}
        for triple in triples:
            key = self.key(triple)
            if key not in best or triple.confidence > best[key].confidence:
                best[key] = triple
        return list(best.values())

    def fault_of(self, triple: Triple) -> tuple[str, str] | None:
        """Return the reason to reject a triple, and a sentence; None for a valid one."""
        head_type, head, _, tail_type, tail = self.key(triple)
        evidence = triple.provenance
        if not head or not tail:
            return ("empty-name", "one end has no letter or digit")
        if not 0.0 <= triple.confidence <= 1.0:
            return ("confidence-range", f"the confidence {triple.confidence} is not between 0 and 1")
        if evidence.tool_id != self.tool.id or not evidence.extractor or not evidence.field:
            return ("foreign-provenance", "the provenance does not name this tool, a field of it and an extractor")
        for kind in (head_type, tail_type):
            if kind not in self.ontology.entity_types:
                return ("unknown-type", f"the ontology has no entity type {kind!r}")
        predicate = self.ontology.predicates.get(triple.predicate)
        if predicate is None:
            return ("unknown-predicate", f"the ontology has no predicate {triple.predicate!r}")
        if predicate.derived:
            return ("derived-predicate", "egotools derives this predicate between tools; no document states it")
        if not self.ontology.allows(head_type, triple.predicate, tail_type):
            return ("outside-domain", f"{triple.predicate!r} is not allowed from {head_type!r} to {tail_type!r}")
        if misplaced := self._misplaced(triple, {head: head_type, tail: tail_type}):
            return ("tool-misplaced", misplaced)
        # The parameter `city` that refers to the business object "city" is no loop: they are two nodes.
        if head == tail and (head_type == tail_type or _PARAMETER not in (head_type, tail_type)):
            return ("self-loop", f"head and tail are both {head!r}")
        texts, span = self.texts.get(evidence.field), (evidence.start, evidence.end)
        if not texts:
            return ("span-outside-field", f"the tool has no field {evidence.field!r}")
        if span != (-1, -1) and not (0 <= span[0] < span[1] <= max(map(len, texts))):
            return ("span-outside-field", f"characters {span[0]} to {span[1]} are not inside {evidence.field!r}")
        if conflict := self._conflict(triple):
            return ("contradicts-declared", conflict)
        for name, kind in _ends(triple):
            for word in expand(words(name), self.ontology.abbreviations) if kind != _TOOL else ():
                if self.evidence.isdisjoint(_lemmas(word)):
                    return ("no-evidence", f"{word!r} of {name!r} is not in the document")
        return None

    def _misplaced(self, triple: Triple, ends: Mapping[str, str]) -> str:
        """Return why a tool must not be at this end of the triple, or empty."""
        tool_heads = triple.predicate.startswith("has_") or triple.predicate in ("returns", "depends_on")
        if triple.head_type == _TOOL and (triple.head != self.tool.id or not tool_heads):
            return "a tool heads only its own has_*, returns and depends_on triples"
        if triple.tail_type == _TOOL and not (triple.predicate == "depends_on" and triple.head_type == _TOOL):
            return "a tool is a tail only of another tool's depends_on"
        for name, kind in ends.items():
            # "Purchase Order" may be a tool and an object; "Send Reminder" is an action, so it is a capability.
            if kind not in (_TOOL, _PARAMETER, "capability", "value") and name in self.titles:
                first, *others = words(name) or [""]
                if others and first in _PLAIN_ACTIONS:
                    return f"{name!r} is the tool itself, not an entity"
        return ""

    def _conflict(self, triple: Triple) -> str:
        predicate, head, tail = triple.predicate, self.canonical(triple.head), self.canonical(triple.tail)
        if predicate == "has_parameter":
            return "" if tail in self.inputs else f"the tool has no input {triple.tail!r}"
        if predicate == "returns":
            known = not self.tool.returns or tail in self.outputs
            return "" if known else f"the tool declares its outputs, and {triple.tail!r} is none of them"
        declared = self.metadata.get(predicate) if predicate in _EXCLUSIVE else None
        if declared and tail not in declared:
            return f"the metadata declares another {predicate.removeprefix('has_').replace('_', ' ')}"
        for name, kind in _ends(triple):
            known = self.canonical(name) in self.inputs or self.canonical(name) in self.outputs
            if kind == _PARAMETER and not known:
                return f"the tool has no input or output {name!r}"
        if predicate == "has_value":
            of_name = (*self.inputs.get(head, ()), *self.outputs.get(head, ()))
            allowed = {self.canonical(value) for parameter in of_name for value in parameter.enum}
            if allowed and tail not in allowed:
                return f"{triple.tail!r} is not among the allowed values of {triple.head!r}"
        return ""


def _ends(triple: Triple) -> tuple[tuple[str, str], tuple[str, str]]:
    return (triple.head, triple.head_type), (triple.tail, triple.tail_type)


@lru_cache(maxsize=1 << 12)  # the tools of one document repeat the descriptions of their fields
def _words_of(text: str) -> frozenset[str]:
    """The words of a text, as they stand and in their base forms."""
    chunks = (text[start : start + _CHUNK_CHARS] for start in range(0, len(text), _CHUNK_CHARS))
    return frozenset(lemma for chunk in chunks for word in words(chunk) for lemma in _lemmas(word))


@lru_cache(maxsize=1 << 16)
def _lemmas(word: str) -> frozenset[str]:
    return frozenset((word, noun_lemma(word), verb_lemma(word)))
