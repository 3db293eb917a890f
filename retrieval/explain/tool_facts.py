"""The inputs of a tool, as explanations and plans read them, and which of them a request gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS
from retrieval.index.bm25 import terms
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

    @cached_property
    def written_kind(self) -> str:
        """The kind of its values where a request that gives one has it written out: an address, a number of a phone; else empty."""
        last = self.terms[-1:]
        return next((kind for kind, names in _WRITTEN.items() if last and last[0] in names), "")

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
    nouns = {place: terms(noun) for noun, place in _PLACE.findall(str(metadata.get("path", "")))}
    bare = dict.fromkeys(("id", "Id", "ID", "name", "Name", "title"), terms(shown)[-1:])  # of what the tool is about
    inputs = [
        Input(
            name=each["name"],
            required=each.get("required") is True,
            enum=tuple(each.get("enum") or ()),
            type=each.get("type") or "",
            of=tuple(tuple(one.get(each["name"].removeprefix("body."), ())) for one in (nouns, bare)),
        )
        for each in row["parameters"]
    ]
    return ToolFacts(
        name=frozenset((*terms(shown), *terms(name))),
        description=frozenset(terms(row.get("description") or "")),
        inputs=tuple(each for each in inputs if each.name not in surroundings),
        surroundings=tuple(each for each in inputs if each.name in surroundings and each.required),
        context=surroundings,
        required_names=tuple(each.name for each in inputs if each.required),
        origins=origins if isinstance(origins, dict) else {},
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
}
# Likewise, of kinds that nobody says in other words. Chosen from general English after one plan over vendors' documents, not tuned.
_WRITTEN = {kind: _NAMED[kind] for kind in ("email", "url", "iban")} | {"phone": ("phone", "telephone", "mobile")}
_BEFORE_CHARS = 60  # before a value that are read for the noun beside it, in the same part of the sentence
_SAYS_NAME = IDENTIFIER_WORDS | frozenset("call named is".split())
_BREAK = re.compile(r"[.,;:!?()\n]|\b(?:for|of|to|from|in|on|at|by|and|or)\b")  # what is before is another thing
_KEY = re.compile(r"(?<![\w/-])[A-Za-z]+(?:_[a-z]+){0,4}[-_]?\d(?![\w/-])")  # ``WEB-8``, which matching reads as a word


class GivenValue(NamedTuple):
    """A value of a request."""

    value: TypedValue
    nouns: tuple[str, ...]  # the two index terms before it; none like *number*, *called*
    uses: frozenset[tuple[int, str]]  # (tool, input) that shows values of its shape


def given_values(text: str, values: Sequence[TypedValue]) -> tuple[GivenValue, ...]:
    """The values of a request that inputs may take."""
    taken = {at for value in values for at in range(value.start, value.end)}
    keys = islice((each for each in _KEY.finditer(text) if each.start() not in taken), 20)
    found = (TypedValue(kind="identifier", text=each[0], start=each.start(), end=each.end()) for each in keys)
    return tuple(
        GivenValue(
            value=value,
            nouns=tuple(term for term in terms(before) if term not in _SAYS_NAME)[-2:],
            uses=frozenset(
                (use.tool, use.parameter)
                for match in value.matches
                for use in match.uses
                if not (match.shape.kind or use.is_widened or use.output)
            ),
        )
        for value in (*values, *found)
        for before in _BREAK.split(text[max(0, value.start - _BEFORE_CHARS) : value.start])[-1:]
    )


def given_inputs(values: Sequence[GivenValue], have: Mapping[str, str], tool: int, facts: ToolFacts) -> dict[str, str]:
    """Input of a tool → its value: that of ``have``, empty where the caller keeps it; or a value of the request, which
    fills one input: one that shows values of its shape, else one whose name is its kind or the noun before it. Of
    ``acme/web`` the owner is a value of its own where the tool takes one."""
    inputs, left = (*facts.inputs, *facts.surroundings), list(values)
    known = {each.name: known_value(have, each.name) for each in inputs}
    found = {name: value for name, value in known.items() if value is not None}
    owner = next((each.name for each in inputs if each.terms == ("owner",) and each.name not in found), "")
    for by_shape, by_name in ((True, True), (True, False), (False, True)):
        for needed in sorted(facts.inputs, key=lambda each: not each.required):
            for each in left if needed.name not in found else ():
                is_choice = each.value.kind == "quoted" and each.value.content.lower() in map(str.lower, needed.enum)
                shown = is_choice or (tool, needed.name) in each.uses
                if (shown or not by_shape) and (not by_name or _says(each, needed)):
                    found[needed.name] = each.value.content
                    left.remove(each)
                    if owner and not shown and each.value.kind == "repository":
                        found[owner], _, found[needed.name] = each.value.content.partition("/")
                    break
    return found


def _says(given: GivenValue, needed: Input) -> bool:
    """Whether the name of an input is the kind of a value, or what the noun before an identifier names."""
    if needed.is_text and len(needed.terms) == 1 and needed.terms[0] in _NAMED.get(given.value.kind, ()):
        return True
    is_number, is_name = given.value.content.isdigit(), needed.short.lower().endswith(("name", "title"))
    if given.value.kind not in (_NAMES if is_name else _IDENTIFIERS) or (is_name and is_number):
        return False
    is_scalar = needed.is_text or needed.type.lower() in ("integer", "int", "number", "float", "long")
    if not is_scalar or needed.enum or ("[]" in needed.name and not needed.required):  # of items there may be none
        return False
    nouns = given.nouns if is_number else given.nouns[-1:]  # "pull request 42"
    is_of = any(one and given.nouns[-len(one) :] == one for one in needed.of)
    return is_of or not {*needed.entity[-1:]}.isdisjoint(nouns)
