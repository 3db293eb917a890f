"""Read the answer of a model: JSON inside the schema, or rejected as a whole; then triples with the place of their evidence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from inference.structured_chat import SchemaParser
from ingest.extract.document_fields import field_texts
from ingest.extract.extractor import Fault, Sorted, sort_out
from ingest.extract.prompt import is_the_tool
from ontology.names import canonical_name
from ontology.tool import Tool
from ontology.triple import Provenance, Triple

__all__ = ["AnswerReader", "answer_triples"]

_QUOTED, _UNQUOTED = 0.7, 0.5  # confidence of a triple, by whether its evidence is in the document
_LONGEST_NAME = 80  # characters; longer is prose, not a name
_LONGEST_QUOTE = 400


class AnswerReader:
    """Reads answers against one schema.

    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._parser = SchemaParser(schema, feature="the llm extractor")

    def read(self, text: str) -> list[dict[str, str]]:
        """The answer's rows; the text must be one JSON object and nothing else.

        :raises UnusableAnswerError: for anything else.
        """
        rows: list[dict[str, str]] = self._parser.parse(text)["triples"]
        return rows


class _Place(NamedTuple):
    """The field of a document that holds the evidence, and its span; -1 for the field as a whole."""

    field: str
    start: int
    end: int


def answer_triples(
    rows: Iterable[Mapping[str, str]], tool: Tool, structure: Iterable[Triple], extractor: str
) -> Sorted:
    """The triples of an answer; those that name an unknown parameter, or prose, are rejected.

    :param rows: rows inside the schema.
    :param structure: the tool's structural triples; a parameter has the name that it has there.
    :param extractor: versioned name that the provenance carries.
    """
    parameters = _parameters(tool, structure)
    known = set(parameters.values())
    return sort_out((_triple(row, tool, parameters, extractor) for row in rows), lambda one: _fault(one, known))


def _triple(row: Mapping[str, str], tool: Tool, parameters: Mapping[str, str], extractor: str) -> Triple:
    place = _find(row["evidence"], tool)
    return Triple(
        head=_named(row["head"], row["head_type"], tool, parameters),
        head_type=row["head_type"],
        predicate=row["predicate"],
        tail=_named(row["tail"], row["tail_type"], tool, parameters),
        tail_type=row["tail_type"],
        confidence=_QUOTED if place.start >= 0 else _UNQUOTED,
        provenance=Provenance(tool.id, place.field, extractor, place.start, place.end),
    )


def _fault(triple: Triple, known: Collection[str]) -> Fault | None:
    for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
        if len(name) > _LONGEST_NAME and kind != "tool":
            return Fault("long-name", f"{name[:40]!r}… has {len(name)} characters: prose, not a name")
        if kind == "parameter" and name not in known:
            return Fault("unknown-parameter", f"the tool has no input or output {name!r}")
    return None


def _parameters(tool: Tool, structure: Iterable[Triple]) -> dict[str, str]:
    """Canonical name → the name that the structure gives the parameter."""
    names: dict[str, str] = {}
    for triple in structure:
        if triple.tail_type == "parameter":
            names.setdefault(canonical_name(triple.tail), triple.tail)
            names.setdefault(canonical_name(triple.provenance.field.partition(".")[2]), triple.tail)
    return names


def _named(name: str, kind: str, tool: Tool, parameters: Mapping[str, str]) -> str:
    if kind == "tool" and is_the_tool(name):
        return tool.id
    name = " ".join(name.split())
    return parameters.get(canonical_name(name), name) if kind == "parameter" else name


def _find(quote: str, tool: Tool) -> _Place:
    """The place of a quote in the document, whatever its case and separators; else the description as a whole."""
    words = quote[:_LONGEST_QUOTE].strip().strip("\"'“”…").split()
    if words:
        pattern = re.compile(r"[\s_./-]*".join(map(re.escape, words)), re.IGNORECASE)
        for field in _fields(tool):
            texts = field_texts(tool, field)
            # Two inputs of one name have two texts: an offset would not tell into which.
            match = pattern.search(texts[0]) if len(texts) == 1 else None
            if match:
                return _Place(field, match.start(), match.end())
    return _Place("description", -1, -1)


def _fields(tool: Tool) -> Iterator[str]:
    yield from ("description", "name", "metadata.title")
    yield from (f"parameters.{parameter.name}" for parameter in tool.parameters)
    yield from (f"returns.{parameter.name}" for parameter in tool.returns)
