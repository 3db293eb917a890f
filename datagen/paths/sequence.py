"""Whether the second tool of an R-P edge sensibly follows the first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from datagen.catalogue import FINDING_ACTIONS, ProfiledCatalogue, only_reads, word_set
from datagen.requests import PathEdge, ToolLinks, Verdict
from ingest.linking import AUTH_KEY, GENERIC_NAMES, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue, ToolProfile
from ontology.names import noun_lemma, words

_Key = tuple[str, str]
_MIN_CONFIDENCE = 0.2
_MAX_MISSING = 0.2  # share of the fields that a tool reads, and a list before it does not give
_MAX_UNTOLD = 0.5  # the same where what was made or changed is read again
_VERBS = {"search": "find", "list": "list", "get": "read", "create": "make", "update": "change"}


def state_check(catalogue: ProfiledCatalogue, source: str, target: str) -> PathEdge | None:
    """Return the edge from the tool that reads a thing to the one that changes it; None where they are no such pair.
    Both require the same identifiers, which the request states, and the first documents that of the thing among its
    outputs. So nothing but a condition makes the second follow the first, and the graph of what feeds what has no such
    edge."""
    first, second = catalogue.extended_profiles[source], catalogue.extended_profiles[target]
    if first.action != "get" or not only_reads(first) or only_reads(second) or second.action == "create":
        return None
    if not first.entity or (first.entity, first.system) != (second.entity, second.system):
        return None
    taken, inputs = _required(first), _required(second)
    if not inputs or set(taken.values()) != set(inputs.values()):
        return None
    own = next((name for name, key in inputs.items() if key[0] == first.entity), "")
    outputs = {
        catalogue.names.canonical(one.name.rpartition(".")[2]): one.name for one in catalogue.tool(source).returns
    }
    output = outputs.get(catalogue.names.canonical(own)) or outputs.get("id") if own else None
    if output is None or "[]" in output:
        return None
    return PathEdge(
        kind="R-P",
        source=source,
        target=target,
        output=output,
        parameter=own,
        confidence=1.0,
        reason=f"the second works on the {first.entity} whose state the first gives",
    )


def _required(profile: ToolProfile) -> dict[str, _Key]:
    """The identifiers that a tool requires."""
    return {
        value.parameter: value.key
        for value in profile.consumes
        if value.required and value.identifier and not value.context
    }


@dataclass(frozen=True)
class _Step:
    """An edge with what its ends do and what passes between them."""

    edge: PathEdge
    first: ToolProfile
    second: ToolProfile
    consumed: ConsumedValue | None  # what that input takes, where it is known
    passed: str  # the canonical name of the input that the edge fills

    @cached_property
    def same_entity(self) -> bool:
        """Whether both tools are about the same entity."""
        return bool(self.first.entity) and self.first.entity == self.second.entity

    @cached_property
    def same_system(self) -> bool:
        """Whether both tools belong to one system."""
        return self.first.system == self.second.system

    @cached_property
    def entity(self) -> str:
        """The entity whose identifier is passed, or empty."""
        return self.consumed.key[0] if self.consumed is not None and self.consumed.identifier else ""

    @cached_property
    def kind(self) -> str:
        """The first part of the key of what is passed; empty for a plain value."""
        return self.consumed.key[0] if self.consumed is not None else PLAIN_VALUE

    @cached_property
    def is_session(self) -> bool:
        """Whether a session or a token is passed."""
        return self.consumed is not None and self.consumed.key == AUTH_KEY

    @cached_property
    def is_first(self) -> bool:
        """Whether what is passed identifies what the first tool is about."""
        return _is_a(self.entity, self.first.entity) or _named_in(self.entity, self.first)

    @cached_property
    def is_second(self) -> bool:
        """Whether what is passed identifies what the second tool is about."""
        return _is_a(self.entity, self.second.entity)


class SequenceRules:
    """Validates sequences by what the two tools do, to what, and what passes between them; ``rp`` is the graph that the
    edges come from."""

    name = "rules.v1"

    def __init__(self, catalogue: ProfiledCatalogue, rp: ToolLinks) -> None:
        self._catalogue = catalogue
        self._rp = rp
        self._profiles = catalogue.extended_profiles
        self._entities = {profile.entity for profile in self._profiles.values()}
        self._makers = _makers(self._profiles.values())

    def validate(self, edge: PathEdge) -> Verdict:
        """Whether the second tool sensibly follows the first; the reason says why not, or why."""
        step = self._step(edge)
        fault = (
            self._other_thing(step)
            or _other_kind(step)
            or self._has_own_finder(step)
            or _repetition(step)
            or self._known_before(step)
            or _is_said(step)
            or self._is_given(step)
            or _mismatch(step)
        )
        return Verdict(check="sequence", passed=not fault, reason=fault or _why(step), by=self.name)

    def _step(self, edge: PathEdge) -> _Step:
        first, second = self._profiles[edge.source], self._profiles[edge.target]
        consumed = next((value for value in second.consumes if value.parameter == edge.parameter), None)
        return _Step(edge, first, second, consumed, self._canonical(edge.parameter))

    def _canonical(self, name: str) -> str:
        return self._catalogue.names.canonical(name.rsplit(".", 1)[-1])

    def _known_before(self, step: _Step) -> str:
        """The output of the first tool only repeats one of its required inputs."""
        if "[]" in step.edge.output:
            return ""
        parameters = self._catalogue.tool(step.first.id).parameters
        required = {self._catalogue.names.canonical(one.name) for one in parameters if one.required}
        if self._canonical(step.edge.output) in required and step.passed in required:
            return f"the {step.passed} must be known before the first tool runs, so the second does not need it"
        return ""

    def _is_given(self, step: _Step) -> str:
        """The first tool gives nearly all that the second reads of the same thing. A list of a document leaves out what
        is nested deeply, so a few fields may be missing."""
        if step.second.action != "get" or not step.same_entity or step.kind == TYPED_RESOURCE:
            return ""
        gives, reads = self._outputs(step.first.id), self._fields(step.second.id)
        most = _MAX_MISSING if only_reads(step.first) else _MAX_UNTOLD
        if not reads or len(reads - gives) > most * len(reads):
            return ""
        return f"the first gives the whole {step.first.entity} that the second reads"

    def _outputs(self, tool_id: str) -> frozenset[str]:
        return frozenset(self._canonical(output.name) for output in self._catalogue.tool(tool_id).returns)

    def _fields(self, tool_id: str) -> frozenset[str]:
        """The outputs of the outermost object that has more than one field: a tool may wrap what it gives."""
        names = [output.name.split(".") for output in self._catalogue.tool(tool_id).returns]
        for depth in range(1, 1 + max(map(len, names), default=0)):
            found = frozenset(self._canonical(".".join(name)) for name in names if len(name) == depth)
            if len(found) > 1 or all(len(name) <= depth for name in names):
                return found
        return frozenset()

    def _other_thing(self, step: _Step) -> str:
        """Two things have one name: each system makes its own, or the name alone does not say of which kind it is."""
        entity = step.entity
        if not entity:
            return ""
        if not step.same_system and {step.first.system, step.second.system} <= self._makers.get(entity, set()):
            return f"each of the two systems makes a {entity} of its own"
        if not step.same_system and step.is_first and (finder := self._own_finder(step, entity)):
            return f"the {entity} of the second's own system is meant, {finder}"
        if entity in self._entities or step.is_first:
            return ""
        telling = _lemmas(step.second) - set(entity.split())
        if not telling or telling & _lemmas(step.first):
            return ""
        for edge in self._rp.into(step.second.id):
            other = self._profiles[edge.source]
            alike = edge.parameter == step.edge.parameter and other.action == step.first.action
            if alike and telling & _lemmas(other):
                return f"the {entity} of another tool is meant, {edge.source}"
        return ""

    def _has_own_finder(self, step: _Step) -> str:
        """What a tool reads, changes or deletes has a tool that finds it, and the first finds something else. Two kinds
        of things may have identifiers of one name, each in a collection of its own."""
        path = str(self._catalogue.tool(step.second.id).metadata.get("path") or "")
        is_own = path.rstrip("/").endswith("{" + step.edge.parameter + "}")
        keyed = step.second.action in ("get", "update", "delete") and is_own
        if not keyed or not step.entity or step.is_second or step.same_entity:
            return ""
        finder = self._own_finder(step, step.second.entity)
        return f"the {step.second.entity} is found by {finder}, not by its {step.passed}" if finder else ""

    def _own_finder(self, step: _Step, entity: str) -> str:
        """The tool of the second's system that finds an entity and gives a value of the same name, or empty."""
        for other in self._finders.get(step.second.system, ()):
            if other != step.first.id and _is_a(entity, self._profiles[other].entity):
                if step.passed in self._outputs(other) or self._rp.between(other, step.second.id):
                    return other
        return ""

    @cached_property
    def _finders(self) -> dict[str, list[str]]:
        """System → its tools that find something."""
        found: dict[str, list[str]] = defaultdict(list)
        for tool, profile in self._profiles.items():
            if profile.action in FINDING_ACTIONS:
                found[profile.system].append(tool)
        return found


