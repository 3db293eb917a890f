"""Composed names of resources: ``projects/{project}/locations/{location}/instances/{instance}`` as parts that people say.

Who types such a name says its last parts, each with its noun: the instance ``orders-db`` in the location ``eu-west-1``.
The container of the connection at the front (a project, an account) goes without saying where more follows.
Found on the lists ``google`` and ``google2`` of ``research/fresh_catalogues``, half and three quarters of whose tools require such a name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from datagen.patterns import load_patterns
from ontology.names import noun_lemma, words
from ontology.tool import Parameter

__all__ = ["has_composed_name", "is_in_another", "is_of_any", "needed_collections", "said_collections"]

_CONTAINERS = load_patterns("paths/words").words("containers")
_ANY = re.compile(r"\[\^/\]|\(\?:|[()]")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FIXED = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = r"(?:\{[^{}/]*\}|\[[A-Za-z_-]+\]|<[A-Za-z_-]+>|\*|[A-Z][A-Z_]*[A-Z])"
_FORM = re.compile(rf"(?<![\w/])(?:[a-z]\w*/{_PLACE}/)*[a-z]\w*/{_PLACE}(?![\w/])")
_MIN_FORM = 2  # collections of a form in running text, where ``and/or`` is none


@lru_cache(maxsize=50_000)
def _collections(pattern: str, description: str) -> tuple[str, ...]:
    """The nouns of the collections of a composed name in their order, empty for one without a name; empty where it is none."""
    if "/" in pattern:
        return _of_segments(_ANY.sub("", pattern.removeprefix("^").removesuffix("$")).split("/"))
    forms = {found[0] for found in _FORM.finditer(description)} if "/" in description and not pattern else set()
    found = {
        _of_segments(re.sub(_PLACE, "+", form).split("/")) for form in forms if form.count("/") >= 2 * _MIN_FORM - 1
    }
    return found.pop() if len(found) == 1 else ()


def _of_segments(segments: list[str]) -> tuple[str, ...]:
    """The nouns of pairs of a collection and a place; empty for a name with a place too few, or with one fixed part."""
    pairs = list(zip(segments[::2], segments[1::2], strict=False))
    if len(segments) % 2 or any(_FIXED.fullmatch(place) for _, place in pairs):
        return ()
    return tuple(_noun(collection) if _PLAIN.fullmatch(collection) else "" for collection, _ in pairs)


def _noun(collection: str) -> str:
    """``keyRings`` → ``key ring``."""
    *front, last = words(collection)
    return " ".join((*front, noun_lemma(last)))


def has_composed_name(parameter: Parameter) -> bool:
    """Whether an input takes a composed name whose parts all have a collection, but for the container at the front."""
    found = _collections(parameter.pattern, parameter.description)
    return bool(found) and all(found[1:]) and bool(found[-1])


def needed_collections(parameter: Parameter) -> tuple[str, ...]:
    """The nouns of the parts that a request must state, the last first: all but the container of the connection.

    >>> needed_collections(Parameter(name="name", pattern="^projects/[^/]+/locations/[^/]+/keyRings/[^/]+$"))
    ('key ring', 'location')
    """
    if not has_composed_name(parameter):
        return ()
    first, *rest = _collections(parameter.pattern, parameter.description)
    is_connection = bool(rest) and (not first or first.split()[-1] in _CONTAINERS)
    return tuple(reversed(rest if is_connection else (first, *rest)))


def said_collections(parameter: Parameter) -> tuple[str, ...]:
    """The nouns of the parts that a request states: those that it must, and the container where only one other part is there.

    A sink of a project and a sink of a folder are told apart by nothing else.
    """
    needed = needed_collections(parameter)
    found = _collections(parameter.pattern, parameter.description)
    return tuple(reversed(found)) if len(needed) == 1 and len(found) == 2 and found[0] else needed


def is_in_another(one: Parameter, other: Parameter) -> bool:
    """Whether the composed names of two inputs have other collections, so that none is a value of the other; one without a name may be any."""
    mine, theirs = (_collections(name.pattern, name.description) for name in (one, other))
    differing = (first != second for first, second in zip(mine, theirs, strict=False) if first and second)
    return len(mine) != len(theirs) or any(differing)


def is_of_any(one: Parameter, other: Parameter) -> bool:
    """Whether the container of one composed name is of any kind, and that of the other, which is the same behind it, of one kind."""
    mine, theirs = (_collections(name.pattern, name.description) for name in (one, other))
    return bool(mine) and not mine[0] and mine[1:] == theirs[1:] and bool(theirs[0])
