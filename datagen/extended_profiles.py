"""Extended profiles: with inputs that a build does not link, and without the parameters of pagination."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from datagen.patterns import load_patterns
from ingest.linking import (
    AUTH_KEY,
    GENERIC_NAMES,
    PLAIN_VALUE,
    CanonicalNames,
    ConsumedValue,
    ToolProfile,
    local_name,
    type_family,
)
from ingest.word_lists import word_list
from ontology.names import verb_lemma, words
from ontology.tool import Tool

__all__ = ["FINDING_ACTIONS", "extend_profiles", "is_paging", "only_reads", "without_said_context"]

FINDING_ACTIONS = ("search", "list")
"""Actions that find things."""
_SURROUNDINGS = word_list("linking", "context_words")
_GENERIC_CONFIDENCE = 0.5  # confidence that an input with a generic name takes the value of that name
_KEYED = re.compile(r"^(?P<collection>[^(/]+)\([^)]+\)$")


def extend_profiles(
    tools: Iterable[Tool], profiles: Mapping[str, ToolProfile], names: CanonicalNames
) -> dict[str, ToolProfile]:
    """Add the inputs that a build does not link because their names are generic (``email``).

    Page tokens (``nextToken``) are left out, because they lead only to the next page. A tool that reads one record of a
    collection by an OData key (``Orders({OrderId})``) has the action ``get``. One that finds a thing or else makes it
    (``find_or_create_tag``) has the action ``create``: it is no look-up.
    """
    return {tool.id: _extended(tool, profiles[tool.id], names) for tool in tools}


def without_said_context(profile: ToolProfile) -> ToolProfile:
    """Return the profile of which only surroundings are context parameters: project, tenant, region, a login.

    An input that nearly every tool of a namespace takes is a context parameter of a build, also where it says what a
    request is about. Two readers of the document of Android Publisher missed the app (``packageName``) in 9 requests.
    """
    keys = {value.parameter: value.key for value in profile.consumes}
    said = frozenset(name for name in profile.context if name in keys and not _is_surrounding(keys[name]))
    if not said:
        return profile
    consumes = (replace(one, context=False) if one.parameter in said else one for one in profile.consumes)
    return replace(
        profile,
        context=tuple(name for name in profile.context if name not in said),
        consumes=tuple(consumes),
    )


def _is_surrounding(key: tuple[str, str]) -> bool:
    return key == AUTH_KEY or not _SURROUNDINGS.isdisjoint((*key[0].split()[-1:], *key[1].split()))


def _may_make(tool: Tool) -> bool:
    """Whether a tool makes what it does not find: ``find_or_create``, "Get the cart or create one"."""
    texts = (local_name(tool), re.split(r"[.;]\s", tool.description, maxsplit=1)[0])
    makes = load_patterns("paths/words").words("makers")
    return any(one == "or" and verb_lemma(other) in makes for text in texts for one, other in pairwise(words(text)))


def is_paging(name: str, names: CanonicalNames) -> bool:
    """Whether an input or output is a parameter of pagination."""
    return names.canonical(name.rsplit(".", 1)[-1]) in load_patterns("paths/words").words("paging")


def only_reads(profile: ToolProfile) -> bool:
    """Whether the action of a tool is read-only."""
    return profile.action in ("search", "list", "get")


def _extended(tool: Tool, profile: ToolProfile, names: CanonicalNames) -> ToolProfile:
    consumes = (*profile.consumes, *_generic_values(tool, profile, names))
    extended = replace(
        profile,
        consumes=tuple(value for value in consumes if not is_paging(value.parameter, names)),
        produces=tuple(value for value in profile.produces if not is_paging(value.output, names)),
    )
    if only_reads(extended) and _may_make(tool):
        extended = replace(extended, action="create")
    path = tool.metadata.get("path")
    keyed = _KEYED.match(path.rstrip("/").rsplit("/", 1)[-1]) if isinstance(path, str) else None
    if keyed is None:
        return extended
    action = "get" if profile.action == "list" else profile.action
    return replace(extended, action=action, entity=names.canonical(keyed["collection"]))


def _generic_values(tool: Tool, profile: ToolProfile, names: CanonicalNames) -> Iterator[ConsumedValue]:
    """Yield the inputs with generic names; an output of the same name fills them."""
    known = {value.parameter for value in profile.consumes}
    for parameter in tool.parameters:
        text = names.canonical(parameter.name)
        generic = text in GENERIC_NAMES and "." not in parameter.name and parameter.name not in known
        if generic and not parameter.enum and type_family(parameter.type) != "boolean":
            yield ConsumedValue(
                parameter=parameter.name,
                type=parameter.type,
                key=(PLAIN_VALUE, text),
                confidence=_GENERIC_CONFIDENCE,
                required=parameter.required,
                identifier=False,
            )
