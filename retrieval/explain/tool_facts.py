"""The inputs of a tool, as explanations and plans read them, and which of them a request gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ontology.names import words
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS
from ontology.value_shape import shape_of
from retrieval.index.bm25 import terms
from retrieval.index.phrases import phrases_of
from retrieval.query.typed_values import IDENTIFIER_WORDS, TypedValue, known_value, short_name
from retrieval.snapshot.reader import Snapshot


@dataclass(frozen=True)
class Input:
    """An input of a tool."""

    name: str
    required: bool = False
    enum: tuple[str, ...] = ()
    type: str = ""
    of: tuple[tuple[str, ...], ...] = ()  # the index terms of what it may identify where its name need not say so
    example: str = ""
    before: str = ""  # the input whose place in the path stands side by side with its own: the owner of a repository

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
        """The index terms of what it identifies: its name without *id*, *name*, *number*; an ``account_number_id`` a number."""
        own = self.terms[-2:-1] if self.is_opaque and self.terms[-2:-1] == ("number",) else ()
        return (*(term for term in self.terms if term not in IDENTIFIER_WORDS), *own)

    def is_of(self, entity: tuple[str, ...]) -> bool:
        """Whether what it identifies is such an entity: its name ends with it."""
        return self.entity[-len(entity) :] == entity != ()

    @cached_property
    def is_code(self) -> bool:
        """Whether its example has letters and digits in a shape."""
        return any(map(str.isalpha, self.example)) and shape_of(self.example) is not None

    def takes(self, value: str) -> bool:
        """Whether its type and its listed values allow a value; an empty one, which the caller keeps, may be any."""
        is_word = self.type.lower() in _NUMBERS and any(map(str.isalpha, value))
        return value in self.enum if value and self.enum else not is_word

    def may_be(self, value: str) -> bool:
        """Whether a value of a request may be its own: it takes it, and no bare number is an id of letters and digits."""
        return self.takes(value) and not (self.is_code and value.isdigit())

    @property
    def is_text(self) -> bool:
        """Whether it takes a text."""
        return self.type.lower() in ("", "string", "str", "text")

    @cached_property
    def written_kind(self) -> str:
        """The kind of its values where a request that gives one has it written out: an address, a number of a phone; else empty."""
        written = (kind for kind in _NAMED if kind != "repository")  # which has other words
        return next((kind for kind in written if {*self.terms[-1:]} & {*_NAMED[kind]}), "")

    @cached_property
    def is_opaque(self) -> bool:
        """Whether its value is one that no person says: an id, not a name."""
        return bool(self.terms) and self.terms[-1] in ("id", "uuid", "guid", "arn")


@dataclass(frozen=True)
class ToolFacts:
    """A tool."""

    name: frozenset[str]  # index terms of its title and its name
    description: frozenset[str]  # index terms of its description
    inputs: tuple[Input, ...]  # without those that name the surroundings of a call
    surroundings: tuple[Input, ...]  # the required ones of those
    context: tuple[str, ...]  # the names of all of those
    required_names: tuple[str, ...]  # the names of all required inputs
    origins: Mapping[str, str]  # what an overlay file says of the tool → ``FILE:LINE``
    phrases: tuple[str, ...]  # everyday phrases

    @cached_property
    def required(self) -> tuple[Input, ...]:
        """The required inputs; of a nested object its required fields instead, and nothing of an optional one: no
        ``filter.range.from`` where ``filter`` is optional."""
        optional = tuple(each.name + end for each in self.inputs if not each.required for end in (".", "[]."))
        needed = [each for each in self.inputs if each.required and not each.name.startswith(optional)]
        return tuple(
            each
            for each in needed
            if not any(one.name.startswith((f"{each.name}.", f"{each.name}[].")) for one in needed)
        )


# The noun before a place of a path, and the input that fills it; of places side by side the noun is that of the last one.
_PLACE = re.compile(r"([^/{}]+)/\{\+?([^/{}]+)\}(?!/\{)")
_PAIR = re.compile(r"\{\+?([^/{}]+)\}/(?=\{\+?([^/{}]+)\})")
# What is no prose of a description: code, members of JSON, tags, targets of links; and words that are addresses, paths, or names with
# ``_`` or ``.`` inside. Found on 60 answers over three vendors' documents, where 8 of 168 lines quoted a part of one.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|<[^<>\n]*>|\]\([^()\s]*\)|\"[\w$.-]+\"\s*:(\s*\"[^\"]*\")?", re.DOTALL)
_NO_WORD = re.compile(r"://|/\w+/|[^\W_][_.][^\W_]")
_NUMBERS = frozenset(("integer", "int", "number", "float", "long"))  # types
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
    path, prose = str(metadata.get("path", "")), _CODE.sub(" ", row.get("description") or "")
    nouns = {place: terms(noun) for noun, place in _PLACE.findall(path)}
    owners = {place: owner for owner, place in _PAIR.findall(path)}
    bare = dict.fromkeys(("id", "Id", "ID", "name", "Name", "title"), terms(shown)[-1:])  # of what the tool is about
    inputs = [
        Input(
            name=each["name"],
            required=each.get("required") is True,
            enum=tuple(each.get("enum") or ()),
            type=each.get("type") or "",
            of=tuple(tuple(one.get(each["name"].removeprefix("body."), ())) for one in (nouns, bare)),
            example=str(each.get("example") or ""),
            before=owners.get(each["name"], ""),
        )
        for each in row["parameters"]
    ]
    return ToolFacts(
        name=frozenset((*terms(shown), *terms(name))),
        description=frozenset(terms(" ".join(word for word in prose.split() if not _NO_WORD.search(word)))),
        inputs=tuple(each for each in inputs if each.name not in surroundings),
        surroundings=tuple(each for each in inputs if each.name in surroundings and each.required),
        context=surroundings,
        required_names=tuple(each.name for each in inputs if each.required),
        origins=origins if isinstance(origins, dict) else {},
        phrases=phrases_of(metadata),
    )


# Kinds of value that may identify anything.
_IDENTIFIERS = frozenset(("identifier", "uuid", "arn", "hex digest", "integer", "code", "repository", "ip"))
_NAMES = frozenset(("quoted", "identifier", "domain"))  # likewise, of what has a name
# Kinds of value that an input with such a name takes.
_NAMED = {
    "email": ("email", "mail"),
    "url": ("url", "link", "uri"),
    "iban": ("iban",),
    "repository": ("repo", "repository"),
    "phone": ("phone", "telephone", "mobile"),
}
_WAYS = frozenset(
    ("from", "to")
)  # the word before such a value names its input. Found on 60 answers over three vendors' documents
_BEFORE_CHARS = 60  # before a value that are read for the noun beside it, in the same part of the sentence
_SAYS_NAME = IDENTIFIER_WORDS | frozenset("call named is".split())
_BREAK = re.compile(r"[.,;:!?()\n]|\b(?:for|of|to|from|in|on|at|by|and|or)\b")  # what is before is another thing
_KEY = re.compile(r"(?<![\w/-])[A-Za-z]+(?:_[a-z]+){0,4}[-_]?\d(?![\w/-])")  # ``WEB-8``, which matching reads as a word


class GivenValue(NamedTuple):
    """A value of a request."""

    value: TypedValue
    beside: str  # the word directly before it
    nouns: tuple[str, ...]  # the two index terms before it; none like *number*, *called*
    uses: Mapping[tuple[int, str], tuple[str, ...]]  # (tool, input) of such values → the entity, if only that says so


def given_values(text: str, values: Sequence[TypedValue]) -> tuple[GivenValue, ...]:
    """The values of a request that inputs may take."""
    taken = {at for value in values for at in range(value.start, value.end)}
    keys = islice((each for each in _KEY.finditer(text) if each.start() not in taken), 20)
    found = (TypedValue(kind="identifier", text=each[0], start=each.start(), end=each.end()) for each in keys)
    return tuple(
        GivenValue(
            value=value,
            beside="".join(words(before)[-1:]),
            nouns=tuple(term for term in terms(_BREAK.split(before)[-1]) if term not in _SAYS_NAME)[-2:],
            uses={
                (use.tool, use.parameter): tuple(terms(use.entity)) if use.source == "entity" else ()
                for match in value.matches
                for use in match.uses
                if not (match.shape.kind or use.is_widened or use.output)
            },
        )
        for value in (*values, *found)
        for before in (text[max(0, value.start - _BEFORE_CHARS) : value.start],)
    )


def given_inputs(values: Sequence[GivenValue], have: Mapping[str, str], tool: int, facts: ToolFacts) -> dict[str, str]:
    """Input of a tool → its value: that of ``have``, empty where the caller keeps it; or a value of the request, which
    fills one input: one that shows values of its shape, else one whose name is its kind or the noun before it. Of
    ``acme/web`` the owner is a value of its own where the tool takes one."""
    wanted, left = (*facts.required, *facts.surroundings), list(values)
    inputs = (*wanted, *(each for each in facts.inputs if each not in wanted))
    owner = next((each.name for each in inputs if each.terms == ("owner",)), "")
    found = {
        each.name: value for each in inputs if (value := known_value(have, each.name)) is not None and each.takes(value)
    }
    for fits, some in (
        (lambda *each: _fits_shape(*each) and _says(*each), inputs),
        *((fits, some) for some in (wanted, inputs) for fits in (_fits_shape, _says)),
    ):
        for needed in some:
            fitting = (each for each in left if needed.may_be(each.value.content) and fits(each, needed, tool))
            own = next(fitting, None) if needed.name not in found else None
            if own is not None:
                left.remove(own)
                found[needed.name] = own.value.content
                whose = needed.before or owner
                if own.value.kind == "repository" and whose and whose not in found and not _is_use(own, needed, tool):
                    found[whose], _, found[needed.name] = own.value.content.partition("/")
    return found


def _is_use(given: GivenValue, needed: Input, tool: int) -> bool:
    """Whether an input shows values of such a shape; an ``account_number_id`` none that only accounts show."""
    of = given.uses.get((tool, needed.name))
    return of is not None and (not of or needed.is_of(of) or not {*of} <= {*needed.terms})


def _fits_shape(given: GivenValue, needed: Input, tool: int) -> bool:
    """Whether an input shows values of such a shape, or lists the value."""
    is_choice = given.value.kind == "quoted" and given.value.content.lower() in map(str.lower, needed.enum)
    return is_choice or _is_use(given, needed, tool)


def _says(given: GivenValue, needed: Input, _: int) -> bool:
    """Whether the name of an input is the kind of a value, the word or noun before it, or what has values of its shape."""
    said = _WAYS.intersection(words(needed.short)) if given.value.kind in ("phone", "email") else ()
    if said and given.beside in _WAYS:
        return given.beside in said
    what = () if needed.is_opaque else needed.entity  # ``repo_slug``, ``phone_number``
    if needed.is_text and len(what) == 1 and what[0] in _NAMED.get(given.value.kind, ()):
        return needed.required or given.value.kind != "phone"  # that may be anybody's
    is_number, is_name = given.value.content.isdigit(), needed.short.lower().endswith(("name", "title"))
    is_kind = given.value.kind in (_NAMES if is_name else _IDENTIFIERS) and not (is_name and is_number)
    if not is_kind or needed.enum or ("[]" in needed.name and not needed.required):  # of items there may be none
        return False
    nouns = given.nouns if is_number else given.nouns[-1:]  # "pull request 42"
    is_scalar = needed.is_text or needed.type.lower() in _NUMBERS
    is_of = any(one and given.nouns[-len(one) :] == one for one in needed.of)
    if needed.is_opaque and needed.required and not needed.example:  # ``disputed_transaction_id``
        shown = (terms(one) for match in given.value.matches if not match.shape.kind for one in match.entities)
        is_of = is_of or any(needed.is_of(tuple(one)) for one in shown)
    is_beside = not (needed.entity or any(needed.of)) and needed.short.lower() == given.beside  # "the code 17686"
    return is_scalar and (is_of or is_beside or not {*needed.entity[-1:]}.isdisjoint(nouns))
