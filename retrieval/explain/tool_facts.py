"""What an explanation reads of a tool's document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from ontology.names import verb_lemma, words
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS
from retrieval.index.analysis import terms
from retrieval.query.known_values import IDENTIFIER_WORDS, short_name
from retrieval.snapshot.reader import Snapshot

__all__ = ["Input", "ToolFacts", "tool_facts"]


@dataclass(frozen=True)
class Input:
    """An input of a tool.

    :param location: as in :class:`ontology.tool.Parameter`.
    """

    name: str
    required: bool
    location: str
    enum: tuple[str, ...]
    type: str

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
    """A tool.

    :param name: index terms of its title and its name.
    :param verb: the first word of its title.
    :param object: the last index term of its title.
    :param description: index terms of its description.
    :param inputs: without those that name the surroundings of a call.
    :param context: the names of those.
    :param required_names: the names of all required inputs.
    :param origins: what an overlay file says of the tool → ``FILE:LINE``.
    """

    name: tuple[str, ...]
    verb: str
    object: str
    description: frozenset[str]
    inputs: tuple[Input, ...]
    context: tuple[str, ...]
    required_names: tuple[str, ...]
    origins: Mapping[str, str]

    @property
    def required(self) -> tuple[Input, ...]:
        """The required inputs; of a nested object its required fields instead."""
        needed = [each for each in self.inputs if each.required]
        return tuple(
            each
            for each in needed
            if not any(one.name.startswith((f"{each.name}.", f"{each.name}[].")) for one in needed)
        )


_KEPT = (
    1_024  # tools of a snapshot whose facts are kept: decoding the row of a tool with a large schema takes milliseconds
)
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
    first = words(shown)[:1] or [""]
    return ToolFacts(
        name=tuple(dict.fromkeys((*terms(shown), *terms(name)))),
        verb=verb_lemma(first[0]),
        object=next(reversed(terms(shown)), ""),
        description=frozenset(terms(row.get("description") or "")),
        inputs=tuple(
            Input(
                name=each["name"],
                required=each.get("required") is True,
                location=each.get("in") or "",
                enum=tuple(each.get("enum") or ()),
                type=each.get("type") or "",
            )
            for each in row["parameters"]
            if each["name"] not in surroundings
        ),
        context=surroundings,
        required_names=tuple(each["name"] for each in row["parameters"] if each.get("required") is True),
        origins=origins if isinstance(origins, dict) else {},
    )
