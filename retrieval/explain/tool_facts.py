"""What an explanation reads of a tool's document."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from ontology.names import is_verb, verb_lemma, words
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS
from retrieval.index.bm25 import STOP_WORDS, terms
from retrieval.query.typed_values import IDENTIFIER_WORDS, TypedValue, known_value, short_name
from retrieval.snapshot.reader import Snapshot


@dataclass(frozen=True)
class Input:
    """An input of a tool."""

    name: str
    required: bool = False
    location: str = ""  # as in Parameter
    enum: tuple[str, ...] = ()
    type: str = ""

    @cached_property
    def short(self) -> str:
        """Its name without the path of a nested field, in one piece."""
        return short_name(self.name)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The index terms of its name."""
        return tuple(terms(self.short))

    @cached_property
    def entity(self) -> tuple[str, ...]:
        """The index terms of what it identifies: its name without *id*, *name*, *number*."""
        return tuple(term for term in self.terms if term not in IDENTIFIER_WORDS)

    @property
    def is_text(self) -> bool:
        """Whether it takes a text."""
        return self.type.lower() in ("", "string", "str", "text")

    @property
    def is_scalar(self) -> bool:
        """Whether it takes one text or number."""
        return self.is_text or self.type.lower() in ("integer", "int", "number", "float", "long")

    @cached_property
    def is_name(self) -> bool:
        """Whether its value is the name of a thing; a *resource name* is an identifier."""
        return self.terms[-1:] in (("name",), ("title",)) and self.entity not in ((), ("resource",))

    @cached_property
    def is_opaque(self) -> bool:
        """Whether its value is one that no person says: an id, not a name."""
        return bool(self.terms) and self.terms[-1] in ("id", "uuid", "guid", "arn")


@dataclass(frozen=True)
class ToolFacts:
    """A tool."""

    name: tuple[str, ...]  # index terms of its title and its name
    verb: str  # the first word of its title
    object: str  # the last index term of its title
    description: frozenset[str]  # index terms of its description
    inputs: tuple[Input, ...]  # without those that name the surroundings of a call
    surroundings: tuple[Input, ...]  # the required ones of those
    context: tuple[str, ...]  # the names of all of those
    required_names: tuple[str, ...]  # the names of all required inputs
    origins: Mapping[str, str]  # what an overlay file says of the tool → ``FILE:LINE``

    @property
    def required(self) -> tuple[Input, ...]:
        """The required inputs; of a nested object its required fields instead."""
        needed = [each for each in self.inputs if each.required]
        return tuple(
            each
            for each in needed
            if not any(one.name.startswith((f"{each.name}.", f"{each.name}[].")) for one in needed)
        )


_KEPT = 1_024  # tools of a snapshot whose facts are kept: decoding a row with a large schema takes milliseconds
_READERS: WeakKeyDictionary[Snapshot, Callable[[int], ToolFacts]] = WeakKeyDictionary()


def tool_facts(snapshot: Snapshot, tool: int) -> ToolFacts:
    """What an explanation reads of the tool with this number. Thread-safe."""
    reader = _READERS.get(snapshot)
    if reader is None:
        rows = snapshot.tools  # not the snapshot, which would then never be freed
        reader = _READERS.setdefault(snapshot, lru_cache(maxsize=_KEPT)(lambda number: rows.read(number, _facts)))
    return reader(tool)


def _facts(row: Any) -> ToolFacts:
    metadata = row.get("metadata") or {}
    context, origins = metadata.get(CONTEXT_PARAMETERS), metadata.get(OVERLAY_ORIGINS)
    surroundings = tuple(name for name in context if isinstance(name, str)) if isinstance(context, list) else ()
    title, name = metadata.get("title"), row["name"]
    shown = title if isinstance(title, str) and title else name
    inputs = [
        Input(
            name=each["name"],
            required=each.get("required") is True,
            location=each.get("in") or "",
            enum=tuple(each.get("enum") or ()),
            type=each.get("type") or "",
        )
        for each in row["parameters"]
    ]
    return ToolFacts(
        name=tuple(dict.fromkeys((*terms(shown), *terms(name)))),
        verb=verb_lemma((words(shown)[:1] or [""])[0]),
        object=next(reversed(terms(shown)), ""),
        description=frozenset(terms(row.get("description") or "")),
        inputs=tuple(each for each in inputs if each.name not in surroundings),
        surroundings=tuple(each for each in inputs if each.name in surroundings and each.required),
        context=surroundings,
        required_names=tuple(each.name for each in inputs if each.required),
        origins=origins if isinstance(origins, dict) else {},
    )


