"""Which inputs of a tool the request gives, and with which of its values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ontology.names import is_verb, verb_lemma
from retrieval.explain.tool_facts import Input, ToolFacts
from retrieval.index.analysis import STOP_WORDS, terms
from retrieval.query.known_values import IDENTIFIER_WORDS, known_value
from retrieval.query.typed_values import TypedValue

__all__ = ["GivenInputs", "GivenValue", "given_values", "named_nouns"]

# Chosen, not tuned.
_IDENTIFIERS = frozenset(("identifier", "uuid", "arn", "hex digest", "integer", "code", "repository", "slug"))
"""Kinds of value that may identify anything."""
_NAMED = {"email": frozenset(("email", "mail")), "url": frozenset(("url", "link", "uri")), "iban": frozenset(("iban",))}
"""Kinds of value that an input with such a last word in its name takes."""
_SAYS_NAME = IDENTIFIER_WORDS | frozenset("call named is".split())
_SLUG = re.compile(r"(?<![\w/.:@-])[a-z0-9]{1,40}(?:[-_][a-z0-9]{1,40}){1,6}(?![\w/:@-])")
_NAME_PART = re.compile(r"[a-z]{3,}[-_]")
_WORD = re.compile(r"[^\W\d_]{2,40}")
_MAX_READ = 400  # words of a request
_BREAK = re.compile(r"[.,;:!?()\n]")
_BEFORE = 60  # characters before a value that are read for the noun beside it
_IS = frozenset({"is", "are", "was", "with", "called"})
_COUNT_DIGITS = 4  # a longer number is rarely a count. Chosen, not tuned.


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value of the request.

    :param kind: as in :class:`retrieval.query.typed_values.TypedValue`, or ``slug``: a name like ``reporting-stage``.
    :param noun: the index terms of the words before it, in the same part of the sentence, without those like *number*, *called*.
    :param entities: index terms of what values of its shape identify; empty where the shape says nothing.
    :param uses: (tool, input) whose shape it has.
    """

    kind: str
    text: str
    noun: tuple[str, ...]
    entities: frozenset[str]
    uses: frozenset[tuple[int, str]]


def given_values(text: str, values: Sequence[TypedValue]) -> tuple[GivenValue, ...]:
    """The values of a request that inputs may take."""
    taken = {at for value in values for at in range(value.start, value.end)}
    slugs = [match for match in _SLUG.finditer(text) if match.start() not in taken]
    return (
        *(_given(text, value) for value in values),
        *(GivenValue("slug", match[0], _noun_before(text, match.start()), frozenset(), frozenset()) for match in slugs),
    )


def named_nouns(text: str) -> frozenset[str]:
    """The index terms of the words that another word follows which may be a name: no stop word, no verb and no value."""
    found: set[str] = set()
    words = list(_WORD.finditer(text))[:_MAX_READ]
    for first, second in pairwise(words):
        name = second[0].lower()
        if text[first.end() : second.start()] == " " and name not in STOP_WORDS and not is_verb(verb_lemma(name)):
            found.update(terms(first[0]))
    return frozenset(found)


def _given(text: str, value: TypedValue) -> GivenValue:
    # The shape of a kind (a UUID) and a widened one say nothing of the entity.
    exact = [use for match in value.matches if not match.shape.kind for use in match.uses if not use.is_widened]
    return GivenValue(
        kind="slug" if _is_slug(value) else value.kind,
        text=value.content,
        noun=() if _is_count(text, value) else _noun_before(text, value.start),
        entities=frozenset(term for use in exact for term in terms(use.entity)),
        uses=frozenset((use.tool, use.parameter) for use in exact if not use.output),
    )


def _is_slug(value: TypedValue) -> bool:
    """Whether an identifier reads as a name that people give: ``shop-prod-0315``."""
    return value.kind == "identifier" and bool(_SLUG.fullmatch(value.text)) and bool(_NAME_PART.match(value.text))


def _is_count(text: str, value: TypedValue) -> bool:
    """Whether a bare number counts what follows it, or is of an address: "250 registrants", "10 Downing Street"."""
    after = re.match(r"\s([A-Za-z]\w*)", text[value.end : value.end + _BEFORE])
    if not value.text.isdigit() or len(value.text) > _COUNT_DIGITS or after is None:
        return False
    word = after[1].lower()
    return word not in STOP_WORDS and not is_verb(verb_lemma(word))


def _noun_before(text: str, start: int) -> tuple[str, ...]:
    before = _BREAK.split(text[max(0, start - _BEFORE) : start])[-1]
    last = before.split()[-1].lower() if before.split() else ""
    if last in STOP_WORDS and last not in _IS and last not in _SAYS_NAME:
        return ()  # "from our warehouse to 10 Downing Street"
    return tuple(term for term in terms(before) if term not in _SAYS_NAME)


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """What one request gives.

    :param values: of the request.
    :param named: index terms of nouns that a name follows at once: *table* in "a table sessions with two columns".
    :param have: what the caller knows already: name → value, which may be empty.
    """

    values: Sequence[GivenValue]
    named: frozenset[str]
    have: Mapping[str, str]

    def of(self, tool: int, facts: ToolFacts) -> dict[str, str]:
        """Input → the value that fills it; empty for a value that the caller keeps. A value fills one input."""
        inputs = sorted(facts.inputs, key=lambda each: not each.required)
        found: dict[str, str] = {}
        for needed in inputs:
            known = known_value(self.have, needed.name)
            if known is not None:
                found[needed.name] = known
        used: set[int] = set()
        for fits in (_fits_shape, _fits_enum, _fits_kind, _fits_noun):
            for needed in inputs:
                for at, value in enumerate(self.values):
                    if needed.name not in found and at not in used and fits(value, tool, needed, facts):
                        used.add(at)
                        found[needed.name] = value.text
        return found

    def may_give(self, needed: Input, given: Collection[str]) -> bool:
        """Whether the request may have a value for an input that no rule found: a name after its noun, or an identifier of which
        nothing says what it identifies; for an input that is no opaque id, also a name like ``reporting-stage``.

        :param given: the values that fill inputs.
        """
        return bool(self.named.intersection(needed.entity[-1:])) or any(
            value.kind in _IDENTIFIERS
            and value.text not in given
            and not (value.kind == "slug" and needed.is_opaque)
            and (not value.entities or not value.entities.isdisjoint(needed.entity))
            for value in self.values
        )


def _fits_shape(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    """Whether the input shows values of this shape; where the noun before the value names one of several entities of the shape, only
    inputs of that entity.
    """
    said = value.noun[-1:]
    named = bool(said) and said[0] in value.entities
    return (tool, needed.name) in value.uses and (not named or said[0] in needed.entity)


def _fits_enum(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    return value.kind == "quoted" and value.text.lower() in map(str.lower, needed.enum)


def _fits_kind(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    """Whether an address fits an input by its name; not where the name begins with a verb (``send_email``)."""
    return (
        needed.is_text
        and needed.terms[-1:] != ()
        and needed.terms[-1] in _NAMED.get(value.kind, ())
        and len(needed.terms) == 1
    )


def _fits_noun(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    """Whether the noun before an identifier is what the input identifies."""
    names = value.kind == "quoted" and needed.is_name
    if not (names or value.kind in _IDENTIFIERS) or not needed.entity or needed.enum or not needed.is_scalar:
        return False
    if value.kind == "slug" and needed.is_opaque:
        return False
    return value.noun[-len(needed.entity) :] == needed.entity
