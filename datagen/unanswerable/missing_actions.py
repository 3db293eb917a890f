"""Missing actions: what no tool does with an object of the catalogue.

An action counts as missing for an object when no tool that mentions the object, in its name or anywhere in its document, has a word
of the action in its name, description or inputs, no tool of the same system has one in its name, and no tool for objects
of any kind has one. Wrong hints make fewer requests, never a wrong label.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from datagen.generation.grammar import article, plural
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.unanswerable.document_words import DocumentWords, lemmas
from datagen.unanswerable.unserved_tasks import read_data
from datagen.validation.synonyms import EverydayWords
from ontology.names import identified_entity, is_noun, words

__all__ = ["missing_actions"]

_MAX_WORDS = 2  # of an object's name
_MIN_TOOLS = 2  # about an object: nobody speaks much of the others


def missing_actions(
    catalogue: ProfiledCatalogue, known: DocumentWords, requests: Sequence[SyntheticRequest], rng: random.Random
) -> tuple[Sequence[tuple[str, str]], Sequence[str]]:
    """Texts with their reasons, in random order; and the actions that are left out for all objects, with the reason."""
    data = read_data("missing_actions")
    things = _things(catalogue, requests, data["generic"])
    found: list[tuple[str, str]] = []
    left_out: list[str] = []
    for action, entry in data["actions"].items():
        serving = {tool for tool, said in known.documents.items() if not said.isdisjoint(entry["words"])}
        for_all = sorted(
            tool for tool in serving if _is_generic(known.names[tool], entry["words"], data["generic"], catalogue, tool)
        )
        if for_all:
            left_out.append(f"the action {action!r} is left out: {for_all[0]} may do it with anything")
            continue
        named = {tool for tool in serving if not known.names[tool].isdisjoint(entry["words"])}
        groups = {catalogue.group(tool) for tool in named}
        for thing, tools in things.items():
            if thing.rpartition(" ")[2] not in entry["things"]:
                continue
            if groups.isdisjoint(map(catalogue.group, tools)) and not _mentions(thing, serving, catalogue, known):
                found += _requests(action, entry, thing, rng)
    rng.shuffle(found)
    return _spread(found), left_out


def _things(
    catalogue: ProfiledCatalogue, requests: Sequence[SyntheticRequest], generic: Collection[str]
) -> dict[str, set[str]]:
    """The objects that the requests name as their tools do, each with its tools; those with identifiers, and no persons."""
    abbreviations = catalogue.ontology.abbreviations
    inputs = (parameter.name for tool in catalogue.tools for parameter in tool.parameters)
    identified = {identified_entity(name.rsplit(".", 1)[-1], abbreviations) for name in inputs}
    things: dict[str, set[str]] = {}
    everyday = EverydayWords.of(catalogue)
    for request in requests:
        said = lemmas(request.text)
        for tool in request.path.tools:
            entity = catalogue.profile(tool).entity
            parts = words(entity)
            known = bool(parts) and entity in identified and not everyday.is_person(entity) and entity not in generic
            if known and len(parts) <= _MAX_WORDS and said.issuperset(parts) and is_noun(parts[-1]):
                things.setdefault(entity, set()).add(tool)
    about = Counter(catalogue.profile(tool.id).entity for tool in catalogue.tools)
    return {thing: things[thing] for thing in sorted(things) if about[thing] >= _MIN_TOOLS}


def _is_generic(
    name: Collection[str], action: Sequence[str], generic: Sequence[str], catalogue: ProfiledCatalogue, tool: str
) -> bool:
    """Whether a tool with a word of the action in its name may be about any object."""
    entity = lemmas(catalogue.profile(tool).entity)
    return not set(action).isdisjoint(name) and (not entity or entity <= lemmas(" ".join(generic)))


def _mentions(thing: str, serving: Collection[str], catalogue: ProfiledCatalogue, known: DocumentWords) -> bool:
    """Whether a document of these tools mentions the object, by the last word of any of its names."""
    heads = {words(name)[-1] for name in (thing, *EverydayWords.of(catalogue).words(thing)) if words(name)}
    return any(not heads.isdisjoint(known.documents[tool]) for tool in serving)


def _requests(action: str, entry: Mapping[str, Any], thing: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    fillers = read_data("other_domains")["fillers"]
    for text in entry["requests"]:
        filled = {name: rng.choice(values) for name, values in fillers.items()}
        said = text.format_map({**filled, "thing": thing, "things": plural(thing)})
        yield said, f"no tool that knows {article(thing)} has a word for the action {action!r}"


def _spread(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The requests, those beyond the first few with the same reason last."""
    count: Counter[str] = Counter()
    ranked: list[tuple[int, tuple[str, str]]] = []
    for one in found:
        ranked.append((count[one[1]], one))
        count[one[1]] += 1
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]
