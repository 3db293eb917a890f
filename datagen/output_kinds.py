"""The kinds of documented outputs that a condition can compare."""

from __future__ import annotations

from datagen.patterns import load_patterns
from ingest.linking import type_family
from ontology.tool import Parameter

__all__ = ["output_kind"]

_WORDS = load_patterns("output_kinds")


def output_kind(output: Parameter, last: str) -> str:
    """``state``, ``flag``, ``time`` or ``number``; empty for what no condition compares.

    :param last: the last word of its name, a noun in the singular.
    """
    family = type_family(output.type)
    if last in _WORDS.words("states") and family in ("string", ""):
        return "state"
    if family == "boolean":
        return "flag"
    if output.format in ("date", "date-time") or family == "time" or last in _WORDS.words("times"):
        return "time"
    return "number" if family in ("number", "integer") else ""
