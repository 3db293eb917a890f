"""The Profile of a tool: what it needs and what it offers, as entities and fields instead of parameter names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.linking.catalogue_draft import Draft, Known, Need, Offer, draft_tool
from ingest.linking.object_shapes import Shapes
from ingest.linking.tool_inputs import asks, needs_of
from ingest.linking.tool_outputs import Wanted, learn_shapes, offers_of
from ingest.linking.tool_subjects import action_of, local_name, systems_of
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["Profile", "profile_tools"]

_GROUPED_BY = frozenset(("has_line_of_business", "has_department", "has_topic", "has_process"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a tool needs and offers.

    :param position: its place in the catalogue.
    :param asks: how well its inputs take free text, in [0, 1].
    :param words: the words of its name that are not its verb, for telling near relations.
    :param groups: the topics and lines of business that its source files it under.
    """

    position: int
    id: str
    system: str
    action: str
    entity: str
    needs: tuple[Need, ...]
    offers: tuple[Offer, ...]
    asks: float
    words: tuple[str, ...]
    groups: frozenset[str] = frozenset()


def profile_tools(tools: Sequence[Tool], ontology: Ontology) -> list[Profile]:
    """The profiles of all tools of a catalogue, in its order."""
    systems = systems_of(tools, ontology)
    drafts = [draft_tool(tool, system, ontology) for tool, system in zip(tools, systems, strict=True)]
    known = Known.of(drafts)
    shapes = Shapes()
    for draft in drafts:
        draft.entity = _entity(draft, known)
        draft.needs = needs_of(draft, known)
        learn_shapes(shapes, draft, known)
    wanted = Wanted([draft.needs for draft in drafts])
    return [
        Profile(
            position=position,
            id=draft.tool.id,
            system=draft.system,
            action=draft.reader.subject.action,
            entity=draft.entity,
            needs=draft.needs,
            offers=offers_of(draft, known, shapes, wanted),
            asks=asks(draft),
            words=tuple(dict.fromkeys(_telling(draft.tool))),
            groups=frozenset(_groups(draft.tool, ontology)),
        )
        for position, draft in enumerate(drafts)
    ]


def _entity(draft: Draft, known: Known) -> str:
    """The tool's own entity: of those it speaks of, the first that identifiers are known of.

    What follows a placeholder in a path is a collection of its own (``/tv/{tv_id}/keywords``), known or not.
    """
    subject, steps = draft.reader.subject, draft.reader.steps
    if len(steps) > 1 and not steps[-1].placeholder and steps[-2].placeholder:
        return subject.entity
    return next((entity for entity in subject.entities if entity in known.entities), subject.entity)


def _telling(tool: Tool) -> Iterator[str]:
    return (word for word in words(local_name(tool)) if len(word) > 1 and not action_of(word))


def _groups(tool: Tool, ontology: Ontology) -> Iterator[str]:
    """Each group with those it lies in: ``Finance/Tax`` is in ``Finance``."""
    for key, predicate in ontology.metadata_predicates.items():
        value = tool.metadata.get(key) if predicate in _GROUPED_BY else None
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name:
                parts = name.split("/")
                yield from ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
