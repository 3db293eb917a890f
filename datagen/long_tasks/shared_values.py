"""Shared values: parts of a task speak of the same person, project or order where their inputs are of one type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SampleValue, SyntheticRequest
from datagen.validation.stated_values import find_values
from ontology.names import canonical_name, identified_entity

__all__ = ["share_values", "typed_values"]

_IDENTIFIERS = frozenset(("id", "identifier", "key", "number"))
"""Last words of inputs that identify; a reference may be the other side's."""
_KINDS = frozenset(("id", "name", "email"))
"""Kinds of values that identify something. A day or an amount may well be another in the next part."""


def typed_values(catalogue: ProfiledCatalogue, request: SyntheticRequest) -> dict[tuple[str, str], SampleValue]:
    """Return the identifying values of a request, by what they identify and the kind of the value; the first of each."""
    found: dict[tuple[str, str], SampleValue] = {}
    for value in request.values:
        kinds = {one.kind for one in find_values("for " + value.value) if one.text == value.value}
        if kinds & _KINDS:
            found.setdefault((_identified(catalogue, value), min(kinds & _KINDS)), value)
    return found


def _identified(catalogue: ProfiledCatalogue, value: SampleValue) -> str:
    """What an identifier identifies, else the name of the input with the entity of its tool: it means something there only."""
    abbreviations = catalogue.ontology.abbreviations
    last = value.parameter.rsplit(".", 1)[-1]
    name = canonical_name(last, abbreviations)
    entity = identified_entity(last, abbreviations) if name.rpartition(" ")[2] in _IDENTIFIERS else ""
    return entity or f"{catalogue.profile(value.tool).entity} {name}"


def share_values(
    catalogue: ProfiledCatalogue, request: SyntheticRequest, known: Mapping[tuple[str, str], SampleValue]
) -> SyntheticRequest:
    """Return a request in which the values of known types are those known ones.

    A value is replaced only where it stands in the text once, as whole words, and belongs to no other input.
    """
    text, values = request.text, list(request.values)
    for key, value in typed_values(catalogue, request).items():
        shared = known.get(key)
        pattern = re.compile(rf"(?<!\w){re.escape(value.value)}(?!\w)")
        alone = sum(one.value == value.value for one in values) == 1
        if shared is None or shared.value in text or not alone or len(pattern.findall(text)) != 1:
            continue
        text = pattern.sub(lambda _, said=shared.value: said, text)  # type: ignore[misc]
        values = [replace(one, value=shared.value) if one == value else one for one in values]
    return replace(request, text=text, values=tuple(values))
