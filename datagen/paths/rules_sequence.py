"""Sequences by rules: whether the second tool sensibly follows the first, because of what the first gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.paths.extended_profiles import wide_profiles
from datagen.synthetic_request import Verdict
from datagen.tool_path import PathEdge
from ingest.linking import (
    AUTH_KEY,
    GENERIC_NAMES,
    PLAIN_VALUE,
    TYPED_RESOURCE,
    ConsumedValue,
    ToolProfile,
    canonical_names,
)
from ontology.names import noun_lemma
from ontology.names import words as words_of
from ontology.tool import Tool

__all__ = ["RulesSequence"]

_READS = frozenset(("search", "list", "get"))
_FINDS = frozenset(("search", "list"))
_LEAST = 0.2
_HANDLES = frozenset("url uri arn urn link path handle".split())
_TEXTS = frozenset(
    "remark subject problem reason comment note message summary quantity amount total price unit trade merchant priority "
    "severity fiscal currency today now timezone rating score due configuration config "
    "setting option policy definition schema format tag metadata role mode".split()
)
"""Words, measures, settings and times: that two tools have a field of this name joins nothing."""


@dataclass(frozen=True, slots=True)
class _Step:
    """An edge with what its ends do and what passes between them."""

    edge: PathEdge
    first: ToolProfile
    second: ToolProfile
    need: ConsumedValue | None
    about: str  # canonical words of what is passed

    @property
    def same_entity(self) -> bool:
        return bool(self.first.entity) and self.first.entity == self.second.entity

    @property
    def same_system(self) -> bool:
        return self.first.system == self.second.system

    @property
    def reads(self) -> bool:
        return self.first.action in _READS

    @property
    def writes(self) -> bool:
        return self.second.action not in _READS

    @property
    def identified(self) -> str:
        """The entity whose identifier is passed, or empty."""
        return self.need.key[0] if self.need is not None and self.need.identifier else ""

    @property
    def of_first(self) -> bool:
        """Whether what is passed identifies what the first tool is about."""
        return _is_a(self.identified, self.first.entity) or _named_in(self.identified, self.first)

    @property
    def of_second(self) -> bool:
        return _is_a(self.identified, self.second.entity)


class RulesSequence:
    """Validates sequences by what the two tools do, to what, and what passes between them.

    :param rp: the graph that the edges come from.
    """

    name = "rules.v1"

    def __init__(self, catalogue: Catalogue, rp: Links) -> None:
        self._catalogue = catalogue
        self._rp = rp
        self._profiles = wide_profiles(catalogue)
        self._names = canonical_names(catalogue.ontology)
        self._subjects = {profile.entity for profile in self._profiles.values()}
        self._makers = _makers(self._profiles.values())

    def validate(self, edge: PathEdge) -> Verdict:
        """Whether the second tool sensibly follows the first; the reason names what speaks against it, or for it."""
        step = self._step(edge)
        found = (self._another(step), _repeats(step), self._known_before(step), _unfit(step))
        against = next((reason for reason in found if reason), "")
        return Verdict(check="sequence", passed=not against, reason=against or _why(step), by=self.name)

    def _step(self, edge: PathEdge) -> _Step:
        first, second = self._profiles[edge.source], self._profiles[edge.target]
        need = next((need for need in second.consumes if need.parameter == edge.parameter), None)
        about = self._names.canonical(edge.parameter.rsplit(".", 1)[-1])
        return _Step(edge=edge, first=first, second=second, need=need, about=about)

    def _known_before(self, step: _Step) -> str:
        """What the first tool must be told comes back from it as an echo."""
        if "[]" in step.edge.output:
            return ""
        given = {self._names.canonical(one.name) for one in self._tool(step.first).parameters if one.required}
        said = self._names.canonical(step.edge.output.rsplit(".", 1)[-1])
        if said in given and step.about in given:
            return f"the {step.about} must be known before the first tool runs, so the second does not need it"
        return ""

    def _another(self, step: _Step) -> str:
        """Two things that are called alike: each system makes its own, or the name alone does not say of which kind."""
        thing = step.identified
        if not thing:
            return ""
        if not step.same_system and {step.first.system, step.second.system} <= self._makers.get(thing, set()):
            return f"each of the two systems makes a {thing} of its own"
        if thing in self._subjects or step.of_first:
            return ""
        telling = _lemmas(step.second) - set(thing.split())
        if telling and not telling & _lemmas(step.first):
            for edge in self._rp.into(step.second.id):
                other = self._profiles[edge.source]
                if (edge.parameter, other.action) == (step.edge.parameter, step.first.action) and telling & _lemmas(
                    other
                ):
                    return f"the {thing} of another tool is meant, {edge.source}"
        return ""

    def _tool(self, profile: ToolProfile) -> Tool:
        return self._catalogue.tool(profile.id)


def _makers(profiles: Iterable[ToolProfile]) -> dict[str, set[str]]:
    """Entity → the systems that make it."""
    found: dict[str, set[str]] = defaultdict(set)
    for profile in profiles:
        if profile.action == "create":
            for offer in profile.produces:
                if offer.key[0] and _is_a(offer.key[0], profile.entity):
                    found[offer.key[0]].add(profile.system)
    return found


def _lemmas(profile: ToolProfile) -> frozenset[str]:
    return frozenset(noun_lemma(word) for word in profile.words)


def _repeats(step: _Step) -> str:
    first, second = step.first, step.second
    if first.action == "delete":
        return "what is deleted gives nothing to go on with"
    if second.action == "create" and _lemmas(first) == _lemmas(second) != frozenset(step.identified.split()):
        return f"a new {' '.join(first.words)} does not come from another one's {step.about}"
    if not step.same_entity or (step.need is not None and step.need.key[0] == TYPED_RESOURCE):
        return ""
    thing = first.entity
    if first.action == second.action and first.action != "act":
        return f"both {_verb(first.action)} the {thing}, so the second repeats the first"
    if first.action == "create" and second.action in _FINDS:
        return f"the second looks for the {thing} that the first has just made"
    if first.action == "create" and second.action == "delete":
        return f"the second undoes the {thing} that the first has just made"
    if first.action == "get" and second.action in _FINDS:
        return f"the second looks for the {thing} that the first has read already"
    if second.action == "create" and not step.of_second:
        return f"a new {thing} does not come from another one's {step.about}"
    return ""


def _unfit(step: _Step) -> str:
    """Why the value does not lead from the one to the other."""
    if step.edge.confidence < _LEAST:
        return "that the one gives what the other takes is too unsure"
    if step.need is not None and (step.need.key == AUTH_KEY or step.need.key[0] == TYPED_RESOURCE):
        return ""
    if not step.identified:
        return _unfit_value(step)
    if not step.reads and not step.of_first:
        return f"the first changes its {step.first.entity or 'thing'}; the {step.about} it mentions was known before"
    if step.same_entity and not step.of_first and not (step.second.action == "get" and _required(step)):
        return f"both are about the {step.first.entity}, but the {step.about} does not say which one"
    changes = step.second.action in ("update", "delete") or (step.writes and not _is_id(step))
    if changes and not step.of_second and not step.of_first:
        return f"neither tool is about the {step.about}"
    return ""


def _unfit_value(step: _Step) -> str:
    """A plain value joins two tools where the first is there to give it, or both work on one thing of one system."""
    words = set(step.about.split())
    if _is_of(step.about, step.first):
        return ""
    if step.about in GENERIC_NAMES or words & _TEXTS or (step.need is not None and step.need.key[0] != PLAIN_VALUE):
        return f"a {step.about} of the one is not the {step.about} of the other"
    if "new" in words_of(step.edge.parameter):
        return f"what is to become of the {step.about} is not what it was"
    if not step.same_system:
        return f"two systems only happen to call something {step.about}"
    if not step.reads:
        return f"the first does something else than find the {step.about}"
    if step.same_entity:
        return f"both are about the {step.first.entity}, and the {step.about} does not say which one"
    return ""


def _is_of(about: str, profile: ToolProfile) -> bool:
    """Whether a value is what the tool is there to give: named by it, or a handle of its entity (``queue url`` of a queue)."""
    entity = profile.entity
    if entity and (about in entity or _named_in(about, profile)):
        return True
    words, own = set(about.split()), set(entity.split())
    return bool(own) and own < words and words - own <= _HANDLES


def _required(step: _Step) -> bool:
    return step.need is not None and step.need.required


def _is_id(step: _Step) -> bool:
    return step.need is not None and step.need.key[1] == "id"


def _named_in(about: str, profile: ToolProfile) -> bool:
    """Whether the tool's name speaks of it: as a word of its own, in singular or plural."""
    words = _lemmas(profile)
    return bool(about) and "of" not in words and set(about.split()) <= words


def _is_a(key: str, entity: str) -> bool:
    """Whether an identifier of ``key`` says which ``entity``: equal, or one is a kind of the other."""
    if not key or not entity or " of " in entity:
        return key == entity != ""
    return key == entity or entity.endswith(f" {key}") or key.endswith(f" {entity}")


def _verb(action: str) -> str:
    return {"search": "find", "list": "list", "get": "read", "create": "make", "update": "change"}.get(action, action)


def _why(step: _Step) -> str:
    what = step.about or step.edge.parameter
    if step.need is not None and step.need.key == AUTH_KEY:
        return f"the first opens the {what} without which the second does nothing"
    how = "finds" if step.first.action in _FINDS else "gives"
    ends = f"the second works on that {step.second.entity}" if step.of_second else "the second needs it"
    return f"the first {how} the {what}, and {ends}"
