"""Parse the answer of a model. An answer that does not match the JSON schema is rejected; else it gives triples with evidence spans."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from inference.structured_chat import SchemaParser
from ingest.extract.document_fields import field_texts, parameter_texts
from ingest.extract.extractor import Fault, Partition, partition
from ingest.extract.prompt import is_tool_name
from ontology.names import canonical_name
from ontology.tool import Tool
from ontology.triple import Provenance, Triple

__all__ = ["AnswerParser", "answer_triples"]

_QUOTED, _UNQUOTED = 0.7, 0.5  # confidence of a triple, by whether its evidence is in the document
_MAX_NAME_CHARS = 80  # a longer text is prose, not a name
_MAX_QUOTE_CHARS = 400


class AnswerParser:
    """Parser of answers with one schema.

    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._parser = SchemaParser(schema, feature="the llm extractor")

    def parse(self, text: str) -> list[dict[str, str]]:
        """Return the answer's rows; the text must be exactly one JSON object of the schema.

        :raises UnusableAnswerError: for another text.
        """
        rows: list[dict[str, str]] = self._parser.parse(text)["triples"]
        return rows


class _EvidenceSpan(NamedTuple):
    """The field of a document with the evidence, and its span; -1 when the evidence is the whole field."""

    field: str
    start: int
    end: int


def answer_triples(
    rows: Iterable[Mapping[str, str]], tool: Tool, structure: Iterable[Triple], extractor: str
) -> Partition:
    """Return the triples of an answer; triples with an unknown parameter, or with prose as a name, are rejected.

    :param rows: rows that match the schema.
    :param structure: the tool's structural triples; parameters get their names from these.
    :param extractor: versioned name of the extractor, for the provenance.
    """
    parameters = _parameters(tool, structure)
    known = set(parameters.values())
    return partition((_triple(row, tool, parameters, extractor) for row in rows), lambda one: _fault(one, known))


def _triple(row: Mapping[str, str], tool: Tool, parameters: Mapping[str, str], extractor: str) -> Triple:
    span = _find(row["evidence"], tool)
    return Triple(
        head=_node_name(row["head"], row["head_type"], tool, parameters),
        head_type=row["head_type"],
        predicate=row["predicate"],
        tail=_node_name(row["tail"], row["tail_type"], tool, parameters),
        tail_type=row["tail_type"],
        confidence=_QUOTED if span.start >= 0 else _UNQUOTED,
        provenance=Provenance(tool.id, span.field, extractor, span.start, span.end),
    )


def _fault(triple: Triple, known: Collection[str]) -> Fault | None:
    for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
        if len(name) > _MAX_NAME_CHARS and kind != "tool":
            return Fault("long-name", f"{name[:40]!r}… has {len(name)} characters: prose, not a name")
        if kind == "parameter" and name not in known:
            return Fault("unknown-parameter", f"the tool has no input or output {name!r}")
    return None


def _parameters(tool: Tool, structure: Iterable[Triple]) -> dict[str, str]:
    """Map from canonical name to the name of the parameter in the structural triples."""
    names: dict[str, str] = {}
    for triple in structure:
        if triple.tail_type == "parameter":
            names.setdefault(canonical_name(triple.tail), triple.tail)
            names.setdefault(canonical_name(triple.provenance.field.partition(".")[2]), triple.tail)
    return names


def _node_name(name: str, kind: str, tool: Tool, parameters: Mapping[str, str]) -> str:
    if kind == "tool" and is_tool_name(name):
        return tool.id
    name = " ".join(name.split())
    return parameters.get(canonical_name(name), name) if kind == "parameter" else name


def _find(quote: str, tool: Tool) -> _EvidenceSpan:
    """Find a quote in the document, ignoring case and separators; without a match, return the whole description."""
    words = quote[:_MAX_QUOTE_CHARS].strip().strip("\"'“”…").split()
    if words:
        pattern = re.compile(r"[\s_./-]*".join(map(re.escape, words)), re.IGNORECASE)
        for field, texts in _fields(tool):
            # Two inputs with the same name have two texts, so an offset would be ambiguous.
            match = pattern.search(texts[0]) if len(texts) == 1 else None
            if match:
                return _EvidenceSpan(field, match.start(), match.end())
    return _EvidenceSpan("description", -1, -1)


def _fields(tool: Tool) -> Iterator[tuple[str, list[str]]]:
    yield from ((field, field_texts(tool, field)) for field in ("description", "name", "metadata.title"))
    yield from parameter_texts(tool).items()
