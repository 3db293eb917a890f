"""Wholes and parts: records that are read by one key, and those whose key that is a part of.

Who has read a sales order reads its items by the same key and a number more; an item holds the key of its order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ingest.linking import CanonicalNames, ToolProfile
from ontology.tool import Tool

__all__ = ["Part", "parts_of"]

_MAX_KEY = 6  # fields of a key; so many have 62 proper parts at most
_MAX_WHOLES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Two tools that read records of which one belongs to the other.

    :param shared: the fields that both are read by, as canonical names in alphabetical order.
    """

    whole: str
    part: str
    shared: tuple[str, ...]


def parts_of(tools: Sequence[Tool], profiles: Sequence[ToolProfile], names: CanonicalNames) -> Iterator[Part]:
    """Each part with the nearest of its wholes in its own system: those with which it shares most of its key."""
    readers: dict[tuple[str, frozenset[str]], list[ToolProfile]] = defaultdict(list)
    keys: dict[str, frozenset[str]] = {}
    for tool, profile in zip(tools, profiles, strict=True):
        key = frozenset(names.canonical(one.name) for one in tool.parameters if one.required and not one.enum)
        if profile.action == "get" and 0 < len(key) <= _MAX_KEY:
            keys[profile.id] = key
            readers[profile.system, key].append(profile)
    for profile in profiles:
        if profile.id in keys:
            yield from _wholes(profile, keys[profile.id], readers)


def _wholes(
    part: ToolProfile, key: frozenset[str], readers: dict[tuple[str, frozenset[str]], list[ToolProfile]]
) -> Iterator[Part]:
    for size in range(len(key), 0, -1):
        found = [
            (whole, shared)
            for shared in map(frozenset, combinations(sorted(key), size))
            for whole in readers.get((part.system, shared), ())
            if whole.id != part.id and _is_whole(whole, part, shared, key)
        ]
        for whole, shared in found[:_MAX_WHOLES]:
            yield Part(whole=whole.id, part=part.id, shared=tuple(sorted(shared)))
        if found:
            return


def _is_whole(whole: ToolProfile, part: ToolProfile, shared: frozenset[str], key: frozenset[str]) -> bool:
    """A record with the very same key belongs to the one that the key is called as."""
    if shared == key:
        return any(whole.entity in name for name in shared) and whole.entity != part.entity
    return True
