"""The listing: every input of a catalogue by its exact name. What is inferred of a tool's outputs is chosen from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.linking import PLAIN_VALUE, CanonicalNames, ToolProfile
from ontology.tool import Parameter, Tool

__all__ = ["Key", "ListedParameter", "Listing"]

Key = tuple[str, str]
_MAX_TOOLS = 3
_MAX_DESCRIPTION = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedParameter:
    """An input that tools of the catalogue take.

    :param name: exactly as the documents write it.
    :param type: the one most of its tools declare.
    :param description: the first one given, shortened.
    :param tools: ids of the first tools that take it.
    :param count: how many tools take it.
    """

    name: str
    type: str
    description: str
    tools: tuple[str, ...]
    count: int


class Listing:
    """The inputs of a catalogue, found by name, by what they take, and by the words of their names."""

    def __init__(self, tools: Sequence[Tool], profiles: Mapping[str, ToolProfile], names: CanonicalNames) -> None:
        takers: dict[str, list[tuple[Tool, Parameter]]] = defaultdict(list)
        for tool in tools:
            for parameter in tool.parameters:
                takers[parameter.name].append((tool, parameter))
        self.parameters = {name: _listed(name, found) for name, found in sorted(takers.items())}
        self._keys: dict[str, Counter[Key]] = defaultdict(Counter)
        self._names: dict[Key, Counter[str]] = defaultdict(Counter)
        self._local: dict[tuple[Key, str], Counter[str]] = defaultdict(Counter)
        for profile in profiles.values():
            for need in profile.consumes:
                self._keys[need.parameter][need.key] += 1
                self._names[need.key][need.parameter] += 1
                self._local[need.key, profile.system][need.parameter] += 1
        self._texts: dict[str, list[str]] = defaultdict(list)
        for name in self.parameters:
            if text := names.canonical(name.rsplit(".", 1)[-1]):
                self._texts[text].append(name)
        self._fields: dict[str, list[Key]] = defaultdict(list)
        for key in sorted(self._names):
            if key[0] != PLAIN_VALUE:
                self._fields[key[0]].append(key)

    def keys(self, name: str) -> tuple[Key, ...]:
        """What inputs of that name take, the most usual first."""
        return tuple(key for key, _ in sorted(self._keys.get(name, Counter()).items(), key=_most_first))

    def identifiers(self, entity: str) -> Sequence[Key]:
        """By what the entity is asked for."""
        return self._fields.get(entity, ())

    def name_of(self, key: Key, system: str) -> str:
        """The name under which that is asked for: in the system itself, else in most places; empty where it is not."""
        found = self._local.get((key, system)) or self._names.get(key)
        return min(found, key=lambda name: (-found[name], len(name), name)) if found else ""

    def named(self, text: str) -> str:
        """The name whose words are these, in canonical form: of several the most used; empty where there is none."""
        found = self._texts.get(text, ())
        return min(found, key=lambda name: (-self.parameters[name].count, len(name), name), default="")

    def wanted(self, key: Key) -> int:
        """How many inputs take that."""
        return sum(self._names[key].values()) if key in self._names else 0


def _listed(name: str, found: Sequence[tuple[Tool, Parameter]]) -> ListedParameter:
    types = Counter(parameter.type for _, parameter in found)
    described = next((parameter.description for _, parameter in found if parameter.description), "")
    tools = dict.fromkeys(tool.id for tool, _ in found)
    return ListedParameter(
        name=name,
        type=min(types.items(), key=_most_first)[0],
        description=described[:_MAX_DESCRIPTION],
        tools=tuple(tools)[:_MAX_TOOLS],
        count=len(tools),
    )


def _most_first(item: tuple[object, int]) -> tuple[int, str]:
    return -item[1], str(item[0])