def _makers(profiles: Iterable[ToolProfile]) -> dict[str, set[str]]:
    """Entity → the systems that make it."""
    found: dict[str, set[str]] = defaultdict(set)
    for profile in profiles:
        if profile.action == "create":
            for value in profile.produces:
                if value.key[0] and _is_a(value.key[0], profile.entity):
                    found[value.key[0]].add(profile.system)
    return found


def _lemmas(profile: ToolProfile) -> frozenset[str]:
    return frozenset(noun_lemma(word) for word in profile.words)


def _other_kind(step: _Step) -> str:
    """The two tools are about two kinds of one thing, and the input has the name that both share: the id of an ``order``."""
    kinds = [tool.entity for tool in (step.first, step.second)]
    if not step.entity or step.same_entity or not all(kind.endswith(f" {step.entity}") for kind in kinds):
        return ""
    return f"a {kinds[0]} is no {kinds[1]}, though both are called {step.entity}"


def _repetition(step: _Step) -> str:
    """Why the second tool repeats or undoes the first, or goes on with something that is gone."""
    first, second, thing = step.first, step.second, step.first.entity
    if first.action == "delete":
        return "what is deleted gives nothing to go on with"
    if first.verb in word_set("watching"):
        return "the first waits for changes, and what it gives is the watch"
    if second.action == "create" and _lemmas(first) == _lemmas(second) != frozenset(step.entity.split()):
        return f"a new {' '.join(first.words)} does not come from another one's {step.passed}"
    if not step.same_entity or step.kind == TYPED_RESOURCE:
        empty = first.action == "create" and step.is_first and second.action in (*FINDING_ACTIONS, "delete")
        return (
            f"the {thing} that the first has just made has nothing yet that could be found or removed" if empty else ""
        )
    if first.action == second.action != "act":
        return f"both {_VERBS.get(first.action, first.action)} the {thing}, so the second repeats the first"
    if first.action == "create" and second.action in FINDING_ACTIONS:
        return f"the second looks for the {thing} that the first has just made"
    if first.action == "create" and second.action in ("delete", "update"):
        return f"the second undoes or changes the {thing} that the first has just made"
    if first.action == "get" and second.action in FINDING_ACTIONS:
        return f"the second looks for the {thing} that the first has read already"
    required = step.consumed is not None and step.consumed.required
    if second.action == "create" and not (step.is_second and required):
        return f"a new {thing} does not come from another one's {step.passed}"
    return ""


