"""The profile of a tool: the values it consumes and produces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.linking.object_shapes import ObjectShapes
from ingest.linking.tool_draft import KnownEntities, ToolDraft, draft_tool
from ingest.linking.tool_inputs import consumed_values, free_text_score
from ingest.linking.tool_outputs import ConsumedKeys, learn_shapes, produced_values
from ingest.linking.tool_subjects import action_of, local_name, systems_of
from ingest.linking.tool_values import ConsumedValue, ProducedValue
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["ToolProfile", "profile_tools"]

_GROUPED_BY = frozenset(("has_line_of_business", "has_department", "has_topic", "has_process"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProfile:
    """The values that a tool consumes and produces.

    :param position: its index in the catalogue.
    :param free_text: how well its inputs accept free text, in [0, 1].
    :param words: the words of its name without the verb, to compare names of tools.
    :param groups: its topics, departments, processes and lines of business in the metadata.
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


def profile_tools(tools: Sequence[Tool], ontology: Ontology) -> list[ToolProfile]:
    """Return the profiles of all tools of a catalogue, in its order."""
    systems = systems_of(tools, ontology)
    drafts = [draft_tool(tool, system, ontology) for tool, system in zip(tools, systems, strict=True)]
    known = KnownEntities.of(drafts)
    shapes = ObjectShapes()
    for draft in drafts:
        draft.entity = _entity(draft, known)
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
        )
        for position, draft in enumerate(drafts)
    ]


def _entity(draft: ToolDraft, known: KnownEntities) -> str:
    """Return the tool's entity: of those in its path and name, the first that the catalogue has identifiers of.

    The segment after a placeholder in a path is always a collection (``/tv/{tv_id}/keywords``), also of an unknown entity.
    """
    subject, steps = draft.reader.subject, draft.reader.steps
    if len(steps) > 1 and not steps[-1].placeholder and steps[-2].placeholder:
        return subject.entity
    return next((entity for entity in subject.entities if entity in known.entities), subject.entity)


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
