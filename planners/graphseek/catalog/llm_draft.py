"""Drafting a semantic catalog by a chat model: one question for each type, whose answer can only use the names of the schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from inference.chat import ChatModel, Message
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
    StructuredAnswer,
    StructuredChat,
    StructuredRequest,
    UnusableAnswerError,
)
from ontology.names import canonical_name
from ontology.ontology import Ontology
from planners.calls.fence_marks import FenceMarks
from planners.graphseek.catalog.catalog import (
    MOST_CHARACTERS,
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
    cleaned_text,
    shortened_text,
    text_fault,
)
from planners.graphseek.catalog.catalog_text import full_node, full_relationship
from planners.graphseek.catalog.draft import draft_by_rules
from planners.graphseek.prompts.graphseek_prompt import prompt_parts
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType

__all__ = ["LlmDraft", "draft_by_llm"]

_NOTHING: Final[Mapping[str, str]] = {}
_MOST_ANSWER_TOKENS = 1_500
_MOST_READ = 10_000  # characters of a text
_MOST_WORDS = 4
_MOST_WORD_CHARACTERS = 40
_MOST_PROPERTIES = 40  # that the prompt shows of a type
_KINDS = {"words": "node", "forward": "relationship"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmDraft:
    """A draft, and what the model did not do.

    :param problems: a sentence for each type whose descriptor is that of the rules.
    """

    catalog: SemanticCatalog
    problems: tuple[str, ...] = ()


def draft_by_llm(
    census: GraphSchema,
    model: ChatModel,
    *,
    ontology: Ontology | None = None,
    glossary: Mapping[str, str] = _NOTHING,
    marks: FenceMarks | None = None,
) -> LlmDraft:
    """Return a draft: roles, values and ranges by rules, descriptions and words by the model. It is not accepted.

    A name that the schema lacks, a text of more than 200 characters and one that reads like an instruction are refused. The model
    then gets the fault and one more attempt; after that the rules' descriptor stays.

    :param glossary: canonical name of a term → meaning; the model is shown those of the type and its properties.
    :param marks: around data in prompts; new ones where None.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    :raises ModelError: when three calls in a row fail, or the budget is used up.
    """
    base = draft_by_rules(census, ontology)
    asker = _Asker(model, glossary, marks or FenceMarks())
    nodes, relationships = dict(base.nodes), dict(base.relationships)
    for node in census.nodes:
        found = asker.answer(node, full_node(node, nodes[node.name], frozenset()), ("words",))
        taken = {word for name, each in nodes.items() if name != node.name for word in each.words}
        nodes[node.name] = _of_node(nodes[node.name], node.count, found, taken)
    for each in census.relationships:
        known = relationships[each.name]
        found = asker.answer(each, full_relationship(each, known, frozenset()), ("forward", "backward"))
        relationships[each.name] = _of_relationship(known, found)
    return LlmDraft(
        catalog=dataclasses.replace(base, nodes=nodes, relationships=relationships), problems=tuple(asker.problems)
    )


class _Asker:
    """Asks the model about one type after another, and keeps what went wrong."""

    def __init__(self, model: ChatModel, glossary: Mapping[str, str], marks: FenceMarks) -> None:
        self._prompt = prompt_parts("catalog_draft")
        self._chat = StructuredChat(model, kind="catalog", repair_prompt=self._repair, cache=None)
        self._glossary = glossary
        self._marks = marks
        self._failures = FailureBudget()
        self.problems: list[str] = []

    def answer(self, of: NodeType | RelationshipType, shown: str, lists: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer about a type; an empty one where there is no usable one."""
        names = [each.name for each in of.properties[:_MOST_PROPERTIES]]
        schema = _schema(names, lists, MOST_CHARACTERS)
        request = StructuredRequest(
            messages=self._messages(_KINDS[lists[0]], of, shown, names),
            schema=schema,
            schema_name="descriptor",
            max_tokens=_MOST_ANSWER_TOKENS,
        )
        read = _schema(
            names, lists, _MOST_READ
        )  # of a longer text the fault says how long it may be, and does not repeat it
        parser = SchemaParser(read, feature="language models that describe a graph")
        answer: StructuredAnswer[Mapping[str, Any]] = self._chat.call(request, "", partial(_usable, parser))
        self._failures.record(answer.failure)
        if answer.problem:
            self.problems.append(f"{of.name}: {answer.problem}")
        return answer.value or {}

    def _messages(
        self, kind: str, of: NodeType | RelationshipType, shown: str, names: Sequence[str]
    ) -> tuple[Message, ...]:
        terms = (canonical_name(name) for name in (of.name, *names))
        meanings = [f"Glossary: {term}: {self._glossary[term]}" for term in terms if term in self._glossary]
        texts = self._prompt[kind]
        data = self._marks.fenced("\n".join((shown, *meanings)))
        return (
            Message(role="system", content=self._prompt["system"].format(**texts)),
            Message(role="user", content=self._prompt["user"].format(kind=texts["kind"], data=data)),
        )

    def _repair(self, fault: str) -> str:
        text: str = self._prompt["repair"].format(fault=self._marks.fenced(cleaned_text(fault)))
        return text


