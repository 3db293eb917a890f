"""What a tool needs: its inputs as entities and fields, and how well it takes free text."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.linking.catalogue_draft import (
    AUTH_KEY,
    AUTH_NAMES,
    BARE_IDENTIFIERS,
    PLAIN_VALUE,
    TYPED_RESOURCE,
    ConsumedValue,
    KnownEntities,
    ToolDraft,
    is_resource,
)
from ingest.linking.identifiers import GENERIC_NAMES, Identifier, type_family
from ontology.names import words
from ontology.tool import Parameter

__all__ = ["QUALIFIERS", "consumed_values", "free_text_score"]

QUALIFIERS = frozenset("current present latest new updated given desired target selected my".split())
"""Words before a value's name that do not change what it is: ``current_location`` is a location."""
_QUERY = frozenset(
    "query q search keyword keywords term terms filter filters phrase searchterm searchtext searchquery".split()
)
_NOT_TEXT = frozenset("type mode id ids language limit size count date by field fields depth".split())
_NAMING = frozenset("name title label surname lastname firstname email phone username text description".split())


def consumed_values(draft: ToolDraft, known: KnownEntities) -> tuple[ConsumedValue, ...]:
    """The needs of a tool, input by input; inputs that say nothing of what they take are left out."""
    needs: dict[str, ConsumedValue] = {}
    for parameter, found in draft.inputs:
        for need in _needs(draft, parameter, found, known):
            # One name may stand in the query and in the body: it is one input to those who read the edge.
            before = needs.get(need.parameter)
            if before is None or (before.required, before.confidence) < (need.required, need.confidence):
                needs[need.parameter] = need
    return tuple(needs.values())


def free_text_score(draft: ToolDraft) -> float:
    """How well the inputs take free text, in [0, 1]: 1 for a query, 0.8 for a name, 0.6 for some other text."""
    return max((_takes_text(parameter) for parameter, found in draft.inputs if found is None), default=0.0)


def _needs(
    draft: ToolDraft, parameter: Parameter, found: Identifier | None, known: KnownEntities
) -> Iterator[ConsumedValue]:
    name = draft.reader.names.canonical(parameter.name.rsplit(".", 1)[-1])
    tokens = name.split()
    while len(tokens) > 1 and tokens[0] in QUALIFIERS:
        tokens = tokens[1:]
    name = " ".join(tokens)
    family = type_family(parameter.type)
    key, confidence, identifier = (PLAIN_VALUE, name), 0.7, False
    if name in AUTH_NAMES:
        key, confidence = AUTH_KEY, 0.8
    elif found is not None:
        # The catalogue knows the tool's own entity better than its name alone.
        entity = draft.entity if found.evidence == ("tool",) and name in BARE_IDENTIFIERS else found.entity
        key, confidence, identifier = (entity, found.field), found.confidence, True
    elif is_resource(parameter):
        key, confidence = (TYPED_RESOURCE, parameter.type.lower()), 0.8
    elif parameter.required and family in ("string", "integer") and known.is_key(draft.system, name):
        # "SalesOrder" of an item's tools: the key of another tool's object, by its very name.
        key, confidence, identifier = (name, "id"), 0.65, True
    elif not name or name in GENERIC_NAMES or parameter.enum or family == "boolean":
        return
    yield ConsumedValue(
        parameter=parameter.name,
        type=parameter.type,
        key=key,
        confidence=confidence,
        required=parameter.required,
        identifier=identifier,
    )


def _takes_text(parameter: Parameter) -> float:
    if parameter.enum or type_family(parameter.type) not in ("string", "", "array"):
        return 0.0
    tokens = words(parameter.name.rsplit(".", 1)[-1])
    if not tokens or tokens[-1] in ("id", "ids"):
        return 0.0
    if tokens[0] in _QUERY and tokens[0] != "filters" and (len(tokens) == 1 or tokens[-1] not in _NOT_TEXT):
        return 1.0
    if tokens[-1] in _NAMING or tokens[-1] in _QUERY:
        return 0.8
    return 0.6 if parameter.required else 0.0
