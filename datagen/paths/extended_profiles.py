"""Wide profiles: tools as data generation reads them, with inputs that a build leaves unlinked and without marks of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from datagen.catalogue import Catalogue
from ingest.linking import (
    GENERIC_NAMES,
    PLAIN_VALUE,
    CanonicalNames,
    ConsumedValue,
    ToolProfile,
    canonical_names,
    type_family,
)
from ontology.tool import Tool

__all__ = ["is_page_mark", "wide_profiles"]

_GENERIC_NEED = 0.5  # confidence that an input of a name that says little takes just that
_PAGING = frozenset(
    ("next token", "page token", "next page token", "continuation token", "pagination token", "previous page token",
     "starting token", "sync token", "next sync token", "cursor", "next cursor", "page cursor", "marker", "next marker",
     "nexttoken", "pagetoken", "nextpagetoken", "page", "next page", "offset", "next offset", "skip token", "delta token")
)  # fmt: skip
_KEYED = re.compile(r"^(?P<collection>[^(/]+)\([^)]+\)$")


def wide_profiles(catalogue: Catalogue) -> dict[str, ToolProfile]:
    """The profiles with the inputs that a build does not link because their names say too little.

    Marks of a page (``nextToken``) lead nowhere but to the next page, so they are no needs. What reads one record of a
    collection by an OData key (``Orders({OrderId})``) is a get of an order.
    """
    names = canonical_names(catalogue.ontology)
    found = {}
    for tool in catalogue.tools:
        profile = catalogue.profiles[tool.id]
        needs = (*profile.consumes, *_generic_needs(tool, profile, names))
        kept = tuple(need for need in needs if not is_page_mark(need.parameter, names))
        offers = tuple(offer for offer in profile.produces if not is_page_mark(offer.output, names))
        found[tool.id] = _keyed(tool, replace(profile, consumes=kept, produces=offers), names)
    return found


def is_page_mark(name: str, names: CanonicalNames) -> bool:
    """Whether an input or output only marks a page of a list."""
    return names.canonical(name.rsplit(".", 1)[-1]) in _PAGING


def _keyed(tool: Tool, profile: ToolProfile, names: CanonicalNames) -> ToolProfile:
    path = tool.metadata.get("path")
    match = _KEYED.match(path.rstrip("/").rsplit("/", 1)[-1]) if isinstance(path, str) else None
    if match is None:
        return profile
    action = "get" if profile.action == "list" else profile.action
    return replace(profile, action=action, entity=names.canonical(match["collection"]))


def _generic_needs(tool: Tool, profile: ToolProfile, names: CanonicalNames) -> Iterator[ConsumedValue]:
    """The inputs that linking leaves out because their names say too little (``email``): what is called just that fills them."""
    known = {need.parameter for need in profile.consumes}
    for parameter in tool.parameters:
        text = names.canonical(parameter.name)
        takes = text in GENERIC_NAMES and "." not in parameter.name and parameter.name not in known
        if takes and not parameter.enum and type_family(parameter.type) != "boolean":
            yield ConsumedValue(
                parameter=parameter.name, type=parameter.type, key=(PLAIN_VALUE, text), confidence=_GENERIC_NEED,
                required=parameter.required, identifier=False,
            )  # fmt: skip
