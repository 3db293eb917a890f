"""Which parts of a tool are not whole, because its schemas go beyond the limits."""

from __future__ import annotations

from ingest.sources.json_schema.schema import Fields
from ingest.sources.json_schema.self_contained import SelfContained

__all__ = ["cut_parts"]


def cut_parts(**parts: Fields | SelfContained | None) -> dict[str, list[str]]:
    """The metadata ``cut`` of a tool, one line for each part that was cut; empty where all are whole.

    :param parts: ``parameters``, ``returns``, ``input_schema``, ``output_schema``; None for a part that the tool has not.
    """
    cut = [name for name, part in parts.items() if part is not None and part.cut]
    return {"cut": [f"{name}: only the first fields of a large or deep schema are kept" for name in cut]} if cut else {}
