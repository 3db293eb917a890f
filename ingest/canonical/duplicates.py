"""Near-duplicates: names of one entity type that are different spellings of one name.

Names with the same letters (``e mail``, ``email``), and with a word in British and American spelling. The rarer name is merged into a
more frequent name that is not merged itself, so merges are not transitive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from ingest.canonical.merge_veto import american, veto

__all__ = ["Duplicate", "near_duplicates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """``name`` is another spelling of ``target``."""

    name: str
    target: str
    evidence: str


def near_duplicates(counts: Mapping[str, int]) -> list[Duplicate]:
    """Return the names of one type to merge, each with its target name.

    :param counts: map from canonical name to its count; the more frequent name is the target, ties in alphabetical order.
    """
    rank = {name: number for number, name in enumerate(sorted(counts, key=lambda name: (-counts[name], name)))}
    return _one_target_each([*_same_letters(rank), *_respelled(rank)], rank)


def _same_letters(names: Iterable[str]) -> Iterator[Duplicate]:
    yield from _by_key(names, lambda name: name.replace(" ", ""), "the same letters, apart or together")


def _respelled(names: Iterable[str]) -> Iterator[Duplicate]:
    yield from _by_key(
        names, lambda name: " ".join(map(american, name.split())), "British and American spelling of one word"
    )


def _by_key(names: Iterable[str], key: Callable[[str], str], evidence: str) -> Iterator[Duplicate]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    for group in groups.values():
        for target, name in combinations(group, 2):
            if not veto(target, name):
                yield Duplicate(name=name, target=target, evidence=evidence)


def _one_target_each(found: Iterable[Duplicate], rank: Mapping[str, int]) -> list[Duplicate]:
    """Choose one target for each name, only among names that are not merged; the most frequent first."""
    by_name: dict[str, list[Duplicate]] = defaultdict(list)
    for duplicate in found:
        by_name[duplicate.name].append(duplicate)
    merged: dict[str, Duplicate] = {}
    for name in sorted(by_name, key=rank.__getitem__):
        candidates = [duplicate for duplicate in by_name[name] if duplicate.target not in merged]
        if candidates:
            merged[name] = min(candidates, key=lambda duplicate: rank[duplicate.target])
    return list(merged.values())
