"""Preconditions of devices: states that must hold before a call, though no input of the tool names them.

On a device some tools read and switch a state (wireless network, location service, low power), and others read a current value (the
date, the location, the language). A tool that works online depends on the tool that reads the state of the connection, and a tool
that takes a location depends on the tool that reads it. Their outputs and inputs have different names, so R-P edges miss these
dependencies. They are derived only for a device: a source with at least two states that one tool reads and another tool
switches, and only where the source declares no dependencies. Without this condition the rule cost up to fourteen points of
CompleteRecall@5 on five catalogues of services.

The rule was developed on the set toollinkos: it gives 2,126 edges there and none on apibank, ultratool, bfcl, sealtools, metatool,
taskbench and gtc. It depends on the names of tools: with ``_on`` in place of ``_status`` it gives no edge. On another set of device
tools its edges cost eleven points. So its results on toollinkos are no evidence for other devices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.tool_subjects import action_of, local_name
from ingest.linking.type_families import type_family
from ingest.word_lists import word_groups, word_list
from ontology.names import words
from ontology.tool import Tool

__all__ = ["derive_preconditions"]

_LEAST_STATES = 2
# Confidences. A tool that works online fails without its connection; the other radios of a device matter less.
_SWITCH, _NAMED, _CURRENT_VALUE, _CHECK, _LOGIN, _SERVICE = 0.95, 0.95, 0.9, 0.9, 0.95, 0.9
_CONNECTION, _OTHER_CONNECTION = 0.8, 0.2
_MAX_GETTERS = 2

_STATES = word_list("linking", "device_states")
_SWITCH_VERBS = word_list("linking", "device_switches")
_SWITCH_DESCRIPTIONS = word_list("linking", "device_switch_descriptions")
_CURRENT_WORDS = word_list("linking", "device_present")
_LOGIN_WORDS = word_list("linking", "device_login")
_NO_APPLICATION = word_list("linking", "device_ownerless")
_OFFLINE_VERBS = word_list("linking", "device_offline")
_FILLS = word_groups("linking", "device_fills")
_PRODUCING = frozenset(("generate", "find", "lookup"))
_CHECKING = frozenset(("validate", "verify"))
_SESSION = frozenset(("session", "token"))
# Words for the connections of a device, the most common connection first.
_CONNECTIONS = (
    *("wifi", "wi", "internet", "network", "connectivity", "connection"),
    *("cellular", "mobile", "airplane", "flight"),
)

_Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _NamedTool:
    """A tool with the words of its name."""

    tool: Tool
    name: _Name

    @property
    def action(self) -> str:
        return action_of(self.name[0])

    @property
    def topic(self) -> _Name:
        """The words of its name without the verb and the words for a state."""
        return tuple(word for word in self.name[1:] if word not in _STATES)

    @property
    def needs_no_input(self) -> bool:
        """Whether it can be called without any input."""
        return not any(parameter.required for parameter in self.tool.parameters)

    @property
    def logs_in(self) -> bool:
        pairs = pairwise(self.name)
        return not _LOGIN_WORDS.isdisjoint(self.name) or any(pair in (("log", "in"), ("sign", "in")) for pair in pairs)

    @property
    def switches(self) -> bool:
        """Whether it switches something on and off: by its description, or because it takes a boolean."""
        flag = any(type_family(parameter.type) == "boolean" for parameter in self.tool.parameters if parameter.required)
        described = not _SWITCH_DESCRIPTIONS.isdisjoint(words(self.tool.description))
        return self.name[0] in _SWITCH_VERBS and (flag or described)

    @property
    def current_value(self) -> str:
        """The word for the current value that the tool reads (date, location, language), or empty."""
        if self.action != "get" or not self.needs_no_input:
            return ""
        rest = [word for word in self.name[1:] if word not in _CURRENT_WORDS]
        if len(rest) == len(self.name) - 1 or len(rest) > 1:
            return ""
        return rest[0] if rest else "date" if self.name[-1] == "today" else ""


@dataclass(frozen=True, slots=True)
class _Precondition:
    """A tool to call before, the input that it fills, or empty, and the entity of the precondition."""

    tool: str
    confidence: float
    parameter: str
    entity: str


def derive_preconditions(tools: Sequence[Tool]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges of the devices of a catalogue, grouped by namespace and tool, highest confidence first.

    :param tools: tools with distinct ids; the tools of one namespace are at most one device.
    """
    sources: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        sources[tool.namespace].append(tool)
    for source in sources.values():
        if not any(tool.depends_on for tool in source):
            named = [_NamedTool(tool, name) for tool in source if len(name := tuple(words(local_name(tool)))) > 1]
            device = _Device(named)
            if len(device.switches) >= _LEAST_STATES:
                for each in named:
                    yield from device.edges_of(each)


