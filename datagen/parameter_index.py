"""The index of all inputs of a catalogue by their exact names. Inferred outputs are chosen from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingest.linking import PLAIN_VALUE, CanonicalNames, ToolProfile
from ontology.tool import Parameter, Tool

__all__ = ["IndexedParameter", "ParameterIndex", "ValueKey"]

ValueKey = tuple[str, str]
"""The value of an input or output: (entity, field)."""
_MAX_TOOLS = 3
_MAX_DESCRIPTION = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedParameter:
    """An input of tools of the catalogue.

    :param name: exactly as in the documents.
    :param type: the type that most of its tools declare.
    :param description: the first description, cut to 160 characters.
    :param tools: ids of the first three tools with this input.
    :param count: number of tools with this input.
    """

    name: str
    type: str
    description: str
    tools: tuple[str, ...]
    count: int


class ParameterIndex:
    """The inputs of a catalogue, indexed by name, by value key, and by the words of their names.

    :param profiles: the extended profiles of the tools.
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
        """Return the value keys of the inputs with this name, most frequent first."""
        return tuple(key for key, _ in sorted(self._keys.get(name, Counter()).items(), key=_most_first))

    def identifiers(self, entity: str) -> Sequence[ValueKey]:
        """Return the value keys that identify an entity."""
        return self._of_entity.get(entity, ()) if entity != PLAIN_VALUE else ()

    def name_of(self, key: ValueKey, system: str) -> str:
        """Return the most frequent input name for a value key, in the system if possible; empty where there is none."""
        found = self._names_in_system.get((key, system)) or self._names.get(key)
        return min(found, key=lambda name: (-found[name], len(name), name)) if found else ""

    def named(self, text: str) -> str:
        """Return the most frequent input name with these words in canonical form; empty where there is none."""
        found = self._by_words.get(text, ()) if text else ()
        return min(found, key=lambda name: (-self.parameters[name].count, len(name), name), default="")

    def demand(self, key: ValueKey) -> int:
        """Return the number of inputs with this value key."""
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
