"""Triples from the structure of a tool's document: inputs, outputs, metadata, declared dependencies. No sentence is parsed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.extract.document_fields import metadata_texts
from ingest.extract.parameters import PathContext, documented_name, identified_entities, path_context, referenced_entity
from ingest.extract.vocabulary import vocabulary
from ontology.names import canonical_name
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.triple import Provenance, Triple

__all__ = ["MAX_METADATA_VALUES", "MAX_VALUES", "declared_metadata", "structural_triples"]

MAX_VALUES = 20  # allowed values read per parameter
_MAX_VALUES_PER_TOOL = 200
MAX_METADATA_VALUES = 20  # values read per metadata key
_MAX_VALUE_CHARS = 60  # a longer text is prose, not a name
_NOT_VALUES = vocabulary("not_values")


def structural_triples(tool: Tool, ontology: Ontology, extractor_name: str) -> list[Triple]:
    """Return the triples of inputs, outputs, allowed values, metadata and declared dependencies.

    Confidence is 1 for declared facts and below 1 for facts inferred from a name, a path or a description (``identifies``,
    ``refers_to``).

    :param extractor_name: versioned name of the extractor, for the provenance.
    """
    builder = _TripleBuilder(tool, ontology, extractor_name)
    return [*builder.parameters(), *builder.metadata(), *builder.dependencies()]


def declared_metadata(tool: Tool, ontology: Ontology) -> dict[str, frozenset[str]]:
    """Map from predicate to the canonical names of its tails in the metadata."""
    found: dict[str, set[str]] = {}
    for predicate, value, _ in _declared(tool, ontology):
        found.setdefault(predicate, set()).add(canonical_name(value, ontology.abbreviations))
    return {predicate: frozenset(names) for predicate, names in found.items()}


class _TripleBuilder:
    """Builds the triples of one tool; predicates that the ontology does not have are left out."""

    def __init__(self, tool: Tool, ontology: Ontology, extractor_name: str) -> None:
        self.tool = tool
        self.ontology = ontology
        self.extractor = extractor_name
        self.values_left = _MAX_VALUES_PER_TOOL

    def parameters(self) -> Iterator[Triple]:
        context = path_context(self.tool)
        for kind, predicate, listed in (
            ("parameters", "has_parameter", self.tool.parameters),
            ("returns", "returns", self.tool.returns),
        ):
            for parameter in listed:
                name = documented_name(parameter, context, output=kind == "returns")
                if not canonical_name(name):
                    continue
                field = f"{kind}.{parameter.name}"
                yield from self._triple(self.tool.id, "tool", predicate, name, "parameter", field)
                yield from self._values(parameter, name, field)
                yield from self._references(parameter, context, name, field)

    def _references(self, parameter: Parameter, context: PathContext, name: str, field: str) -> Iterator[Triple]:
        abbreviations = self.ontology.abbreviations
        references = identified_entities(parameter, context, name, abbreviations)
        for reference in references:
            yield from self._triple(
                name,
                "parameter",
                "identifies",
                reference.entity,
                "business_object",
                field if reference.phrase != "path" else "metadata.path",
                confidence=reference.confidence,
                phrase=reference.phrase,
                span=(reference.start, reference.end),
            )
        other = None if references else referenced_entity(parameter, name, abbreviations)
        if other is not None:
            yield from self._triple(
                name, "parameter", "refers_to", other.entity, "business_object", field, confidence=other.confidence
            )

    def _values(self, parameter: Parameter, name: str, field: str) -> Iterator[Triple]:
        count = 0
        for value in parameter.enum:
            if count >= MAX_VALUES or self.values_left <= 0:
                return
            if _is_name(value):
                count += 1
                self.values_left -= 1
                yield from self._triple(name, "parameter", "has_value", value, "value", field)

    def metadata(self) -> Iterator[Triple]:
        for predicate, value, field in _declared(self.tool, self.ontology):
            kind = self.ontology.predicates[predicate].range[0]
            yield from self._triple(self.tool.id, "tool", predicate, value, kind, field)

    def dependencies(self) -> Iterator[Triple]:
        for dependency in self.tool.depends_on:
            yield from self._triple(
                self.tool.id, "tool", "depends_on", dependency.tool, "tool", "depends_on", phrase=dependency.reason
            )

    def _triple(
        self,
        head: str,
        head_type: str,
        predicate: str,
        tail: str,
        tail_type: str,
        field: str,
        *,
        confidence: float = 1.0,
        phrase: str = "",
        span: tuple[int, int] = (-1, -1),
    ) -> Iterator[Triple]:
        if self.ontology.allows(head_type, predicate, tail_type):
            yield Triple(
                head=head,
                head_type=head_type,
                predicate=predicate,
                tail=tail,
                tail_type=tail_type,
                confidence=confidence,
                provenance=Provenance(self.tool.id, field, self.extractor, *span),
                phrase=phrase,
            )


def _declared(tool: Tool, ontology: Ontology) -> Iterator[tuple[str, str, str]]:
    """Yield ``(predicate, value, field)`` of the metadata; without a key for the system, the namespace is the system."""
    has_system = False
    for key in tool.metadata:
        predicate = ontology.metadata_predicates.get(key, "")
        if not predicate:
            continue
        for value in _names(tool.metadata[key])[:MAX_METADATA_VALUES]:
            # Some sources write the operation into the key of the system.
            if predicate == "has_system" and (value == tool.name or tool.name.endswith((f": {value}", f"/{value}"))):
                continue
            has_system = has_system or predicate == "has_system"
            yield predicate, value, f"metadata.{key}"
    if not has_system and "has_system" in ontology.predicates and _is_name(tool.namespace):
        yield "has_system", tool.namespace, "metadata.namespace"


def _names(value: Any) -> list[str]:
    """Return the names in a metadata value: a text or a list of texts."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    return list(dict.fromkeys(text.strip() for one in listed for text in metadata_texts(one, 0) if _is_name(text)))


def _is_name(value: str) -> bool:
    """Whether a value is a name: not a number, a boolean, an address, an identifier or prose."""
    text = value.strip()
    name = canonical_name(text)
    if not name or len(text) > _MAX_VALUE_CHARS or name in _NOT_VALUES or "://" in text or "@" in text:
        return False
    letters = sum(character.isalpha() for character in text)
    # Hashes and serial ids are mostly digits; "2160p" and "gpt-4" are not.
    return letters > 0 and not (len(text) >= 16 and sum(c.isdigit() for c in text) > letters / 2) and not text.isdigit()
