"""Habits of a device: what its tools silently need, though no input of theirs says so.

On a device some tools read and switch a state (wireless, location service, low power), and others read what holds now (the
date, the place, the language). Whatever goes online first looks whether there is a connection, and whatever takes a place
may have to ask where it is. No output of one fills an input of the other by name, so R-P edges miss them. They are
concluded only where a source shows that it is a device, by at least two states that one tool reads and another switches, and
only where it declares no dependencies of its own. In a catalogue of services the same reading finds little but chance: tried
on five such sets without that proof, it cost up to fourteen points of CompleteRecall@5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.identifiers import type_family
from ingest.linking.tool_subjects import action_of, local_name
from ontology.names import words
from ontology.tool import Tool

__all__ = ["derive_preconditions"]

_LEAST_STATES = 2
# How sure a habit is. Without its connection a tool online does nothing; the other radios of a device are second to it.
_SWITCH, _NAMED, _AMBIENT, _CHECK, _LOGIN, _SERVICE = 0.95, 0.95, 0.9, 0.9, 0.95, 0.9
_CONNECTION, _OTHER_CONNECTION = 0.8, 0.2

_STATE = frozenset("status state enabled".split())
_SWITCHING = frozenset("set enable disable toggle turn switch activate deactivate".split())
_SAYS_SWITCH = frozenset(
    "enable enables disable disables toggle toggles activate activates deactivates turn turns".split()
)
_OF_NOW = frozenset("current system device user my today now local default this".split())
_MAKING = frozenset(("generate", "find", "lookup"))
_CHECKING = frozenset(("validate", "verify"))
_LOGINS = frozenset(("login", "signin", "logon", "authenticate"))
_SESSION = frozenset(("session", "token"))
_OWNERLESS = frozenset("user account get to in and".split())
# Verbs of work that a device does by itself, from its inputs alone.
_ALONE = frozenset("calculate compute convert estimate evaluate format hash recommend suggest validate verify".split())
# What connects a device with others, the usual one first.
_CONNECTIONS = (
    "wifi",
    "wi",
    "internet",
    "network",
    "connectivity",
    "connection",
    "cellular",
    "mobile",
    "airplane",
    "flight",
)
# Inputs that what holds now can fill, where the name alone does not say so.
_FILLS = {
    "date": frozenset("date year month day".split()),
    "time": frozenset("time hour".split()),
    "location": frozenset("location latitude longitude lat lon place nearby".split()),
    "language": frozenset("language lang locale".split()),
}


@dataclass(frozen=True, slots=True)
class _Named:
    """A tool with the words of its name."""

    tool: Tool
    name: tuple[str, ...]

    @property
    def action(self) -> str:
        return action_of(self.name[0])

    @property
    def about(self) -> tuple[str, ...]:
        """The words of its name without the verb and without what says that it is a state."""
        return tuple(word for word in self.name[1:] if word not in _STATE)

    @property
    def free(self) -> bool:
        """Whether it can be called without any input."""
        return not any(parameter.required for parameter in self.tool.parameters)


def derive_preconditions(tools: Sequence[Tool]) -> Iterator[DerivedEdge]:
    """The ``depends_on`` edges of the devices of a catalogue, tool by tool in its order, the surest first.

    :param tools: with distinct ids; those of one namespace are one device, or none.
    """
    sources: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        sources[tool.namespace].append(tool)
    for source in sources.values():
        if not any(tool.depends_on for tool in source):
            named = [_Named(tool, name) for tool in source if len(name := _words(local_name(tool))) > 1]
            device = _Device(named)
            if len(device.switches) >= _LEAST_STATES:
                for each in named:
                    yield from device.preconditions_of(each)


class _Device:
    """The tools of one source by what others may need them for."""

    def __init__(self, named: Sequence[_Named]) -> None:
        readers: dict[tuple[str, ...], str] = {}
        setters: dict[tuple[str, ...], str] = {}
        for each in named:
            if each.action in ("get", "list") and each.free and each.about != each.name[1:]:
                readers.setdefault(each.about, each.tool.id)
            elif _switches(each):
                setters.setdefault(each.about, each.tool.id)
        states = {about: reader for about, reader in readers.items() if about in setters}
        self.switches = {reader: setters[about] for about, reader in states.items()}
        self._about = {reader: about for about, reader in states.items()}
        self._of_state = {*self.switches, *self.switches.values()}
        found = [reader for word in _CONNECTIONS for about, reader in states.items() if word in about]
        self._connections = list(dict.fromkeys(found))
        self._ambient: dict[str, str] = {}
        self._getters: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._checks: dict[tuple[str, ...], str] = {}
        self._logins: list[_Named] = []
        for each in named:
            if (value := _value_of_now(each)) and each.tool.id not in readers.values():
                self._ambient.setdefault(each.tool.id, value)
            if each.action == "get" or each.name[0] in _MAKING:
                self._getters[each.name[1:]].append(each.tool.id)
            if each.name[0] in _CHECKING:
                self._checks.setdefault(each.name[1:], each.tool.id)
            if _logs_in(each.name):
                self._logins.append(each)

    def preconditions_of(self, each: _Named) -> list[DerivedEdge]:
        """What one tool needs, the surest first, each need once."""
        best: dict[str, DerivedEdge] = {}
        for target, confidence, parameter, entity in self._needs(each):
            known = best.get(target)
            if target != each.tool.id and (known is None or confidence > known.confidence):
                best[target] = DerivedEdge(
                    source=each.tool.id,
                    predicate="depends_on",
                    target=target,
                    parameter=parameter,
                    output="",
                    entity=entity,
                    field="",
                    confidence=confidence,
                )
        return sorted(best.values(), key=lambda edge: (-edge.confidence, edge.target))

    def _needs(self, each: _Named) -> Iterator[tuple[str, float, str, str]]:
        """(needed tool, confidence, input it fills or empty, what it is about)."""
        tool = each.tool
        if tool.id in self.switches:  # what is found to be off is switched on
            yield self.switches[tool.id], _SWITCH, "", " ".join(self._about[tool.id])
        if tool.id in self._of_state:
            return
        yield from self._for_inputs(each)
        if not _logs_in(each.name) and (login := self._login_of(each)):
            yield login, _LOGIN, "", "login"
        if value := self._ambient.get(tool.id):  # the place is known while the location service is on
            yield from ((at, _SERVICE, "", value) for at, about in self._about.items() if value in about)
        elif tool.parameters and each.name[0] not in _ALONE:
            for place, reader in enumerate(self._connections):
                yield reader, _OTHER_CONNECTION if place else _CONNECTION, "", " ".join(self._about[reader])

    def _for_inputs(self, each: _Named) -> Iterator[tuple[str, float, str, str]]:
        for parameter in each.tool.parameters:
            name = _words(parameter.name)
            yield from ((getter, _NAMED, parameter.name, " ".join(name)) for getter in self._getters.get(name, ())[:2])
            for reader, value in self._ambient.items():
                if _FILLS.get(value, frozenset((value,))).intersection(name):
                    yield reader, _AMBIENT, parameter.name, value
            for about, check in self._checks.items():
                if set(about) <= set(name):
                    yield check, _CHECK, parameter.name, " ".join(about)

    def _login_of(self, each: _Named) -> str:
        """The login of the same application, or empty: names begin alike, or share a word where a session is asked for."""
        own = next((login for login in self._logins if login.name[0] == each.name[0]), None)
        if own is None and any(_SESSION & set(_words(parameter.name)) for parameter in each.tool.parameters):
            near = [login for login in self._logins if set(login.name) & set(each.name) - _OWNERLESS]
            own = near[0] if near else self._logins[0] if len(self._logins) == 1 else None
        return own.tool.id if own else ""


def _words(text: str) -> tuple[str, ...]:
    return tuple(words(text))


def _switches(each: _Named) -> bool:
    """Whether it switches something on and off: its description says so, or it takes a yes or no."""
    told = any(type_family(parameter.type) == "boolean" for parameter in each.tool.parameters if parameter.required)
    return each.name[0] in _SWITCHING and (told or not _SAYS_SWITCH.isdisjoint(words(each.tool.description)))


def _value_of_now(each: _Named) -> str:
    """The one word for what a tool reads of the present or of the device, or empty."""
    if each.action != "get" or not each.free:
        return ""
    rest = [word for word in each.name[1:] if word not in _OF_NOW]
    if len(rest) == len(each.name) - 1 or len(rest) > 1:
        return ""
    return rest[0] if rest else "date" if each.name[-1] == "today" else ""


def _logs_in(name: tuple[str, ...]) -> bool:
    return not _LOGINS.isdisjoint(name) or any(pair in (("log", "in"), ("sign", "in")) for pair in pairwise(name))
