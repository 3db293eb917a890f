"""Context parameters: inputs that name the surroundings of a call (project, account, region), not what it is about.

Their values come with the request or from the caller's configuration. So no other tool supplies them. One is found in each namespace by
its frequency and its place: a large share of the tools take it, in a path nearly always as the first or second placeholder, while few
tools are about it. A name of the word list ``context_words`` needs a smaller share. The thresholds were found on the documents of Compute
Engine, IAM, Classroom (Google), Kubernetes and Airflow: there they mark project, zone, region, location, namespace, and neither
*course* nor *DAG*, which tools list for everybody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ingest.linking.declared_links import NO_LINKS, DeclaredLinks
from ingest.linking.resource_names import RESOURCE_NAME
from ingest.linking.tool_draft import Slot, ToolDraft, is_resource
from ingest.word_lists import word_list

__all__ = ["ContextParameters"]

_WORDS = word_list("linking", "context_words")
_FIELDS = word_list("linking", "naming_fields")
_MIN_TOOLS = 10
"""A namespace with fewer tools has no context parameters: shares of so few say little."""
_MIN_COUNT = 5
_NAMED_SHARE, _NAMED_NO_PATH, _SHARE = 0.1, 0.25, 0.5
"""Share of a namespace's tools that take the input: of a name in the word list, in paths or not; of another name."""
_NAMED_OWN, _OWN = 0.1, 0.02
"""Maximum number of tools about the entity for each tool that takes it."""
_EARLY = 0.9
"""Share of its paths in which the placeholder is the first or the second."""


class ContextParameters:
    """The context parameters of each namespace of a catalogue.

    :param declared: what the owner of the catalogue declares has priority over the frequencies.
    """

    def __init__(self, drafts: Sequence[ToolDraft], declared: DeclaredLinks = NO_LINKS) -> None:
        self._declared = declared
        tools: Counter[str] = Counter()
        taken: dict[str, Counter[str]] = defaultdict(Counter)
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        own: dict[str, Counter[str]] = defaultdict(Counter)
        for draft in drafts:
            namespace = draft.tool.namespace
            tools[namespace] += 1
            own[namespace][draft.entity] += 1
            inputs = {_name(draft, slot): _place(draft, slot) for slot in draft.inputs if _is_candidate(slot)}
            taken[namespace].update(inputs.keys())
            for name, place in inputs.items():
                if place is not None:
                    places[namespace, name].append(place)
        self._names = {
            namespace: frozenset(
                name
                for name, count in counts.items()
                if _is_context(name, count, tools[namespace], own[namespace][name], places[namespace, name])
            )
            for namespace, counts in taken.items()
        }

    def __contains__(self, item: tuple[ToolDraft, Slot]) -> bool:
        draft, slot = item
        name = _name(draft, slot)
        return name != draft.entity and name in self._names.get(draft.tool.namespace, ())

    def of(self, draft: ToolDraft) -> Iterator[str]:
        """Yield the names of a tool's context parameters, in the order of its inputs."""
        stated = self._declared.context_parameters.get(draft.tool.id, frozenset())
        excluded = self._declared.not_context_parameters.get(draft.tool.id, frozenset())
        for slot in draft.inputs:
            name = slot.parameter.name
            found = name in stated or ("." not in name and (draft, slot) in self)
            if found and name not in excluded:
                yield name


def _is_context(name: str, count: int, tools: int, own: int, places: Sequence[int]) -> bool:
    if tools < _MIN_TOOLS or count < _MIN_COUNT:
        return False
    named = name in _WORDS
    if not named and not places:
        return False
    share = (_NAMED_SHARE if places else _NAMED_NO_PATH) if named else _SHARE
    if count < tools * share or own > count * (_NAMED_OWN if named else _OWN):
        return False
    early = sum(place < 2 for place in places)
    return early >= _EARLY * len(places)


def _is_candidate(slot: Slot) -> bool:
    parameter = slot.parameter
    if "." in parameter.name or is_resource(parameter):
        return False
    return parameter.required or parameter.location == "path"


def _name(draft: ToolDraft, slot: Slot) -> str:
    """Return the entity that an input identifies, or its canonical name: project for ``parent`` that is a project's path."""
    found = slot.identifier
    if found is not None and (found.field == RESOURCE_NAME or {"name", "path"} & set(found.evidence)):
        return found.entity
    tokens = draft.reader.names.canonical(slot.parameter.name).split()
    return " ".join(tokens[:-1] if len(tokens) > 1 and tokens[-1] in _FIELDS else tokens)


def _place(draft: ToolDraft, slot: Slot) -> int | None:
    """Return the number of placeholders before this one in the path, or None where it is not in the path."""
    if slot.parameter.location != "path":
        return None
    if slot.identifier is not None and slot.identifier.field == RESOURCE_NAME:
        return max(0, slot.parameter.pattern.count("/") // 2)
    placeholders = [step.text for step in draft.reader.steps if step.placeholder]
    name = slot.parameter.name
    return placeholders.index(name) if name in placeholders else None