def _is_said(step: _Step) -> str:
    """The first tool looks up a name, which the request itself says. A tool that takes the identifier of another entity
    finds a name by a relation: the groups of a user."""
    field = step.consumed.key[1] if step.consumed is not None and step.consumed.identifier else ""
    others = {
        value.key[0] for value in step.first.consumes if value.required and value.identifier and not value.context
    }
    if not only_reads(step.first) or field not in word_set("said") or others - {step.entity}:
        return ""
    return f"people say the {step.passed} themselves, so the first tool is not needed"


def _mismatch(step: _Step) -> str:
    """Why the value does not lead from the one tool to the other."""
    if step.edge.confidence < _MIN_CONFIDENCE:
        return "that the one gives what the other takes is too unsure"
    if step.is_session or step.kind == TYPED_RESOURCE:
        return ""
    if not step.entity:
        return _mismatch_of_plain_value(step)
    if not only_reads(step.first) and not step.is_first:
        return f"the first changes its {step.first.entity or 'thing'}; the {step.passed} it mentions was known before"
    if step.second.action == "delete" and not step.is_first:
        return f"the first only refers to the {step.passed}, and what is removed is looked up itself"
    required = step.consumed is not None and step.consumed.required
    if step.same_entity and not step.is_first and not (step.second.action == "get" and required):
        return f"both are about the {step.first.entity}, but the {step.passed} does not say which one"
    is_id = step.consumed is not None and step.consumed.key[1] == "id"
    changes = step.second.action in ("update", "delete") or not (only_reads(step.second) or is_id)
    return f"neither tool is about the {step.passed}" if changes and not (step.is_second or step.is_first) else ""


def _mismatch_of_plain_value(step: _Step) -> str:
    """A plain value joins two tools where the first is there to give it, or both work on one thing of one system."""
    passed = step.passed
    if _gives(passed, step.first):
        return ""
    plain = not word_set("plain_fields").isdisjoint(passed.split())
    if passed in GENERIC_NAMES or plain or step.kind != PLAIN_VALUE:
        return f"a {passed} of the one is not the {passed} of the other"
    if "new" in words(step.edge.parameter):
        return f"what is to become of the {passed} is not what it was"
    if not step.same_system:
        return f"two systems only happen to call something {passed}"
    if not only_reads(step.first):
        return f"the first does something else than find the {passed}"
    if step.same_entity:
        return f"both are about the {step.first.entity}, and the {passed} does not say which one"
    return ""


def _gives(name: str, profile: ToolProfile) -> bool:
    """Whether a value is what the tool is there to give: named by it, or a handle of its entity (``queue url``)."""
    if profile.entity and (name in profile.entity or _named_in(name, profile)):
        return True
    named, own = set(name.split()), set(profile.entity.split())
    return bool(own) and own < named and named - own <= word_set("handles")


def _named_in(name: str, profile: ToolProfile) -> bool:
    """Whether the words of a name are words of the tool's name, in singular or plural."""
    lemmas = _lemmas(profile)
    return bool(name) and "of" not in lemmas and set(name.split()) <= lemmas


def _is_a(identified: str, entity: str) -> bool:
    """Whether an identifier of one entity says which one of another: equal, or one is a kind of the other."""
    if not identified or not entity or " of " in entity:
        return identified == entity != ""
    return identified == entity or entity.endswith(f" {identified}") or identified.endswith(f" {entity}")


def _why(step: _Step) -> str:
    passed = step.passed or step.edge.parameter
    if step.is_session:
        return f"the first opens the {passed} without which the second does nothing"
    how = "finds" if step.first.action in FINDING_ACTIONS else "gives"
    then = f"the second works on that {step.second.entity}" if step.is_second else "the second needs it"
    return f"the first {how} the {passed}, and {then}"
