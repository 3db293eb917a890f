"""The inputs of a tool, as explanations and plans read them, and which of them a request gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
    object: str  # the last index term of its title
    description: frozenset[str]  # index terms of its description
    inputs: tuple[Input, ...]  # without those that name the surroundings of a call
    surroundings: tuple[Input, ...]  # the required ones of those
    context: tuple[str, ...]  # the names of all of those
    required_names: tuple[str, ...]  # the names of all required inputs
    origins: Mapping[str, str]  # what an overlay file says of the tool → ``FILE:LINE``

    @cached_property
    def all(self) -> frozenset[str]:
        """The index terms of its name and description."""
        return self.description.union(self.name)

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
            enum=tuple(each.get("enum") or ()),
            type=each.get("type") or "",
        )
        for each in row["parameters"]
    ]
    return ToolFacts(
        name=frozenset((*terms(shown), *terms(name))),
        object=next(reversed(terms(shown)), ""),
        description=frozenset(terms(row.get("description") or "")),
        inputs=tuple(each for each in inputs if each.name not in surroundings),
        surroundings=tuple(each for each in inputs if each.name in surroundings and each.required),
        context=surroundings,
        required_names=tuple(each.name for each in inputs if each.required),
        origins=origins if isinstance(origins, dict) else {},
    )


# Kinds of value that may identify anything.
_IDENTIFIERS = frozenset(("identifier", "uuid", "arn", "hex digest", "integer", "code", "repository"))
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
_BREAK = re.compile(r"[.,;:!?()\n]")


class GivenValue(NamedTuple):
    """A value of a request."""

    value: TypedValue
    nouns: tuple[str, ...]  # the index term before it, of a number two: "pull request 42"; none like *number*, *called*
    uses: frozenset[tuple[int, str]]  # (tool, input) that shows values of its shape


def given_values(text: str, values: Sequence[TypedValue]) -> tuple[GivenValue, ...]:
    """The values of a request that inputs may take."""
    return tuple(
        GivenValue(
            value=value,
            nouns=_nouns_before(text, value),
            uses=frozenset(
                (use.tool, use.parameter)
                for match in value.matches
                for use in match.uses
                if not (match.shape.kind or use.is_widened or use.output)
            ),
        )
        for value in values
    )


def _nouns_before(text: str, value: TypedValue) -> tuple[str, ...]:
    before = terms(_BREAK.split(text[max(0, value.start - _BEFORE_CHARS) : value.start])[-1])
    nouns = [term for term in before if term not in _SAYS_NAME]
    return tuple(nouns[-2:] if value.content.isdigit() else nouns[-1:])


def given_inputs(values: Sequence[GivenValue], have: Mapping[str, str], tool: int, facts: ToolFacts) -> dict[str, str]:
    """Input of a tool → its value: that of ``have``, empty where the caller keeps it; or a value of the request, which
    fills one input: one that shows values of its shape, else one whose name is its kind or the noun before it."""
    found: dict[str, str] = {}
    for needed in (*facts.inputs, *facts.surroundings):
        known = known_value(have, needed.name)
        if known is not None:
            found[needed.name] = known
    left = list(values)
    for by_shape, by_name in ((True, True), (True, False), (False, True)):
        for needed in sorted(facts.inputs, key=lambda each: not each.required):
            for each in left if needed.name not in found else ():
                shown = (tool, needed.name) in each.uses or _is_of_enum(each, needed)
                if (shown or not by_shape) and (not by_name or _says(each, needed, facts)):
                    found[needed.name] = each.value.content
                    left.remove(each)
                    break
    return found


def _is_of_enum(given: GivenValue, needed: Input) -> bool:
    return given.value.kind == "quoted" and given.value.content.lower() in map(str.lower, needed.enum)


def _says(given: GivenValue, needed: Input, facts: ToolFacts) -> bool:
    """Whether the name of an input is the kind of a value, or what the noun before an identifier names."""
    if needed.is_text and len(needed.terms) == 1 and needed.terms[0] in _NAMED.get(given.value.kind, ()):
        return True
    noun = needed.entity[-1:] or ((facts.object,) if needed.terms == ("id",) and facts.object else ())
    is_name = given.value.kind == "quoted" and needed.terms[-1:] in (("name",), ("title",))
    identifies = (is_name or given.value.kind in _IDENTIFIERS) and needed.is_scalar and not needed.enum
    return identifies and not {*noun}.isdisjoint(given.nouns)
