"""Near-duplicates: names of one entity type that are different spellings of one name.

Candidate pairs come from blocking: names with the same letters (``e mail``, ``email``), and names that differ in exactly one word,
where the two words are spellings of one word or have similar vectors. Only names of candidate pairs are encoded. A merge needs a
minimum cosine of the whole names and no veto. The rarer name is merged into a more frequent name that is not merged itself, so
merges are not transitive.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ingest.canonical.merge_veto import american, edit_distance, veto

if TYPE_CHECKING:
    from inference.encoder import Encoder

__all__ = ["Duplicate", "near_duplicates"]

SPELLING_THRESHOLD = 0.8  # minimum cosine of whole names whose words differ by one or two letters
WORD_THRESHOLD = 0.8  # minimum cosine of two words, to compare the names that differ by them
_NEIGHBOURS = 8  # number of nearest words that are compared for each word
_MIN_WORD = 4
_MIN_EDIT = 6
_MAX_WORDS = 8
_BATCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """``name`` is another spelling of ``target``.

    :param score: cosine of the two names; 1 for a merge by spelling alone.
    """

    name: str
    target: str
    score: float
    evidence: str


def near_duplicates(counts: Mapping[str, int], *, encoder: Encoder | None, threshold: float) -> list[Duplicate]:
    """Return the names of one type to merge, each with its target name.

    :param counts: map from canonical name to its count; the more frequent name is the target, ties in alphabetical order.
    :param encoder: encoder of names and words; without one, only the spelling is compared.
    :param threshold: minimum cosine of two names that differ by one word, with similar meaning, in [-1, 1].
    """
    rank = {name: number for number, name in enumerate(sorted(counts, key=lambda name: (-counts[name], name)))}
    names = list(rank)
    found = [*_same_letters(names), *_respelled(names)]
    if encoder is not None:
        blocks = _blocks(names)
        pairs = {_ordered(pair, rank): why for pair, why in _candidates(blocks, encoder)}
        found.extend(_with_cosine(pairs, encoder, threshold))
    return _one_target_each(found, rank)


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
                yield Duplicate(name=name, target=target, score=1.0, evidence=evidence)


def _blocks(names: Sequence[str]) -> list[dict[str, str]]:
    """Group names that differ only in the word at one position; each block maps from this word to the name."""
    blocks: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for name in names:
        words = name.split()
        if len(words) <= _MAX_WORDS:
            for index, word in enumerate(words):
                if len(word) >= _MIN_WORD and _is_latin(word):
                    blocks[(*words[:index], "", *words[index + 1 :])][word] = name
    return [block for block in blocks.values() if len(block) > 1]


def _is_latin(word: str) -> bool:
    """Whether a word is in Latin script; an English model gives similar vectors to all words of other scripts."""
    plain = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return plain.isalpha() and len(plain) >= len(word)


def _candidates(blocks: Sequence[Mapping[str, str]], encoder: Encoder) -> Iterator[tuple[tuple[str, str], str]]:
    vocabulary = sorted({word for block in blocks for word in block})
    close = _close_words(vocabulary, encoder)
    for neighbour, near in _spelling_neighbours(vocabulary).items():
        for word in near:
            close.setdefault(neighbour, {})[word] = "spelling"
    for block in blocks:
        for word, name in block.items():
            for other, why in close.get(word, {}).items():
                if other in block and word < other:
                    yield (name, block[other]), why


def _close_words(vocabulary: Sequence[str], encoder: Encoder) -> dict[str, dict[str, str]]:
    """Map from word to its nearest words by vector with at least :data:`WORD_THRESHOLD`."""
    close: dict[str, dict[str, str]] = {}
    if len(vocabulary) < 2:
        return close
    import faiss

    vectors = _encoded(vocabulary, encoder)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    scores, places = index.search(vectors, min(_NEIGHBOURS + 1, len(vocabulary)))
    for row, word in enumerate(vocabulary):
        for score, place in zip(scores[row], places[row], strict=True):
            if place not in (-1, row) and score >= WORD_THRESHOLD:
                close.setdefault(word, {})[vocabulary[place]] = "meaning"
                close.setdefault(vocabulary[place], {})[word] = "meaning"
    return close


def _spelling_neighbours(vocabulary: Iterable[str]) -> dict[str, set[str]]:
    """Map from word to the words at edit distance 1, found by deletion of one letter from each."""
    by_deletion: dict[str, list[str]] = defaultdict(list)
    for word in vocabulary:
        if len(word) >= _MIN_EDIT:
            for shorter in {word, *(word[:index] + word[index + 1 :] for index in range(len(word)))}:
                by_deletion[shorter].append(word)
    near: dict[str, set[str]] = defaultdict(set)
    for group in by_deletion.values():
        for one, other in combinations(group, 2):
            if edit_distance(one, other, 1) <= 1:
                near[one].add(other)
                near[other].add(one)
    return near


def _with_cosine(pairs: Mapping[tuple[str, str], str], encoder: Encoder, threshold: float) -> Iterator[Duplicate]:
    allowed = [(pair, why) for pair, why in sorted(pairs.items()) if not veto(*pair)]
    names = sorted({name for pair, _ in allowed for name in pair})
    if not names:
        return
    vectors = _encoded(names, encoder)
    row = {name: number for number, name in enumerate(names)}
    for (target, name), why in allowed:
        cosine = float(vectors[row[target]] @ vectors[row[name]])
        if cosine >= (SPELLING_THRESHOLD if why == "spelling" else threshold):
            evidence = f"cosine {cosine:.3f}, one word differs in {why}"
            yield Duplicate(name=name, target=target, score=min(1.0, cosine), evidence=evidence)


def _one_target_each(found: Iterable[Duplicate], rank: Mapping[str, int]) -> list[Duplicate]:
    """Choose one target for each name, only among names that are not merged; highest score first, ties by rank of the target."""
    by_name: dict[str, list[Duplicate]] = defaultdict(list)
    for duplicate in found:
        by_name[duplicate.name].append(duplicate)
    merged: dict[str, Duplicate] = {}
    for name in sorted(by_name, key=rank.__getitem__):
        candidates = [duplicate for duplicate in by_name[name] if duplicate.target not in merged]
        if candidates:
            merged[name] = min(candidates, key=lambda duplicate: (-duplicate.score, rank[duplicate.target]))
    return list(merged.values())


def _ordered(pair: tuple[str, str], rank: Mapping[str, int]) -> tuple[str, str]:
    one, other = pair
    return (one, other) if rank[one] < rank[other] else (other, one)


def _encoded(texts: Sequence[str], encoder: Encoder) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    parts = [encoder.encode(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
    return np.ascontiguousarray(np.concatenate(parts), dtype=np.float32)
