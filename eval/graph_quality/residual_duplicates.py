"""Residual duplicates: pairs of nodes of one type that may mean the same, and that canonicalisation did not merge.

They are suspects, which a person must check. Names with the same letters, spelling or words nearly always mean the same;
names with similar vectors often do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ingest.canonical.duplicates import near_duplicates
from ingest.canonical.merge_veto import american, veto
from ontology.names import noun_lemma, verb_lemma
from retrieval.snapshot.reader import Snapshot

__all__ = ["REASONS", "ResidualDuplicates", "Suspect", "TypeDuplicates", "find_residual_duplicates"]

REASONS = ("letters", "words", "vectors")
"""Why two names are suspects: the same letters, or British and American spelling; the same words with other inflection
or order; vectors with a cosine of :data:`_NEAR` or more, where no veto separates the names.
"""
_NEAR = 0.92  # minimum cosine of two names, in [-1, 1]
_NO_NAMES = ("tool", "value")  # ids and literals, which have no canonical names
_DIRECTIONS = frozenset("after before by for from in into of on onto per than to until with without".split())
_EXAMPLES = 20
_NEIGHBOURS = 8  # maximum number of nearest names for each name


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Two canonical names of one type; ``cosine`` of their vectors, in [-1, 1]."""

    type: str
    one: str
    other: str
    reason: str
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDuplicates:
    """The suspects of one type of nodes.

    :param names: number of nodes in a pair, of ``nodes``.
    :param by_reason: number of pairs by reason; each pair counts once, under the first of :data:`REASONS` that applies.
    """

    nodes: int
    names: int
    pairs: int
    by_reason: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualDuplicates:
    """The counts of all suspects.

    :param examples: 20 pairs: for each reason in turn the pair with the highest cosine.
    """

    least_cosine: float
    pairs: int
    by_type: Mapping[str, TypeDuplicates]
    examples: tuple[Suspect, ...]


def find_residual_duplicates(snapshot: Snapshot) -> ResidualDuplicates:
    """Find the suspected duplicates in a snapshot's graph."""
    types = _names_by_type(snapshot)
    found = {type_: list(_suspects(snapshot, type_, names)) for type_, names in types.items()}
    by_type = {
        type_: TypeDuplicates(
            nodes=len(types[type_]),
            names=len({name for pair in pairs for name in (pair.one, pair.other)}),
            pairs=len(pairs),
            by_reason=dict(sorted(Counter(pair.reason for pair in pairs).items())),
        )
        for type_, pairs in found.items()
    }
    examples = _in_turn([pair for pairs in found.values() for pair in pairs])[:_EXAMPLES]
    return ResidualDuplicates(
        least_cosine=_NEAR,
        pairs=sum(len(pairs) for pairs in found.values()),
        by_type=by_type,
        examples=tuple(replace(pair, cosine=round(pair.cosine, 3)) for pair in examples),
    )


def _names_by_type(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Return the node numbers by type and canonical name, types and names in order."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for number in range(snapshot.tool_count, len(snapshot.nodes)):
        type_, _, name = snapshot.node_key(number).partition(":")
        if type_ not in _NO_NAMES:
            found[type_][name] = number
    return dict(sorted(found.items()))


def _suspects(snapshot: Snapshot, type_: str, numbers: Mapping[str, int]) -> Iterator[Suspect]:
    """Yield each suspected pair of one type once, in the order of :data:`REASONS`."""
    finders = {
        "letters": _same_letters(numbers),
        "words": _same_words(type_, numbers),
        "vectors": _near(snapshot, numbers),
    }
    seen: set[tuple[str, str]] = set()
    for reason, pairs in finders.items():
        for pair in pairs:
            one, other = sorted(pair)
            if (one, other) not in seen:
                seen.add((one, other))
                vectors = snapshot.vectors.rows(np.asarray([numbers[one], numbers[other]]))
                yield Suspect(type=type_, one=one, other=other, reason=reason, cosine=float(vectors[0] @ vectors[1]))


def _same_letters(names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for duplicate in near_duplicates(dict.fromkeys(names, 1)):
        yield duplicate.target, duplicate.name


def _same_words(type_: str, names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield names that are equal except for inflection and word order, each with the first of its group.

    Word order matters in names with a preposition ("from usd to eur"); the first word of a capability is its verb.
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
    """Yield names with similar vectors that no veto separates.

    The veto separates names with another number of words or another last word, so only names that share both are
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
            close = np.flatnonzero(cosines >= _NEAR)
            nearest = close[np.argsort(-cosines[close], kind="stable")][:_NEIGHBOURS]
            yield from ((name, other) for at in nearest.tolist() if _may_be_one(name, other := names[one + 1 + at]))


def _may_be_one(one: str, other: str) -> bool:
    """Whether two names may mean the same; names with the same words in another order were found before."""
    return sorted(one.split()) != sorted(other.split()) and not veto(one, other)


def _in_turn(pairs: Sequence[Suspect]) -> list[Suspect]:
    """Return the pair with the highest cosine of each reason, then the second of each, and so on."""
    ranked = sorted(pairs, key=lambda pair: (-pair.cosine, pair.type, pair.one, pair.other))
    places: Counter[str] = Counter()
    turns = []
    for pair in ranked:
        turns.append((places[pair.reason], REASONS.index(pair.reason), pair))
        places[pair.reason] += 1
    return [pair for _, _, pair in sorted(turns, key=lambda turn: turn[:2])]
