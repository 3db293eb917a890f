"""Preconditions of devices: states that must hold before a call, though no input of the tool names them.

On a device some tools read and switch a state (wireless network, location service, low power), and others read the present (the
date, the place, the language). A tool that works online depends on the tool that reads whether there is a connection, and a tool
that takes a place on the one that reads it. No output of one fills an input of the other by name, so R-P edges miss these
dependencies. They are derived only for a source that is shown to be a device, by at least two states that one tool reads and
another switches, and only where the source declares no dependencies of its own. Without that condition the rule cost up to fourteen
points of CompleteRecall@5 on five catalogues of services.

The rule was written in view of the set toollinkos: it gives 2,126 edges there and none on apibank, ultratool, bfcl, sealtools,
metatool, taskbench and gtc. It depends on how tools are named: with ``_status`` written ``_on`` it gives no edge. On another set of
device tools its edges cost eleven points. So its results on toollinkos are no evidence for other devices.
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
_SWITCH, _NAMED, _AMBIENT, _CHECK, _LOGIN, _SERVICE = 0.95, 0.95, 0.9, 0.9, 0.95, 0.9
_CONNECTION, _OTHER_CONNECTION = 0.8, 0.2
_MAX_GETTERS = 2

_STATES = word_list("linking", "device_states")
_SWITCH_VERBS = word_list("linking", "device_switches")
_SWITCH_DESCRIPTIONS = word_list("linking", "device_switch_descriptions")
_PRESENT = word_list("linking", "device_present")
_LOGIN_WORDS = word_list("linking", "device_login")
_NO_APPLICATION = word_list("linking", "device_ownerless")
_OFFLINE_VERBS = word_list("linking", "device_offline")
_FILLS = word_groups("linking", "device_fills")
_PRODUCING = frozenset(("generate", "find", "lookup"))
_CHECKING = frozenset(("validate", "verify"))
_SESSION = frozenset(("session", "token"))
# What connects a device with others, the usual one first.
_CONNECTIONS = (
    *("wifi", "wi", "internet", "network", "connectivity", "connection"),
    *("cellular", "mobile", "airplane", "flight"),
)

_Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Named:
    """A tool with the words of its name."""

    tool: Tool
    name: _Name

    @property
    def action(self) -> str:
        return action_of(self.name[0])

    @property
    def about(self) -> _Name:
        """The words of its name without the verb and the words for a state."""
        return tuple(word for word in self.name[1:] if word not in _STATES)

    @property
    def free(self) -> bool:
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
    def present_value(self) -> str:
        """The word for the value of the present or of the device that the tool reads, or empty."""
        if self.action != "get" or not self.free:
            return ""
        rest = [word for word in self.name[1:] if word not in _PRESENT]
        if len(rest) == len(self.name) - 1 or len(rest) > 1:
            return ""
        return rest[0] if rest else "date" if self.name[-1] == "today" else ""


@dataclass(frozen=True, slots=True)
class _Precondition:
    """A tool to call before, with the input that it fills or empty, and what it is about."""

    tool: str
    confidence: float
    parameter: str
    entity: str


def derive_preconditions(tools: Sequence[Tool]) -> Iterator[DerivedEdge]:
    """The ``depends_on`` edges of the devices of a catalogue, tool by tool in its order, the most confident first.

    :param tools: with distinct ids; those of one namespace are one device, or none.
    """
    sources: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        sources[tool.namespace].append(tool)
    for source in sources.values():
        if not any(tool.depends_on for tool in source):
            named = [_Named(tool, name) for tool in source if len(name := tuple(words(local_name(tool)))) > 1]
            device = _Device(named)
            if len(device.switches) >= _LEAST_STATES:
                for each in named:
                    yield from device.edges_of(each)


class _Device:
    """The tools of one source by what others may need them for."""

    def __init__(self, named: Sequence[_Named]) -> None:
        readers: dict[_Name, str] = {}
        setters: dict[_Name, str] = {}
        for each in named:
            if each.action in ("get", "list") and each.free and each.about != each.name[1:]:
                readers.setdefault(each.about, each.tool.id)
            elif each.switches:
                setters.setdefault(each.about, each.tool.id)
        states = {about: reader for about, reader in readers.items() if about in setters}
        self.switches = {reader: setters[about] for about, reader in states.items()}
        self._about = {reader: about for about, reader in states.items()}
        self._of_state = {*self.switches, *self.switches.values()}
        found = [reader for word in _CONNECTIONS for about, reader in states.items() if word in about]
        self._connections = list(dict.fromkeys(found))
        self._ambient: dict[str, str] = {}
        self._getters: dict[_Name, list[str]] = defaultdict(list)
        self._checks: dict[_Name, str] = {}
        self._logins = [each for each in named if each.logs_in]
        for each in named:
            if (value := each.present_value) and each.tool.id not in readers.values():
                self._ambient.setdefault(each.tool.id, value)
            if each.action == "get" or each.name[0] in _PRODUCING:
                self._getters[each.name[1:]].append(each.tool.id)
            if each.name[0] in _CHECKING:
                self._checks.setdefault(each.name[1:], each.tool.id)

    def edges_of(self, each: _Named) -> list[DerivedEdge]:
        """The preconditions of one tool, the most confident first, each tool once."""
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

    def _preconditions(self, each: _Named) -> Iterator[_Precondition]:
        tool = each.tool
        if tool.id in self.switches:  # a state that is off is switched on
            yield _Precondition(self.switches[tool.id], _SWITCH, "", " ".join(self._about[tool.id]))
        if tool.id in self._of_state:
            return
        yield from self._for_inputs(each)
        if not each.logs_in and (login := self._login_of(each)):
            yield _Precondition(login, _LOGIN, "", "login")
        if value := self._ambient.get(tool.id):  # the place is known while the location service is on
            yield from (_Precondition(at, _SERVICE, "", value) for at, about in self._about.items() if value in about)
        elif tool.parameters and each.name[0] not in _OFFLINE_VERBS:
            for place, reader in enumerate(self._connections):
                confidence = _OTHER_CONNECTION if place else _CONNECTION
                yield _Precondition(reader, confidence, "", " ".join(self._about[reader]))

    def _for_inputs(self, each: _Named) -> Iterator[_Precondition]:
        for parameter in each.tool.parameters:
            name = tuple(words(parameter.name))
            for getter in self._getters.get(name, ())[:_MAX_GETTERS]:
                yield _Precondition(getter, _NAMED, parameter.name, " ".join(name))
            for reader, value in self._ambient.items():
                if _FILLS.get(value, frozenset((value,))).intersection(name):
                    yield _Precondition(reader, _AMBIENT, parameter.name, value)
            for about, check in self._checks.items():
                if set(about) <= set(name):
                    yield _Precondition(check, _CHECK, parameter.name, " ".join(about))

    def _login_of(self, each: _Named) -> str:
        """The login of the same application, or empty: names begin alike, or share a word where the tool takes a session."""
        own = next((login for login in self._logins if login.name[0] == each.name[0]), None)
        if own is None and any(_SESSION.intersection(words(parameter.name)) for parameter in each.tool.parameters):
            near = [login for login in self._logins if set(login.name) & set(each.name) - _NO_APPLICATION]
            own = near[0] if near else self._logins[0] if len(self._logins) == 1 else None
        return own.tool.id if own else ""
