"""The outputs of a list beside which it gives what people call the things: ``networks[].id`` beside ``networks[].name``."""

from __future__ import annotations

from datagen.patterns import load_patterns
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["outputs_beside_names"]

_WORDS = load_patterns("output_kinds")


def outputs_beside_names(tool: Tool, noun: str) -> frozenset[str]:
    """The identifiers in the list that a tool documents, each with a name of the same thing beside it.

    Who says the name of such a thing needs the list for its identifier, also where the list takes no name. Beside a display name
    or a title a ``name`` is an identifier, as in documents of Google.

    :param noun: the canonical name of the things.
    """
    by_thing: dict[str, list[str]] = {}
    for output in tool.returns:
        thing, _, last = output.name.rpartition(".")
        if "[]" in thing:
            by_thing.setdefault(thing, []).append(last)
    found: list[str] = []
    for thing, fields in by_thing.items():
        names = [field for field in fields if _is_name(field, noun)]
        found.extend(f"{thing}.{field}" for field in fields if _is_key(field) and names)
        shown = [name for name in names if words(name) != ["name"]]
        found.extend(f"{thing}.{field}" for field in fields if shown and words(field) == ["name"])
    return frozenset(found)


def _is_name(field: str, noun: str) -> bool:
    """Whether a field is the name of the thing itself: ``name``, ``displayName``, ``networkName``."""
    *front, last = [noun_lemma(word) for word in words(field)] or [""]
    return last in _WORDS.words("names") and (not front or front in (["display"], noun.split(), noun.split()[-1:]))


def _is_key(field: str) -> bool:
    return (words(field) or [""])[-1] in _WORDS.words("keys")
