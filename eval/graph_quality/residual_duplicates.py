"""Duplicates that canonicalisation left: two nodes of one type that a person would call one thing.

Suspects, not verdicts: names of the same letters, spellings or words are nearly always one thing; names that lie close as vectors
and differ in a word before the last are so often enough to be worth reading.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingest.canonical.duplicates import near_duplicates
from ingest.canonical.merge_veto import american, veto
from ontology.names import noun_lemma, verb_lemma
from retrieval.snapshot.reader import Snapshot

__all__ = ["HOW", "NEAR", "duplicates_left"]

HOW = ("letters", "words", "vectors")
"""Why two names are suspected: the same letters, or British and American spelling; the same words in other inflection or
order; vectors of :data:`NEAR` or more that no veto keeps apart."""
NEAR = 0.92
"""Least cosine of two names, in [-1, 1]."""
_NO_NAMES = ("tool", "value")  # ids and literals: spelled as the source wants them
_DIRECTIONS = frozenset("after before by for from in into of on onto per than to until with without".split())
_EXAMPLES = 20
_NEIGHBOURS = 8  # names nearest to a name that are judged


@dataclass(frozen=True, slots=True, kw_only=True)
class _Suspect:
    type: str
    one: str
    other: str
    how: str
    cosine: float


def duplicates_left(snapshot: Snapshot) -> dict[str, Any]:
    """Suspected duplicates counted by type and reason, and the 20 most suspicious, the reasons in turn.

    A pair counts once, for the first reason of :data:`HOW`. ``names`` is how many nodes stand in a pair.
    """
    types = _names_by_type(snapshot)
    found = {type_: list(_suspects(snapshot, type_, names)) for type_, names in types.items()}
    by_type = {
        type_: {
            "nodes": len(types[type_]),
            "names": len({name for pair in pairs for name in (pair.one, pair.other)}),
            "pairs": len(pairs),
            **{how: count for how, count in sorted(Counter(pair.how for pair in pairs).items())},
        }
        for type_, pairs in found.items()
    }
    examples = _in_turn([pair for pairs in found.values() for pair in pairs])[:_EXAMPLES]
    return {
        "least_cosine": NEAR,
        "pairs": sum(len(pairs) for pairs in found.values()),
        "by_type": by_type,
        "examples": [[pair.type, pair.one, pair.other, pair.how, round(pair.cosine, 3)] for pair in examples],
    }


def _names_by_type(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Type → canonical name → node number, types and names in order."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for number in range(snapshot.tool_count, len(snapshot.nodes)):
        type_, _, name = snapshot.node_key(number).partition(":")
        if type_ not in _NO_NAMES:
            found[type_][name] = number
    return dict(sorted(found.items()))


def _suspects(snapshot: Snapshot, type_: str, numbers: Mapping[str, int]) -> Iterator[_Suspect]:
    """Each suspected pair of one type once, in the order of :data:`HOW`."""
    finders = {
        "letters": _same_letters(numbers),
        "words": _same_words(type_, numbers),
        "vectors": _near(snapshot, numbers),
    }
    seen: set[tuple[str, str]] = set()
    for how, pairs in finders.items():
        for pair in pairs:
            one, other = sorted(pair)
            if (one, other) not in seen:
                seen.add((one, other))
                vectors = snapshot.vectors.rows(np.asarray([numbers[one], numbers[other]]))
                yield _Suspect(type=type_, one=one, other=other, how=how, cosine=float(vectors[0] @ vectors[1]))


def _same_letters(names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for duplicate in near_duplicates(dict.fromkeys(names, 1), encoder=None, threshold=1.0):
        yield duplicate.target, duplicate.name


def _same_words(type_: str, names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Names that are equal once inflection and the order of the words no longer count, each with the first of its group.

    Order counts in names with a preposition ("from usd to eur"), and the first word of a capability is its verb.
    """
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in names:
        words = name.split()
        if type_ == "capability":
            key = (verb_lemma(words[0]), *_order_free(words[1:]))
        else:
            key = _order_free(words)
        groups[key].append(name)
    for first, *others in groups.values():
        yield from ((first, other) for other in others)


def _order_free(words: Sequence[str]) -> tuple[str, ...]:
    lemmas = [noun_lemma(word) for word in words]
    return tuple(lemmas) if _DIRECTIONS & set(words) else tuple(sorted(lemmas))


def _near(snapshot: Snapshot, numbers: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Names near each other as vectors that no veto keeps apart.

    The veto keeps apart what has another number of words or another last word, so only names that share both are
    compared.
    """
    blocks: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name in numbers:
        words = name.split()
        if len(words) > 1:
            blocks[len(words), american(words[-1])].append(name)
    for names in blocks.values():
        vectors = snapshot.vectors.rows(np.asarray([numbers[name] for name in names]))
        for one, name in enumerate(names[:-1]):
            cosines = vectors[one + 1 :] @ vectors[one]
            close = np.flatnonzero(cosines >= NEAR)
            nearest = close[np.argsort(-cosines[close], kind="stable")][:_NEIGHBOURS]
            yield from ((name, other) for at in nearest.tolist() if _may_be_one(name, other := names[one + 1 + at]))


def _may_be_one(one: str, other: str) -> bool:
    """Whether words, not vectors, speak against it; another order of the same words was judged by the words."""
    return sorted(one.split()) != sorted(other.split()) and not veto(one, other)


def _in_turn(pairs: Sequence[_Suspect]) -> list[_Suspect]:
    """The highest cosine of each reason, then the second of each, and so on."""
    ranked = sorted(pairs, key=lambda pair: (-pair.cosine, pair.type, pair.one, pair.other))
    places: Counter[str] = Counter()
    turns = []
    for pair in ranked:
        turns.append((places[pair.how], HOW.index(pair.how), pair))
        places[pair.how] += 1
    return [pair for _, _, pair in sorted(turns, key=lambda turn: turn[:2])]