def _schema(names: Sequence[str], lists: Sequence[str], longest: int) -> dict[str, Any]:
    """The schema of an answer: properties of these names alone, texts of at most so many characters."""
    text = {"type": "string", "maxLength": longest}
    word = {"type": "string", "minLength": 1, "maxLength": _MOST_WORD_CHARACTERS}
    row = {"type": "array", "items": word, "maxItems": _MOST_WORDS}
    properties = {"type": "object", "properties": dict.fromkeys(names, text), "additionalProperties": False}
    members = {"description": text, **dict.fromkeys(lists, row), "properties": properties}
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _usable(parser: SchemaParser, text: str) -> Mapping[str, Any]:
    """The answer with clean texts.

    :raises UnusableAnswerError: for an answer outside the schema, and one with an instruction in it.
    """
    answer: Mapping[str, Any] = _cleaned(parser.parse(text))
    for place, said in _texts(answer, ""):
        if fault := text_fault(said):
            raise UnusableAnswerError(f"{place}: {fault}")
    return answer


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cleaned(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(dict.fromkeys(filter(None, (cleaned_text(each).lower() for each in value))))
    return cleaned_text(value)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    else:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in items:
            yield from _texts(each, f"{place}[{name!r}]")


def _of_node(base: NodeDescriptor, count: int, found: Mapping[str, Any], taken: set[str]) -> NodeDescriptor:
    meaning = found.get("description", "").rstrip(".")
    said = (word for word in found.get("words", ()) if word not in taken)
    return NodeDescriptor(
        description=shortened_text(f"{meaning} ({count:,} nodes)") if meaning else base.description,
        words=tuple(dict.fromkeys((*base.words, *said))),
        properties=_of_properties(base.properties, found),
    )


def _of_relationship(base: RelationshipDescriptor, found: Mapping[str, Any]) -> RelationshipDescriptor:
    return RelationshipDescriptor(
        description=_joined(found.get("description", ""), base.description),
        forward=tuple(dict.fromkeys((*base.forward, *found.get("forward", ())))),
        backward=tuple(dict.fromkeys((*base.backward, *found.get("backward", ())))),
        properties=_of_properties(base.properties, found),
    )


def _of_properties(
    base: Mapping[str, PropertyDescriptor], found: Mapping[str, Any]
) -> Mapping[str, PropertyDescriptor]:
    said = found.get("properties", {})
    return {
        name: dataclasses.replace(each, description=_joined(said.get(name, ""), each.description))
        for name, each in base.items()
    }


def _joined(meaning: str, seen: str) -> str:
    return shortened_text(": ".join(filter(None, (meaning.rstrip("."), seen))))
