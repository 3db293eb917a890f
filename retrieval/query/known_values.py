"""The values that the caller knows already (``have``), and the inputs that they fill."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from retrieval.index.analysis import terms

__all__ = ["IDENTIFIER_WORDS", "known_value", "short_name"]

IDENTIFIER_WORDS = frozenset("id identifier uuid guid arn key name number no code slug handle login".split())
"""Index terms that say that an input identifies something, and not what. Chosen, not tuned."""


def known_value(have: Mapping[str, str], parameter: str) -> str | None:
    """The value of an input, which may be empty; None where none is known.

    A name means an input of that name, whatever its spelling (``customerId``, ``customer_id``), and the input that identifies such an
    object (``customer``).

    :param parameter: name of the input; a dotted path for a nested one.
    """
    if not have:
        return None
    named = terms(short_name(parameter))
    identified = [term for term in named if term not in IDENTIFIER_WORDS]
    return next((have[name] for name in have if (said := _said(name)) and said in (named, identified)), None)


@lru_cache(maxsize=256)
def _said(name: str) -> list[str]:
    """The index terms of a name that the caller gives; each name is compared with every input of the answer."""
    return terms(name)


def short_name(parameter: str) -> str:
    """The name of an input without the path of a nested field, in one piece."""
    return "_".join(parameter.replace("[]", "").rpartition(".")[2].split()) or parameter
