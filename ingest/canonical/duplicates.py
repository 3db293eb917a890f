"""Near-duplicates: names of one entity type that are different spellings of one name.

Names with the same letters (``e mail``, ``email``), and with a word in British and American spelling. The rarer name is merged into a
more frequent name that is not merged itself, so merges are not transitive.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from ingest.word_lists import word_list, word_sets

__all__ = ["Duplicate", "american", "near_duplicates", "veto"]

_NEGATING = word_list("canonical", "negating_prefixes")
_DERIVING = word_list("canonical", "deriving_suffixes")
_DIGITS = re.compile(r"\d+")
_SPELLINGS = (
    (re.compile(r"isation"), "ization"),
    (re.compile(r"is(?=(e|ed|er|ing|able)$)"), "iz"),
    (re.compile(r"ys(?=(e|ed|er|ing)$)"), "yz"),
    (re.compile(r"our(?=$|ed$|ing$|ite$|able$)"), "or"),
    (re.compile(r"([aeiouy][^aeiouy]{1,3}[aeiou])ll(?=(ed|ing|er|ation)$)"), r"\1l"),
    (re.compile(r"(?<=[bcdfgpt])re$"), "er"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"(?<=..)ence$"), "ense"),
    (re.compile(r"amme$"), "am"),
    (re.compile(r"cheque"), "check"),
    (re.compile(r"(?<=[fr][io])l(?!l)(?=$|ment|s$)"), "ll"),
    (re.compile(r"adviser"), "advisor"),
)
_MIN_RESPELLED = 5
_MIN_SWAPPED = 6
_NO_GROUP: set[int] = set()


def veto(one: str, other: str) -> str:
    """Return the reason not to merge two canonical names, one clause; empty when they may be merged."""
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return "different numbers"
    if one.replace(" ", "") == other.replace(" ", ""):
        return ""
    left, right = one.split(), other.split()
    if len(left) != len(right):
        return "one is a kind or a part of the other"
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    for a, b in pairs:
        if not _groups().get(a, _NO_GROUP).isdisjoint(_groups().get(b, _NO_GROUP)):
            return f"{a!r} and {b!r} are opposites"
        if reason := _derived(a, b):
            return reason
    if left[-1] != right[-1] and not _same_spelling(left[-1], right[-1]):
        return f"different heads, {left[-1]!r} and {right[-1]!r}"
    return ""


@cache
def _groups() -> dict[str, set[int]]:
    """Map from word to the numbers of its groups of opposites."""
    groups: dict[str, set[int]] = defaultdict(set)
    for number, words in enumerate(word_sets("canonical", "opposites")):
        for word in words:
            groups[word].add(number)
    return dict(groups)


def _derived(a: str, b: str) -> str:
    short, long = sorted((a, b), key=lambda word: (len(word), word))
    if _british_or_american(short, long):
        return ""
    if any(long == prefix + short for prefix in _NEGATING):
        return f"{long!r} is not {short!r}"
    stem = short.removesuffix("e")
    if long.startswith(stem) and long[len(stem) :] in _DERIVING:
        return f"{long!r} is another word made from {short!r}"
    if _stemmed(short) & _stemmed(long):
        return f"{short!r} and {long!r} are two words made from one"
    return ""


def _stemmed(word: str) -> set[str]:
    return {word[: -len(ending)] for ending in _DERIVING if word.endswith(ending) and len(word) - len(ending) >= 4}


def _same_spelling(a: str, b: str) -> bool:
    """Whether two words are spellings of one word: British and American, or with few typing errors for their length.

    An inserted, a deleted, or two swapped letters are typing errors. A substituted letter is not, because technical names often
    differ in one letter (``bitlshift``, ``bitrshift``).
    """
    if _british_or_american(a, b):
        return True
    if len(a) == len(b) and not _swapped(a, b):
        return False
    return _edit_distance(a, b, 2) <= max(_allowed(a, b), 2 * _swapped(a, b))


def _swapped(a: str, b: str) -> bool:
    """Whether the words differ only by two swapped neighbouring letters; false for words of less than 6 letters."""
    if len(a) != len(b) or len(a) < _MIN_SWAPPED:
        return False
    diff = [index for index, (one, other) in enumerate(zip(a, b, strict=True)) if one != other]
    return len(diff) == 2 and diff[1] == diff[0] + 1 and a[diff[0]] == b[diff[1]] and a[diff[1]] == b[diff[0]]


def _allowed(a: str, b: str) -> int:
    shortest = min(len(a), len(b))
    return 2 if shortest >= 10 else 1 if shortest >= 6 else 0


def _british_or_american(a: str, b: str) -> bool:
    """Whether two words are the British and American spelling of one word: ``organisation``, ``organization``."""
    return min(len(a), len(b)) >= _MIN_RESPELLED and (a == b or american(a) == american(b))


@cache
def american(word: str) -> str:
    """Return a key that is equal for the British and American spelling of a word."""
    if len(word) < _MIN_RESPELLED:
        return word
    for pattern, replacement in _SPELLINGS:
        word = pattern.sub(replacement, word)
    return word


def _edit_distance(a: str, b: str, limit: int) -> int:
    """Return the Levenshtein distance of two words; ``limit + 1`` when it is above ``limit``."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    previous = list(range(len(b) + 1))
    for row, letter in enumerate(a, 1):
        current = [row]
        for column, other in enumerate(b, 1):
            changed = previous[column - 1] + (letter != other)
            current.append(min(changed, previous[column] + 1, current[-1] + 1))
        if min(current) > limit:
            return limit + 1
        previous = current
    return min(previous[-1], limit + 1)


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
