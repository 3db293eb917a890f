"""The profile of a tool: what it does, and the values that it consumes and produces.

A profile depends on the tool's own document and on what all documents together say: which entities there are, which inputs name the
surroundings of a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.linking.inputs import consumed_values, context_parameters, free_text_score
from ingest.linking.outputs import ConsumedKeys, Outputs
from ingest.linking.subjects import action_of, local_name, normal_path, systems_of, vendors_of
from ingest.linking.values import NO_LINKS, ConsumedValue, DeclaredLinks, Draft, Key, KnownEntities, ProducedValue
from ingest.word_lists import word_list
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

_SELF = word_list("linking", "self_words")
_NO_NAMES = frozenset(("id", "name", "key", "code", "number", "type"))  # the same name does not mean the same value
_GROUPED_BY = frozenset(("has_line_of_business", "has_department", "has_topic", "has_process"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProfile:
    """The values that a tool consumes and produces.

    :param position: its index in the catalogue.
    :param action: ``search``, ``list``, ``get``, ``create``, ``update``, ``delete`` or ``act``.
    :param free_text: how well its inputs accept free text, in [0, 1].
    :param words: the words of its name without the verb, to compare names of tools.
    :param groups: its topics, departments, processes and lines of business in the metadata.
    :param entities: all entities in its path or name.
    :param needed_keys: the keys of its required identifiers, context parameters left out.
    :param needed_names: the names of its required inputs in lower case.
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
    needed_keys: frozenset[Key] = frozenset()
    needed_names: frozenset[str] = frozenset()
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
    drafts = [
        Draft(tool, system, ontology, declared.synonyms.get(tool.id, {}))
        for tool, system in zip(tools, systems_of(tools, ontology), strict=True)
    ]
    known = KnownEntities(drafts)
    for draft in drafts:
        draft.entity = _entity(draft, known)
    for draft, context in zip(drafts, context_parameters(drafts, declared), strict=True):
        draft.context = context
        draft.consumes = consumed_values(draft, known)
    consumed = ConsumedKeys(value for draft in drafts for value in draft.consumes)
    profiles = []
    for position, (draft, vendor) in enumerate(zip(drafts, vendors_of(tools), strict=True)):
        tool, name = draft.tool, words(local_name(draft.tool))
        required = [value for value in draft.consumes if value.required and not value.context]
        keys = frozenset(value.key for value in required if value.identifier)
        needed = {one.name.rsplit(".", 1)[-1].lower() for one in tool.parameters if one.required}
        last = words(str(tool.metadata.get("path", "")))[-1:]
        profile = ToolProfile(
            position=position,
            id=tool.id,
            system=draft.system,
            action=draft.action,
            entity=draft.entity,
            consumes=draft.consumes,
            produces=Outputs(draft, known, consumed).values(),
            free_text=free_text_score(draft),
            words=tuple(dict.fromkeys(word for word in name if len(word) > 1 and not action_of(word))),
            groups=frozenset(_groups(tool, ontology)),
            entities=draft.reader.subject.entities,
            needed_keys=keys,
            needed_names=frozenset(needed - _NO_NAMES),
            scope=frozenset(key[0] for key in keys) - {draft.entity},
            vendor=vendor,
            is_self=not needed and not _SELF.isdisjoint((*name, *last)),
            context=draft.context,
            path=normal_path(tool),
            verb=name[0] if name else "",
        )
        profiles.append(profile)
    return profiles


def _entity(draft: Draft, known: KnownEntities) -> str:
    """Return the tool's entity: of those in its path and name, the first that the catalogue has identifiers of.

    The segment beside a placeholder in a path is always a collection (``/tv/{tv_id}/keywords``), also of an unknown entity; so is a
    plural at the end (``/deviceManagement/exchangeConnectors``, not ``/movie/popular``).
    """
    subject, steps = draft.reader.subject, [step for step in draft.reader.steps if not step.verb]
    if len(steps) > 1:
        last = (words(str(draft.tool.metadata.get("path")).rsplit("/", 1)[-1]) or [""])[-1]
        plural = last.endswith("s") and noun_lemma(last) != last
        if steps[-1].placeholder or steps[-2].placeholder or plural:
            return subject.entity
    # Another document's entity says less: "calendar list" is an entity of some document.
    for entities in (known.of_system.get(draft.system, ()), known.entities):
        if found := next((entity for entity in subject.entities if entity in entities), ""):
            return found
    return subject.entity


def _groups(tool: Tool, ontology: Ontology) -> Iterator[str]:
    """Yield each group and the groups that contain it: ``Finance`` and ``Finance/Tax``."""
    for key, predicate in ontology.metadata_predicates.items():
        value = tool.metadata.get(key) if predicate in _GROUPED_BY else None
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name:
                parts = name.split("/")
                yield from ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
