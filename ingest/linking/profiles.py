"""The profile of a tool: the values it consumes and produces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ingest.linking.derived_edge import NO_LINKS, DeclaredLinks
from ingest.linking.tool_draft import KnownEntities, ToolDraft, draft_tool
from ingest.linking.tool_inputs import ContextParameters, consumed_values, free_text_score, normal_path
from ingest.linking.tool_outputs import ConsumedKeys, ObjectShapes, learn_shapes, produced_values
from ingest.linking.tool_subjects import action_of, local_name, systems_of
from ingest.linking.tool_values import ConsumedValue, Key, ProducedValue
from ingest.word_lists import word_list
from ontology.hosts import registered_label
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["ToolProfile", "profile_tools"]


class Vendors:
    """The vendors of a catalogue's tools."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        by_namespace: dict[str, str] = {}
        for tool in tools:
            if tool.namespace not in by_namespace or not by_namespace[tool.namespace]:
                by_namespace[tool.namespace] = _vendor(tool)
        self._one = len(set(filter(None, by_namespace.values()))) <= 1
        self._by_namespace = {} if self._one else by_namespace

    def of(self, tool: Tool) -> str:
        """Return the vendor of a tool; its namespace where the vendor is unknown; empty in a catalogue of one vendor."""
        return "" if self._one else self._by_namespace[tool.namespace] or f"namespace {tool.namespace}"


def _vendor(tool: Tool) -> str:
    call = tool.call
    if call is None:
        return ""
    if call.protocol == "aws":
        return "aws"
    return next(filter(None, map(registered_label, call.servers)), "")


_SELF = word_list("linking", "self_words")
_NO_NAMES = frozenset(("id", "name", "key", "code", "number", "type"))  # the same name does not mean the same value
_GROUPED_BY = frozenset(("has_line_of_business", "has_department", "has_topic", "has_process"))


class Needs(NamedTuple):
    """What a tool must be given.

    :param keys: the keys of its required identifiers.
    :param names: the names of its required inputs in lower case.
    """

    keys: frozenset[Key] = frozenset()
    names: frozenset[str] = frozenset()


_NOTHING = Needs()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProfile:
    """The values that a tool consumes and produces.

    :param position: its index in the catalogue.
    :param free_text: how well its inputs accept free text, in [0, 1].
    :param words: the words of its name without the verb, to compare names of tools.
    :param groups: its topics, departments, processes and lines of business in the metadata.
    :param entities: all entities in its path or name.
    :param needs: what it must be given, context parameters left out.
    :param scope: the entities of its required identifiers, without its own and without context.
    :param vendor: the vendor of its document; empty in a catalogue of one vendor.
    :param is_self: whether it returns the caller's own record and takes no input that is required.
    :param context: names of its context parameters.
    :param path: its normal path, or empty.
    :param verb: the first word of its name.
    """

    position: int
    id: str
    system: str
    action: str
    entity: str
    consumes: tuple[ConsumedValue, ...]
    produces: tuple[ProducedValue, ...]
    free_text: float
    words: tuple[str, ...]
    groups: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    needs: Needs = _NOTHING
    scope: frozenset[str] = frozenset()
    vendor: str = ""
    is_self: bool = False
    context: tuple[str, ...] = ()
    path: str = ""
    verb: str = ""


def profile_tools(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> list[ToolProfile]:
    """Return the profiles of all tools of a catalogue, in its order.

    :param declared: synonyms and context parameters that the owner of the catalogue declares.
    """
    systems = systems_of(tools, ontology)
    drafts = [
        draft_tool(tool, system, ontology, declared.synonyms.get(tool.id, {}))
        for tool, system in zip(tools, systems, strict=True)
    ]
    known = KnownEntities.of(drafts)
    shapes = ObjectShapes()
    for draft in drafts:
        draft.entity = _entity(draft, known)
    context, vendors = ContextParameters(drafts, declared), Vendors(tools)
    for draft in drafts:
        draft.context = tuple(context.of(draft))
        draft.consumes = consumed_values(draft, known)
        learn_shapes(shapes, draft, known)
    consumed = ConsumedKeys(value for draft in drafts for value in draft.consumes)
    return [
        ToolProfile(
            position=position,
            id=draft.tool.id,
            system=draft.system,
            action=draft.reader.subject.action,
            entity=draft.entity,
            consumes=draft.consumes,
            produces=produced_values(draft, known, shapes, consumed),
            free_text=free_text_score(draft),
            words=tuple(dict.fromkeys(_name_words(draft.tool))),
            groups=frozenset(_groups(draft.tool, ontology)),
            entities=draft.reader.subject.entities,
            needs=_needs(draft),
            scope=_scope(draft),
            vendor=vendors.of(draft.tool),
            is_self=_is_self(draft.tool),
            context=draft.context,
            path=normal_path(draft.tool),
            verb=next(iter(words(local_name(draft.tool))), ""),
        )
        for position, draft in enumerate(drafts)
    ]


def _entity(draft: ToolDraft, known: KnownEntities) -> str:
    """Return the tool's entity: of those in its path and name, the first that the catalogue has identifiers of.

    The segment beside a placeholder in a path is always a collection (``/tv/{tv_id}/keywords``), also of an unknown entity.
    """
    subject, steps = draft.reader.subject, [step for step in draft.reader.steps if not step.verb]
    if len(steps) > 1 and (steps[-1].placeholder or steps[-2].placeholder):
        return subject.entity
    if len(steps) > 1 and not steps[-1].placeholder and _is_plural(draft.tool):
        return subject.entity
    # Another document's entity says less: "calendar list" is an entity of some document.
    for entities in (known.of_system.get(draft.system, frozenset()), known.entities):
        if found := next((entity for entity in subject.entities if entity in entities), ""):
            return found
    return subject.entity


def _is_plural(tool: Tool) -> bool:
    """Whether the last word of a path is a plural: ``/deviceManagement/exchangeConnectors``, not ``/movie/popular``."""
    last = (words(str(tool.metadata.get("path")).rsplit("/", 1)[-1]) or [""])[-1]
    return last.endswith("s") and noun_lemma(last) != last


def _needs(draft: ToolDraft) -> Needs:
    required = [value for value in draft.consumes if value.required and not value.context]
    names = (parameter.name for parameter in draft.tool.parameters if parameter.required)
    return Needs(
        keys=frozenset(value.key for value in required if value.identifier),
        names=frozenset(name.rsplit(".", 1)[-1].lower() for name in names) - _NO_NAMES,
    )


def _scope(draft: ToolDraft) -> frozenset[str]:
    values = (value for value in draft.consumes if value.required and value.identifier and not value.context)
    return frozenset(value.key[0] for value in values) - {draft.entity}


def _is_self(tool: Tool) -> bool:
    if any(parameter.required for parameter in tool.parameters):
        return False
    path = str(tool.metadata.get("path", ""))
    return not _SELF.isdisjoint((*words(local_name(tool)), *words(path)[-1:]))


def _name_words(tool: Tool) -> Iterator[str]:
    return (word for word in words(local_name(tool)) if len(word) > 1 and not action_of(word))


def _groups(tool: Tool, ontology: Ontology) -> Iterator[str]:
    """Yield each group and the groups that contain it: ``Finance`` and ``Finance/Tax``."""
    for key, predicate in ontology.metadata_predicates.items():
        value = tool.metadata.get(key) if predicate in _GROUPED_BY else None
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name:
                parts = name.split("/")
                yield from ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
