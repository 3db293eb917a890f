"""Triples that the structure of a tool's document declares; no text is parsed here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.extract.document_fields import metadata_texts
from ingest.extract.parameters import Place, documented_name, identified, place, referred
from ingest.extract.vocabulary import vocabulary
from ontology.names import canonical_name
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.triple import Provenance, Triple

__all__ = ["MAX_METADATA_VALUES", "MAX_VALUES", "declared_metadata", "structural_triples"]

MAX_VALUES = 20  # allowed values taken per parameter
_MAX_VALUES_PER_TOOL = 200
MAX_METADATA_VALUES = 20  # values taken per metadata key
_LONGEST_VALUE = 60  # characters; longer is prose, not a name
_NOT_VALUES = vocabulary("not_values")


def structural_triples(tool: Tool, ontology: Ontology, extractor_name: str) -> list[Triple]:
    """The triples of inputs, outputs, allowed values, metadata and declared dependencies.

    Confidence is 1 for what is declared and below 1 for what is concluded from a name, a path or a description (``identifies``,
    ``refers_to``).

    :param extractor_name: versioned name that the provenance carries.
    """
    writer = _Writer(tool, ontology, extractor_name)
    return [*writer.parameters(), *writer.metadata(), *writer.dependencies()]


def declared_metadata(tool: Tool, ontology: Ontology) -> dict[str, frozenset[str]]:
    """Predicate → canonical names that the metadata gives it."""
    said: dict[str, set[str]] = {}
    for predicate, value, _ in _declared(tool, ontology):
        said.setdefault(predicate, set()).add(canonical_name(value, ontology.abbreviations))
    return {predicate: frozenset(names) for predicate, names in said.items()}


class _Writer:
    """Writes the triples of one tool; predicates that the ontology does not have are left out."""

    def __init__(self, tool: Tool, ontology: Ontology, extractor_name: str) -> None:
        self.tool = tool
        self.ontology = ontology
        self.extractor = extractor_name
        self.values_left = _MAX_VALUES_PER_TOOL

    def parameters(self) -> Iterator[Triple]:
        where = place(self.tool)
        for kind, predicate, listed in (
            ("parameters", "has_parameter", self.tool.parameters),
            ("returns", "returns", self.tool.returns),
        ):
            for parameter in listed:
                name = documented_name(parameter, where, output=kind == "returns")
                if not canonical_name(name):
                    continue
                field = f"{kind}.{parameter.name}"
                yield from self._triple(self.tool.id, "tool", predicate, name, "parameter", field)
                yield from self._values(parameter, name, field)
                yield from self._meanings(parameter, where, name, field)

    def _meanings(self, parameter: Parameter, where: Place, name: str, field: str) -> Iterator[Triple]:
        abbreviations = self.ontology.abbreviations
        meanings = identified(parameter, where, name, abbreviations)
        for meaning in meanings:
            yield from self._triple(
                name,
                "parameter",
                "identifies",
                meaning.entity,
                "business_object",
                field if meaning.phrase != "path" else "metadata.path",
                confidence=meaning.confidence,
                phrase=meaning.phrase,
                span=(meaning.start, meaning.end),
            )
        other = None if meanings else referred(parameter, name, abbreviations)
        if other is not None:
            yield from self._triple(
                name, "parameter", "refers_to", other.entity, "business_object", field, confidence=other.confidence
            )

    def _values(self, parameter: Parameter, name: str, field: str) -> Iterator[Triple]:
        taken = 0
        for value in parameter.enum:
            if taken >= MAX_VALUES or self.values_left <= 0:
                return
            if _is_name(value):
                taken += 1
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
    """``(predicate, value, field)`` of the metadata; where no key names a system, the namespace does."""
    system = False
    for key in tool.metadata:
        predicate = ontology.metadata_predicates.get(key, "")
        if not predicate:
            continue
        for value in _names(tool.metadata[key])[:MAX_METADATA_VALUES]:
            # Some sources write the operation where others write the system.
            if predicate == "has_system" and (value == tool.name or tool.name.endswith((f": {value}", f"/{value}"))):
                continue
            system = system or predicate == "has_system"
            yield predicate, value, f"metadata.{key}"
    if not system and "has_system" in ontology.predicates and _is_name(tool.namespace):
        yield "has_system", tool.namespace, "metadata.namespace"


def _names(value: Any) -> list[str]:
    """The names in a metadata value: a text or a list of texts."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    return list(dict.fromkeys(text.strip() for one in listed for text in metadata_texts(one, 0) if _is_name(text)))


def _is_name(value: str) -> bool:
    """Whether a value names something: not a number, truth value, address, identifier or prose."""
    text = value.strip()
    name = canonical_name(text)
    if not name or len(text) > _LONGEST_VALUE or name in _NOT_VALUES or "://" in text or "@" in text:
        return False
    letters = sum(character.isalpha() for character in text)
    # Hashes and serial ids are mostly digits; "2160p" and "gpt-4" are not.
    return letters > 0 and not (len(text) >= 16 and sum(c.isdigit() for c in text) > letters / 2) and not text.isdigit()
