"""The ParameterIndex: every input of a catalogue by its exact name. Inferred outputs are chosen from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingest.linking import PLAIN_VALUE, CanonicalNames, ToolProfile
from ontology.tool import Parameter, Tool

__all__ = ["IndexedParameter", "ParameterIndex", "ValueKey"]

ValueKey = tuple[str, str]
"""What an input takes or an output gives: (entity, field)."""
_MAX_TOOLS = 3
_MAX_DESCRIPTION = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedParameter:
    """An input that tools of the catalogue take.

    :param name: exactly as the documents write it.
    :param type: the one that most of its tools declare.
    :param description: the first one given, shortened.
    :param tools: ids of the first tools that take it.
    :param count: how many tools take it.
    """

    name: str
    type: str
    description: str
    tools: tuple[str, ...]
    count: int


class ParameterIndex:
    """The inputs of a catalogue, found by name, by what they take, and by the words of their names.

    :param profiles: of the tools, extended.
    """

    def __init__(self, tools: Iterable[Tool], profiles: Iterable[ToolProfile], names: CanonicalNames) -> None:
        takers: dict[str, list[tuple[Tool, Parameter]]] = defaultdict(list)
        for tool in tools:
            for parameter in tool.parameters:
                takers[parameter.name].append((tool, parameter))
        self.parameters: Mapping[str, IndexedParameter] = {
            name: _indexed(name, found) for name, found in sorted(takers.items())
        }
        self._keys: dict[str, Counter[ValueKey]] = defaultdict(Counter)
        self._names: dict[ValueKey, Counter[str]] = defaultdict(Counter)
        self._names_in_system: dict[tuple[ValueKey, str], Counter[str]] = defaultdict(Counter)
        for profile in profiles:
            for value in profile.consumes:
                self._keys[value.parameter][value.key] += 1
                self._names[value.key][value.parameter] += 1
                self._names_in_system[value.key, profile.system][value.parameter] += 1
        self._by_words: dict[str, list[str]] = defaultdict(list)
        for name in self.parameters:
            self._by_words[names.canonical(name.rsplit(".", 1)[-1])].append(name)
        self._of_entity: dict[str, list[ValueKey]] = defaultdict(list)
        for key in sorted(self._names):
            self._of_entity[key[0]].append(key)

    def keys(self, name: str) -> tuple[ValueKey, ...]:
        """What inputs of that name take, the most usual first."""
        return tuple(key for key, _ in sorted(self._keys.get(name, Counter()).items(), key=_most_first))

    def identifiers(self, entity: str) -> Sequence[ValueKey]:
        """The identifiers by which inputs take an entity."""
        return self._of_entity.get(entity, ()) if entity != PLAIN_VALUE else ()

    def name_of(self, key: ValueKey, system: str) -> str:
        """The name of the inputs that take this: in the system itself, else in most places; empty where none does."""
        found = self._names_in_system.get((key, system)) or self._names.get(key)
        return min(found, key=lambda name: (-found[name], len(name), name)) if found else ""

    def named(self, text: str) -> str:
        """The name whose words are these, in canonical form: of several the most used; empty where there is none."""
        found = self._by_words.get(text, ()) if text else ()
        return min(found, key=lambda name: (-self.parameters[name].count, len(name), name), default="")

    def demand(self, key: ValueKey) -> int:
        """How many inputs take this."""
        return self._names[key].total() if key in self._names else 0


def _indexed(name: str, found: Sequence[tuple[Tool, Parameter]]) -> IndexedParameter:
    types = Counter(parameter.type for _, parameter in found)
    described = next((parameter.description for _, parameter in found if parameter.description), "")
    tools = tuple(dict.fromkeys(tool.id for tool, _ in found))
    return IndexedParameter(
        name=name,
        type=min(types.items(), key=_most_first)[0],
        description=described[:_MAX_DESCRIPTION],
        tools=tools[:_MAX_TOOLS],
        count=len(tools),
    )


def _most_first(item: tuple[object, int]) -> tuple[int, str]:
    return -item[1], str(item[0])
