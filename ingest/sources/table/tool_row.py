"""Whether a row of a table describes a tool: a name alone does not, as people, products and packages have names too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ontology.names import noun_lemma, words

__all__ = ["NEEDED", "why_no_tool"]

NEEDED = "a tool has parameters (an empty list where it takes none), returns, a schema or a call, or a description of what it does"

_STRUCTURE = ("parameters", "inputs", "returns", "outputs", "input_schema", "output_schema", "depends_on", "call")
# Columns of people, products and places: a description beside them describes a thing. Chosen, not tuned; a row that has parameters
# may have any column.
_THINGS = frozenset(
    "price currency discount stock quantity sku ean barcode weight email phone mobile fax birthday birthdate gender salary "
    "street zip postcode latitude longitude".split()
)


def why_no_tool(row: Mapping[str, Any], *, alone: bool = False) -> str:
    """Return why a row with a name is no tool, as the end of a sentence; empty for a tool.

    :param alone: whether the row is a whole document. A file with one name and one description is a package or a configuration.
    """
    if any(row.get(key) is not None for key in _STRUCTURE):
        return ""
    description = row.get("description")
    if alone or not (isinstance(description, str) and description.strip()):
        return f"has a name, but {NEEDED}"
    column = next((str(key) for key in row if _THINGS & {noun_lemma(word) for word in words(str(key))}), "")
    return f"has the column {column!r} of a thing or a person, and no parameters; {NEEDED}" if column else ""
