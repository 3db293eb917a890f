"""Names in the graph of what tools answer: labels of objects, types of references, names of properties."""

from __future__ import annotations

import re
from functools import cache

from ontology.names import noun_lemma, words

__all__ = ["CALL", "GAVE", "identifier_of", "label_of", "property_name", "reference_type", "table_label"]

CALL, GAVE, _ROW = "ToolCall", "GAVE", "Row"
"""Label of a call that was made, type of its edges to what it gave, label of what has no name."""

_ID = re.compile(r"^(?:id|ID|_id|(?P<of>[A-Za-z][A-Za-z0-9_]*?)(?:Id|ID|_id))$")
_MOST_CHARS = 64  # Ladybug and Neo4j take more; a longer name is no name


@cache
def identifier_of(name: str) -> str | None:
    """Return what a field is the identifier of (``supplierId``: ``supplier``; ``id``: an empty string); None of another field."""
    found = _ID.fullmatch(name)
    return None if found is None else found["of"] or ""


@cache
def label_of(name: str) -> str:
    """Return the label of things of a name: ``sales_orders`` and ``salesOrder`` are ``SalesOrder``."""
    parts = [each for each in words(name) if each.isascii() and each.isalnum()]
    if not parts:
        return _ROW
    label = "".join(each.capitalize() for each in [*parts[:-1], noun_lemma(parts[-1])])
    label = label if label[0].isalpha() else f"N{label}"
    return f"{label[:_MOST_CHARS]}Thing" if label == CALL else label[:_MOST_CHARS]


@cache
def table_label(name: str) -> str:
    """Return the label of the rows of a table: the first word of its name, so that the tables of several months have one."""
    parts = [each for each in re.split(r"[^A-Za-z]+", name) if each]
    return label_of(parts[0]) if parts else _ROW


@cache
def reference_type(name: str) -> str:
    """Return the type of the edge that a field stands for: ``supplierId`` is ``SUPPLIER``, ``accountOwner`` ``ACCOUNT_OWNER``."""
    of = identifier_of(name) or name
    parts = [each.upper() for each in words(of) if each.isascii() and each.isalnum()]
    kind = "_".join(parts)[:_MOST_CHARS] or "PART"
    kind = kind if kind[0].isalpha() else f"E_{kind}"
    return f"{kind}_PART" if kind == GAVE else kind


@cache
def property_name(name: str) -> str:
    """Return the name of a property for a field of any name: letters, digits and underscores, at most 64."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:_MOST_CHARS]
    return plain if plain and plain[0].isalpha() else f"p_{plain}"[:_MOST_CHARS]
