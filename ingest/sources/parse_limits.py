"""Limits of JSON and YAML documents, checked before the memory is used."""

from __future__ import annotations

import re
from typing import Any

import yaml

from ontology.errors import DocumentError

__all__ = ["MAX_MERGED_ENTRIES", "MAX_NODES", "check_json_size", "check_merges"]

#: Maximum number of values of a document. A value in memory takes some 200 bytes, however short its text is: 1 GB at most. Chosen,
#: not tuned; the largest of 600 discovery documents and EC2's model has 0.17 million.
MAX_NODES = 5_000_000
#: Maximum number of entries that the merge keys (``<<``) of a YAML document copy. Chosen, not tuned.
MAX_MERGED_ENTRIES = 100_000

_JSON_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MERGE_TAG = "tag:yaml.org,2002:merge"


def check_json_size(text: str | bytes, subject: str) -> None:
    """Count the values of a JSON text without parsing it: commas and opening brackets, at first also those inside texts.

    :raises DocumentError: for more than :data:`MAX_NODES` values.
    """
    if _values(text) > MAX_NODES and _values(_without_texts(text)) > MAX_NODES:
        raise DocumentError(
            f"it has more than {MAX_NODES:,} values", subject=subject, remedy="Split the document", reason="too-large"
        )


def _values(text: str | bytes) -> int:
    if isinstance(text, bytes):
        return text.count(b",") + text.count(b"{") + text.count(b"[")
    return text.count(",") + text.count("{") + text.count("[")


def _without_texts(text: str | bytes) -> str:
    shown = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    return _JSON_TEXT.sub("", shown)


def check_merges(loader: Any, node: yaml.MappingNode) -> None:
    """Count the entries that the merge keys of a mapping copy, before they are copied: each level of aliases multiplies them.

    :param loader: it keeps the counts of its document in ``merged`` and ``merged_sizes``.
    :raises yaml.constructor.ConstructorError: for more than :data:`MAX_MERGED_ENTRIES` entries, or a merge of itself.
    """
    if any(key.tag == _MERGE_TAG for key, _ in node.value):
        loader.merged += _merged_size(node, loader.merged_sizes, set()) - len(node.value)
        if loader.merged > MAX_MERGED_ENTRIES:
            problem = f"its merge keys copy more than {MAX_MERGED_ENTRIES:,} entries"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _merged_size(node: yaml.Node, sizes: dict[int, int], open_: set[int]) -> int:
    """Return the number of entries of a mapping after its merge keys are expanded; of a list, of all its mappings."""
    key = id(node)
    if key in sizes:
        return sizes[key]
    if key in open_:
        raise yaml.constructor.ConstructorError(None, None, "a merge key contains itself", node.start_mark)
    open_.add(key)
    total = 0
    if isinstance(node, yaml.SequenceNode):
        total = sum(_merged_size(item, sizes, open_) for item in node.value)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            total += _merged_size(value, sizes, open_) if name.tag == _MERGE_TAG else 1
    open_.discard(key)
    sizes[key] = total
    return total
