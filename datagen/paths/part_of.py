"""Wholes and parts: records whose key contains the key of another record.

For example, the key of a sales order item is the key of its order and an item number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ingest.linking import CanonicalNames, ToolProfile
from ontology.tool import Tool

__all__ = ["Part", "parts_of"]

_MAX_KEY = 6  # maximum number of fields of a key, which then has at most 62 proper subsets
_MAX_WHOLES = 8

_RecordKey = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Two tools that read records, where the record of ``part`` belongs to the record of ``whole``.

    :param shared: the common key fields, as canonical names in alphabetical order.
    """

    whole: str
    part: str
    shared: tuple[str, ...]


def parts_of(tools: Sequence[Tool], profiles: Sequence[ToolProfile], names: CanonicalNames) -> Iterator[Part]:
    """Yield each part with the wholes of its own system that share the most key fields with it."""
    readers: dict[tuple[str, _RecordKey], list[ToolProfile]] = defaultdict(list)
    keys: dict[str, _RecordKey] = {}
    for tool, profile in zip(tools, profiles, strict=True):
        key = frozenset(names.canonical(one.name) for one in tool.parameters if one.required and not one.enum)
        if profile.action == "get" and 0 < len(key) <= _MAX_KEY:
            keys[profile.id] = key
            readers[profile.system, key].append(profile)
    for profile in profiles:
        if profile.id in keys:
            yield from _nearest_wholes(profile, keys[profile.id], readers)


def _nearest_wholes(
    part: ToolProfile, key: _RecordKey, readers: Mapping[tuple[str, _RecordKey], Sequence[ToolProfile]]
) -> Iterator[Part]:
    for size in range(len(key), 0, -1):
        found = [
            Part(whole=whole.id, part=part.id, shared=shared)
            for shared in combinations(sorted(key), size)
            for whole in readers.get((part.system, frozenset(shared)), ())
            if whole.id != part.id and (size < len(key) or _is_named_by(key, whole, part))
        ]
        yield from found[:_MAX_WHOLES]
        if found:
            return


def _is_named_by(key: _RecordKey, whole: ToolProfile, part: ToolProfile) -> bool:
    """Whether the key, which is the same for both, is named after the whole: then the other one is a part."""
    return any(whole.entity in name for name in key) and whole.entity != part.entity