# Chosen, not tuned.
# Kinds of value that may identify anything.
_IDENTIFIERS = frozenset(("identifier", "uuid", "arn", "hex digest", "integer", "code", "repository", "slug"))
# Kinds of value that an input with such a name takes.
_NAMED = {
    "email": ("email", "mail"),
    "url": ("url", "link", "uri"),
    "iban": ("iban",),
    "repository": ("repo", "repository"),
}
# Inputs that take the part before the slash of ``acme/webshop``, where another takes the part after it.
_OWNERS = frozenset(("owner", "org", "organization", "workspace", "namespace"))
# Last words of inputs whose value is what the request says.
_FREE = frozenset(("query", "q", "search", "keyword", "text", "prompt", "question"))
_NUMBERS = frozenset(("integer", "identifier"))
_SAYS_NAME = IDENTIFIER_WORDS | frozenset("call named is".split())
_SLUG = re.compile(r"(?<![\w/.:@-])[a-z0-9]{1,40}(?:[-_][a-z0-9]{1,40}){1,6}(?![\w/:@-])")
_NAME_PART = re.compile(r"[a-z]{3,}[-_]")
_WORD = re.compile(r"[^\W\d_]{2,40}")
_MAX_READ = 400  # words of a request
_BREAK = re.compile(r"[.,;:!?()\n]")
_BEFORE = 60  # characters before a value that are read for the noun beside it
_COUNT_DIGITS = 4  # a longer number is rarely a count. Chosen, not tuned.
_IS = frozenset({"is", "are", "was", "with", "called"})


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value of the request."""

    kind: str  # as in TypedValue, or ``slug``: a name like ``reporting-stage``
    text: str
    # the index terms of the words before it, in the same part of the sentence, without those like *number*, *called*
    noun: tuple[str, ...]
    entities: frozenset[str]  # index terms of what values of its shape identify; empty where the shape says nothing
    uses: frozenset[tuple[int, str]]  # (tool, input) whose shape it has


def given_values(text: str, values: Sequence[TypedValue]) -> tuple[GivenValue, ...]:
    """The values of a request that inputs may take."""
    taken = {at for value in values for at in range(value.start, value.end)}
    slugs = [match for match in _SLUG.finditer(text) if match.start() not in taken]
    return (
        *(_given(text, value) for value in values),
        *(GivenValue("slug", match[0], _noun_before(text, match.start()), frozenset(), frozenset()) for match in slugs),
    )


def named_nouns(text: str, is_word: Callable[[str], object] = lambda term: False) -> frozenset[str]:
    """The index terms of the words that another word follows which may be a name: no stop word, no verb and no value.
    ``is_word``: whether an index term is a word of the catalogue: in lower case it is no name ("order items")."""
    found: set[str] = set()
    words = list(_WORD.finditer(text))[:_MAX_READ]
    for first, second in pairwise(words):
        name = second[0].lower()
        ordinary = _is_ordinary(name) or (second[0] == name and any(map(is_word, terms(name))))
        if text[first.end() : second.start()] == " " and not ordinary:
            found.update(terms(first[0]))
    return frozenset(found)


def _is_ordinary(word: str) -> bool:
    return word in STOP_WORDS or is_verb(verb_lemma(word))


def _given(text: str, value: TypedValue) -> GivenValue:
    # The shape of a kind (a UUID) and a widened one say nothing of the entity.
    exact = [use for match in value.matches if not match.shape.kind for use in match.uses if not use.is_widened]
    # An identifier may read as a name that people give: ``shop-prod-0315``.
    is_slug = value.kind == "identifier" and _SLUG.fullmatch(value.text) and _NAME_PART.match(value.text)
    # A bare number may count what follows it, or be of an address: "250 registrants", "10 Downing Street".
    after = re.match(r"\s([A-Za-z]\w*)", text[value.end : value.end + _BEFORE])
    is_short = value.text.isdigit() and len(value.text) <= _COUNT_DIGITS
    is_count = is_short and after is not None and not _is_ordinary(after[1].lower())
    return GivenValue(
        kind="slug" if is_slug else value.kind,
        text=value.content,
        noun=() if is_count else _noun_before(text, value.start),
        entities=frozenset(term for use in exact for term in terms(use.entity)),
        uses=frozenset((use.tool, use.parameter) for use in exact if not use.output),
    )


def _noun_before(text: str, start: int) -> tuple[str, ...]:
    before = _BREAK.split(text[max(0, start - _BEFORE) : start])[-1]
    last = (before.lower().split() or [""])[-1]
    if last in STOP_WORDS and last not in _IS and last not in _SAYS_NAME:
        return ()  # "from our warehouse to 10 Downing Street"
    return tuple(term for term in terms(before) if term not in _SAYS_NAME)


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """What one request gives."""

    values: Sequence[GivenValue]  # of the request
    # index terms of nouns that a name follows at once: *table* in "a table sessions with two columns"
    named: frozenset[str]
    have: Mapping[str, str]  # what the caller knows already: name → value, which may be empty

    def of(self, tool: int, facts: ToolFacts) -> dict[str, str]:
        """Input → the value that fills it; empty for a value that the caller keeps. A value fills one input."""
        inputs = sorted(facts.inputs, key=lambda each: not each.required)
        found: dict[str, str] = {}
        for needed in (*inputs, *facts.surroundings):
            known = known_value(self.have, needed.name)
            if known is not None:
                found[needed.name] = known
        used: set[int] = set()
        for fits in (_fits_shape, _fits_enum, _fits_kind, _fits_noun):
            for needed in inputs:
                fitting = [
                    at
                    for at, value in enumerate(self.values)
                    if needed.name not in found and at not in used and fits(value, tool, needed, facts)
                ]
                if fitting:  # of two ids of one shape the one after the noun
                    at = min(fitting, key=lambda at: self.values[at].noun[-1:] != needed.entity[-1:])
                    used.add(at)
                    found |= _with_owner(self.values[at], needed, [*inputs, *facts.surroundings], found)
        return found

    def missing(self, facts: ToolFacts, given: Mapping[str, str]) -> tuple[Input, ...]:
        """The required inputs for which the request surely has no value, those that name the surroundings last. A value
        that fills no input may be meant for one that no rule found (``merge PR 42``): for one, and not for all of them.
        What is searched for is what the request says. ``given``: input → the value that fills it."""
        left = [value for value in self.values if value.text not in given.values()]
        found = []
        for needed in (*facts.required, *facts.surroundings):
            if needed.name in given or (needed.is_text and needed.terms[-1:] and needed.terms[-1] in _FREE):
                continue
            meant = next((value for value in left if _may_be(value, needed)), None)
            what = needed.entity[-1:] or ((facts.object,) if needed.terms == ("name",) else ())
            if meant is not None:
                left.remove(meant)
            elif not needed.is_opaque and self.named.intersection(what):
                continue  # "in namespace shop"
            else:
                found.append(needed)
        return tuple(found)

    def may_give(self, needed: Input, given: Collection[str]) -> bool:
        """Whether the request may have a value for an input that no rule found: a name after its noun, or an identifier
        of which nothing says what it identifies; for an input that is no opaque id, also a name like
        ``reporting-stage``."""
        return bool(self.named.intersection(needed.entity[-1:])) or any(
            value.kind in _IDENTIFIERS
            and value.text not in given
            and not (value.kind == "slug" and needed.is_opaque)
            and (not value.entities or not value.entities.isdisjoint(needed.entity))
            for value in self.values
        )


def _with_owner(value: GivenValue, needed: Input, inputs: Sequence[Input], known: Mapping[str, str]) -> dict[str, str]:
    """What a value gives: itself, or of ``acme/webshop`` both parts to two inputs, where the tool takes an owner apart."""
    owner, slash, name = value.text.partition("/")
    of_owner = next((each for each in inputs if each.terms[-1:] and each.terms[-1] in _OWNERS and each.is_text), None)
    if value.kind != "repository" or not slash or of_owner is None or of_owner is needed or of_owner.name in known:
        return {needed.name: value.text}
    return {of_owner.name: owner, needed.name: name}


def _may_be(value: GivenValue, needed: Input) -> bool:
    """Whether a value of which nothing says what it is may be meant for an input: a bare number or identifier for what identifies."""
    if value.kind not in _NUMBERS or needed.enum or not needed.is_scalar:
        return False
    identifies = bool(needed.terms) and needed.terms[-1] in IDENTIFIER_WORDS - {"name"}
    return identifies and (not value.entities or not value.entities.isdisjoint(needed.entity))


def _fits_shape(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    """Whether the input shows values of this shape; where the noun before the value names one of several entities of
    the shape, only inputs of that entity."""
    said = value.noun[-1:]
    named = bool(said) and said[0] in value.entities
    return (tool, needed.name) in value.uses and (not named or said[0] in needed.entity)


def _fits_enum(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    return value.kind == "quoted" and value.text.lower() in map(str.lower, needed.enum)


def _fits_kind(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    """Whether an address fits an input by its name; not where the name begins with a verb (``send_email``)."""
    return needed.is_text and len(needed.terms) == 1 and needed.terms[0] in _NAMED.get(value.kind, ())


def _fits_noun(value: GivenValue, tool: int, needed: Input, facts: ToolFacts) -> bool:
    """Whether the noun before an identifier is what the input identifies."""
    # What identifies the object of the tool: "pod web-0". An identifier that nobody would give is no name.
    of_object = needed.terms == ("name",) if value.kind in ("slug", "quoted") else needed.terms == ("id",)
    entity = needed.entity or ((facts.object,) if of_object and facts.object else ())
    names = value.kind == "quoted" and (needed.is_name or of_object)
    if not (names or value.kind in _IDENTIFIERS) or not entity or needed.enum or not needed.is_scalar:
        return False
    if value.kind == "slug" and needed.is_opaque:
        return False
    size = len(entity)  # "pull request 42" is a pull_number too
    return entity in (value.noun[-size:], value.noun[-1 - size : -1] if value.kind in _NUMBERS else ())
