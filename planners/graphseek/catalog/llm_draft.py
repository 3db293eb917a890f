"""Drafting a semantic catalog by a chat model: one question for each type, whose answer can only use the names of the schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

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
from planners.calls.untrusted import FenceMarks
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

_NOTHING: Final[Mapping[str, str]] = {}
_MOST_ANSWER_TOKENS = 1_500
_MOST_READ = 10_000  # characters of a text: of a longer one the fault says how long it may be, and does not repeat it
_MOST_PROPERTIES = 40  # that the prompt shows of a type
_Descriptor: TypeAlias = NodeDescriptor | RelationshipDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmDraft:
    """A draft, and a sentence for each type whose descriptor is that of the rules."""

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
    :raises ModelError: when three calls in a row fail, or the budget is used up.
    """
    base, fences, prompt = draft_by_rules(census, ontology), marks or FenceMarks(), prompt_parts("catalog_draft")
    failures, problems = FailureBudget(), list[str]()

    def repair(fault: str) -> str:
        return str(prompt["repair"].format(fault=fences.fenced(cleaned_text(fault))))

    chat = StructuredChat(model, kind="catalog", repair_prompt=repair, cache=None)

    def answer(of: NodeType | RelationshipType, kind: str, shown: str, lists: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer about a type; an empty one where there is no usable one."""
        names, texts = [each.name for each in of.properties[:_MOST_PROPERTIES]], prompt[kind]
        terms = (canonical_name(name) for name in (of.name, *names))
        meanings = [f"Glossary: {term}: {glossary[term]}" for term in terms if term in glossary]
        user = prompt["user"].format(kind=texts["kind"], data=fences.fenced("\n".join((shown, *meanings))))
        system = Message(role="system", content=prompt["system"].format(**texts))
        request = StructuredRequest(
            messages=(system, Message(role="user", content=user)),
            schema=_schema(names, lists, MOST_CHARACTERS),
            schema_name="descriptor",
            max_tokens=_MOST_ANSWER_TOKENS,
        )
        parser = SchemaParser(_schema(names, lists, _MOST_READ), feature="language models that describe a graph")
        said: StructuredAnswer[Mapping[str, Any]] = chat.call(request, "", partial(_usable, parser))
        failures.record(said.failure)
        if said.problem:
            problems.append(f"{of.name}: {said.problem}")
        return said.value or {}

    nodes, relationships = dict(base.nodes), dict(base.relationships)
    for node in census.nodes:
        known = nodes[node.name]
        found = answer(node, "node", full_node(node, known), ("words",))
        taken = {word for name, other in nodes.items() if name != node.name for word in other.words}
        meaning = found.get("description", "").rstrip(".")
        nodes[node.name] = replace(
            known,
            description=shortened_text(f"{meaning} ({node.count:,} nodes)") if meaning else known.description,
            words=_with(known.words, [word for word in found.get("words", ()) if word not in taken]),
            properties=_of_properties(known, found),
        )
    for each in census.relationships:
        said = relationships[each.name]
        found = answer(each, "relationship", full_relationship(each, said), ("forward", "backward"))
        relationships[each.name] = replace(
            said,
            description=_joined(found.get("description", ""), said.description),
            forward=_with(said.forward, found.get("forward", ())),
            backward=_with(said.backward, found.get("backward", ())),
            properties=_of_properties(said, found),
        )
    return LlmDraft(catalog=replace(base, nodes=nodes, relationships=relationships), problems=tuple(problems))


def _schema(names: Sequence[str], lists: Sequence[str], longest: int) -> dict[str, Any]:
    """The schema of an answer: properties of these names alone, texts of at most so many characters."""
    text = {"type": "string", "maxLength": longest}
    row = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 40}, "maxItems": 4}
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
        return
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _texts(each, f"{place}[{name!r}]")


def _with(words: Sequence[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*words, *more)))


def _of_properties(known: _Descriptor, found: Mapping[str, Any]) -> dict[str, PropertyDescriptor]:
    said = found.get("properties", {})
    return {
        name: replace(each, description=_joined(said.get(name, ""), each.description))
        for name, each in known.properties.items()
    }


def _joined(meaning: str, seen: str) -> str:
    return shortened_text(": ".join(filter(None, (meaning.rstrip("."), seen))))