class _Device:
    """The tools of one device, grouped by the preconditions that they can satisfy."""

    def __init__(self, named: Sequence[_NamedTool]) -> None:
        readers: dict[_Name, str] = {}
        setters: dict[_Name, str] = {}
        for each in named:
            if each.action in ("get", "list") and each.needs_no_input and each.topic != each.name[1:]:
                readers.setdefault(each.topic, each.tool.id)
            elif each.switches:
                setters.setdefault(each.topic, each.tool.id)
        states = {topic: reader for topic, reader in readers.items() if topic in setters}
        self.switches = {reader: setters[topic] for topic, reader in states.items()}
        self._topic = {reader: topic for topic, reader in states.items()}
        self._of_state = {*self.switches, *self.switches.values()}
        found = [reader for word in _CONNECTIONS for topic, reader in states.items() if word in topic]
        self._connections = list(dict.fromkeys(found))
        self._current_values: dict[str, str] = {}
        self._getters: dict[_Name, list[str]] = defaultdict(list)
        self._checks: dict[_Name, str] = {}
        self._logins = [each for each in named if each.logs_in]
        for each in named:
            if (value := each.current_value) and each.tool.id not in readers.values():
                self._current_values.setdefault(each.tool.id, value)
            if each.action == "get" or each.name[0] in _PRODUCING:
                self._getters[each.name[1:]].append(each.tool.id)
            if each.name[0] in _CHECKING:
                self._checks.setdefault(each.name[1:], each.tool.id)

    def edges_of(self, each: _NamedTool) -> list[DerivedEdge]:
        """Return the preconditions of one tool, each required tool once, highest confidence first."""
        best: dict[str, DerivedEdge] = {}
        for found in self._preconditions(each):
            known = best.get(found.tool)
            if found.tool != each.tool.id and (known is None or found.confidence > known.confidence):
                best[found.tool] = DerivedEdge(
                    source=each.tool.id,
                    predicate="depends_on",
                    target=found.tool,
                    parameter=found.parameter,
                    output="",
                    entity=found.entity,
                    field="",
                    confidence=found.confidence,
                )
        return sorted(best.values(), key=lambda edge: (-edge.confidence, edge.target))

    def _preconditions(self, each: _NamedTool) -> Iterator[_Precondition]:
        tool = each.tool
        if tool.id in self.switches:  # a state that is off is switched on
            yield _Precondition(self.switches[tool.id], _SWITCH, "", " ".join(self._topic[tool.id]))
        if tool.id in self._of_state:
            return
        yield from self._for_inputs(each)
        if not each.logs_in and (login := self._login_of(each)):
            yield _Precondition(login, _LOGIN, "", "login")
        if value := self._current_values.get(tool.id):  # the location is known only while the location service is on
            yield from (_Precondition(id_, _SERVICE, "", value) for id_, topic in self._topic.items() if value in topic)
        elif tool.parameters and each.name[0] not in _OFFLINE_VERBS:
            for rank, reader in enumerate(self._connections):
                confidence = _OTHER_CONNECTION if rank else _CONNECTION
                yield _Precondition(reader, confidence, "", " ".join(self._topic[reader]))

    def _for_inputs(self, each: _NamedTool) -> Iterator[_Precondition]:
        for parameter in each.tool.parameters:
            name = tuple(words(parameter.name))
            for getter in self._getters.get(name, ())[:_MAX_GETTERS]:
                yield _Precondition(getter, _NAMED, parameter.name, " ".join(name))
            for reader, value in self._current_values.items():
                if _FILLS.get(value, frozenset((value,))).intersection(name):
                    yield _Precondition(reader, _CURRENT_VALUE, parameter.name, value)
            for topic, check in self._checks.items():
                if set(topic) <= set(name):
                    yield _Precondition(check, _CHECK, parameter.name, " ".join(topic))

    def _login_of(self, each: _NamedTool) -> str:
        """Return the login tool of the same application, or empty: same first word, or a common word when the tool takes a session."""
        own = next((login for login in self._logins if login.name[0] == each.name[0]), None)
        if own is None and any(_SESSION.intersection(words(parameter.name)) for parameter in each.tool.parameters):
            near = [login for login in self._logins if set(login.name) & set(each.name) - _NO_APPLICATION]
            own = near[0] if near else self._logins[0] if len(self._logins) == 1 else None
        return own.tool.id if own else ""
