"""Needed filters: inputs that no schema requires, although the text of the document says that one of them must be given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from datagen.generation.arguments import Argument
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["needed_filters"]

_GIVE = r"(?:specify|provide|give|supply|include|pass|set|use)"
_ONE_OF = re.compile(
    rf"\b(?:must|have to|need to)\s+{_GIVE}\s+(?:(?:only|at least|exactly|either)\s+)*(?:one|any)\s+of\b"
    rf"|\b(?:at least|exactly|only)\s+one\s+of\b(?=[^.]*\b(?:required|must|mandatory)\b)"
    rf"|\bone\s+of\s+[^.]{{0,200}}\b(?:is required|must be (?:given|specified|provided|set|supplied))\b",
    re.I,
)
"""What says that one of several inputs must be given."""
_SPECIFIED = re.compile(
    r"\b(?:for|in|of|from|within|on)\s+(?:a|an|the|one)\s+(?:specified|given|particular|specific)\s+(?P<thing>[^.,;:]{2,60})",
    re.I,
)
_FREE = re.compile(r"\b(?:all|any|if|optional|optionally|or)\b", re.I)
_MAX_TEXT = 600  # characters of a document that are read


def needed_filters(tool: Tool, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """The arguments of which a call needs one, by the text of a document; none where its schema requires one of them.

    A list says "you must specify one of the following", or that it is of things "for a specified job queue". Found on the
    document of Batch, where two readers could not list "the jobs that are pending" without a queue.
    """
    text = tool.description[:_MAX_TEXT]
    identifiers = [one for one in arguments if one.role == "id" and one.noun is not None]
    if said := _ONE_OF.search(text):
        named = set(_lemmas(text[said.start() :]))
        found = [one for one in identifiers if set(_own_words(one)) <= named] or identifiers
        return () if any(one.required for one in found) else tuple(found)
    sentence = re.split(r"(?<=[.!?])\s|\n", text, maxsplit=1)[0]
    specified = _SPECIFIED.search(sentence)
    if specified is None or _FREE.search(sentence):
        return ()
    thing = list(_lemmas(specified["thing"]))
    found = [one for one in identifiers if thing[: len(own := _own_words(one))] == own]
    return () if any(one.required for one in found) else tuple(found)


def _own_words(argument: Argument) -> list[str]:
    return list(_lemmas(argument.noun.key)) if argument.noun is not None else []


def _lemmas(text: str) -> Iterator[str]:
    yield from map(noun_lemma, words(text))
