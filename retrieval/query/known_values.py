"""The values that the caller knows already (``have``), and the inputs that they fill."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ontology.names import noun_lemma, words
from retrieval.index.analysis import STOP_WORDS, terms

__all__ = ["IDENTIFIER_WORDS", "known_value", "short_name"]

IDENTIFIER_WORDS = frozenset("id identifier uuid guid arn key name number no code slug handle login".split())
"""Index terms that say that an input identifies something, and not what. Chosen, not tuned."""


class _Name(NamedTuple):
    """A name in words.

    :param words: all of them, in the singular.
    :param terms: those that are no stop words.
    :param stop_words: the others: what tells ``travel_from`` from ``travel_to``.
    """

    words: tuple[str, ...]
    terms: tuple[str, ...]
    stop_words: frozenset[str]


def known_value(have: Mapping[str, str], parameter: str) -> str | None:
    """The value of an input, which may be empty; None where none is known.

    A name means an input of that name, whatever its spelling (``customerId``, ``customer_id``), and the input that identifies such an
    object (``customer``). Of several the one with all words of the input counts.

    :param parameter: name of the input; a dotted path for a nested one.
    """
    if not have:
        return None
    wanted = _name(short_name(parameter))
    exact = next((name for name in have if _name(name).words == wanted.words != ()), None)
    name = exact if exact is not None else next((name for name in have if _means(_name(name), wanted)), None)
    return None if name is None else have[name]


def _means(said: _Name, wanted: _Name) -> bool:
    """Whether a name that the caller gives means an input; words such as "from" and "to" may be left out, not exchanged."""
    if said.stop_words and wanted.stop_words and said.stop_words != wanted.stop_words:
        return False
    identified = tuple(term for term in wanted.terms if term not in IDENTIFIER_WORDS)
    return bool(said.terms) and said.terms in (wanted.terms, identified)


@lru_cache(maxsize=10_000)
def _name(name: str) -> _Name:
    """The words of a name; each name of the caller is compared with every input of the answer."""
    all_words = words(name)
    return _Name(
        tuple(map(noun_lemma, all_words)),
        tuple(terms(name)),
        frozenset(word for word in all_words if word in STOP_WORDS),
    )


def short_name(parameter: str) -> str:
    """The name of an input without the path of a nested field, in one piece."""
    return "_".join(parameter.replace("[]", "").rpartition(".")[2].split()) or parameter
