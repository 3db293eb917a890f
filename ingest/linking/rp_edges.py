"""Derive R-P edges: an output of one tool can fill an input of another, because both are the same field of the same entity."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.identifiers import type_family
from ingest.linking.output_index import Choice, OutputIndex, ProducerMatch, best_producers, is_nested
from ingest.linking.profiles import ToolProfile
from ingest.linking.tool_inputs import ANY_PERSON, PEOPLE
from ingest.linking.tool_values import AUTH_KEY, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue, Key
from ingest.word_lists import word_list
from ontology.files import read_yaml

__all__ = ["MAX_RESOLVERS", "LinkLimits", "calibrated", "derive_resolver_edges", "derive_rp_edges"]

_LAST_RISE = 0.03
"""Rise after the last point, so that of two edges the one with the better score still has the higher confidence."""


def calibrated(predicate: str, score: float) -> float:
    """Return the confidence of an edge, in [0, 1]; the score itself for a predicate that is not calibrated."""
    points = _points().get(predicate)
    if not points:
        return score
    at = bisect_right(points, (score, 2.0))
    low, start = points[at - 1] if at else (0.0, 0.0)
    high, end = points[at] if at < len(points) else (1.0, min(start + _LAST_RISE, 1.0))
    return round(start + (end - start) * (score - low) / (high - low), 4) if high > low else end


@cache
def _points() -> dict[str, list[tuple[float, float]]]:
    rows: dict[str, Any] = read_yaml(Path(__file__).parent / "confidence.yaml")["bins"]
    return {predicate: [(float(score), float(share)) for score, share in points] for predicate, points in rows.items()}


MAX_RESOLVERS = 3
"""Maximum number of resolvers of one identifier."""
MIN_SCORE = 0.12
_MIN_STRENGTH = 0.5
"""Least strength of a resolver. A bare list, and a search without text, have less: they supply the identifier, but take no words.
Found on the set gtc, which loses 2 points of CompleteRecall@5 to them."""
_OPTIONAL_FROM = 0.8
_WITHOUT_TEXT = 0.45
_OF_CALLER = 0.55


def derive_resolver_edges(profiles: Sequence[ToolProfile], index: OutputIndex) -> Iterator[DerivedEdge]:
    """Yield the ``resolved_by`` edges of a catalogue in the order of tools and inputs, the best resolvers first."""
    for profile in profiles:
        for consumed in profile.consumes:
            # A request rarely refers to an optional nested field (lastModifiedBy.user.id).
            optional = consumed.confidence >= _OPTIONAL_FROM and not is_nested(consumed, profile)
            if consumed.identifier and not consumed.context and (consumed.required or optional):
                yield from _resolvers(consumed, profile, index)


def _resolvers(consumed: ConsumedValue, consumer: ToolProfile, index: OutputIndex) -> Iterator[DerivedEdge]:
    def confidence(match: ProducerMatch) -> float:
        produced = match.produced
        strength = _strength(match.profile, consumed.key, consumer, listed="[]" in produced.output)
        if strength < _MIN_STRENGTH:
            return 0.0
        strength *= produced.relevance
        return consumed.confidence * produced.confidence * match.fit * strength * (0.85 + 0.15 * match.name_overlap)

    best = best_producers(consumed, consumer, index, confidence, MIN_SCORE)
    for choice in sorted(best, key=lambda each: (-each.confidence, each.match.profile.id))[:MAX_RESOLVERS]:
        produced = choice.match.produced
        yield DerivedEdge(
            source=consumer.id,
            predicate="resolved_by",
            target=choice.match.profile.id,
            parameter=consumed.parameter,
            output=produced.output,
            entity=produced.key[0],
            field=produced.key[1],
            confidence=calibrated("resolved_by", choice.confidence),
            score=choice.confidence,
        )


def _strength(profile: ToolProfile, key: Key, consumer: ToolProfile, *, listed: bool) -> float:
    """Return how well a tool resolves words to an entity, in [0, 1]: high for a search, lower for a text filter, low for a list.

    :param listed: whether it returns the entity in a list; such a "get" counts as a list.
    """
    required = [value for value in profile.consumes if value.identifier and value.required and not value.context]
    if any(consumed.key == key for consumed in required):
        return 0.0
    identifiers = [value for value in required if value.key[0] not in consumer.scope]
    # A resolver that needs other identifiers first cannot be called with words alone; a name is words.
    reach = 0.5 ** min(sum(consumed.key[1] != "name" for consumed in identifiers), 2)
    if profile.action == "search":
        return reach * (0.7 + 0.3 * profile.free_text if profile.free_text else _WITHOUT_TEXT)
    if profile.is_self:  # "get my profile" knows who the caller is
        return _OF_CALLER if key[0].rsplit(" ", 1)[-1] in PEOPLE or key[0] == ANY_PERSON else 0.0
    if profile.action in ("list", "get"):
        if profile.free_text:
            return reach * (0.55 + 0.3 * profile.free_text)
        return _WITHOUT_TEXT * reach if (listed or profile.action == "list") and not identifiers else 0.0
    return 0.0


_COMMON_SHARE = 0.3
_MIN_TOOLS = 20
_PICKS = word_list("linking", "naming_fields") | {"identifier", "ids", "key", "code", "number", "reference"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLimits:
    """Limits that trade recall of edges against precision; a build uses the defaults.

    :param max_providers: maximum number of suppliers of one input.
    :param min_confidence: edges with a lower confidence are left out, in [0, 1].
    :param min_value_providers: a plain value with at most this number of producers is linked, in a catalogue of any size.
    :param max_value_share: a plain value of several words is also linked up to this share of producers among the tools, in [0, 1].
    :param optional_values: whether optional inputs that are no identifiers are linked too.
    :param nearest_login: whether, of several logins, only those with the names most similar to the consumer's are linked.
    :param resources_across_groups: whether a bare type (``image``) links tools that have groups, but none in common.
    :param nearest_only: whether only the nearest producers of an identifier are linked, by entity and scope.
    """

    max_providers: int = 8
    min_confidence: float = 0.25
    min_value_providers: int = 5
    max_value_share: float = 0.01
    optional_values: bool = False
    nearest_login: bool = False
    resources_across_groups: bool = True
    nearest_only: bool = True


_DEFAULT_LIMITS = LinkLimits()


def derive_rp_edges(
    profiles: Sequence[ToolProfile], index: OutputIndex, limits: LinkLimits = _DEFAULT_LIMITS
) -> Iterator[DerivedEdge]:
    """Yield the ``supplies`` edges of a catalogue in the order of tools and inputs, the best suppliers first.

    Required inputs and optional identifiers are linked; optional nested fields are not.
    """
    for profile in profiles:
        for consumed in profile.consumes:
            optional = (consumed.identifier or limits.optional_values) and not is_nested(consumed, profile)
            if not consumed.context and (consumed.required or optional):
                yield from _suppliers(consumed, profile, index, limits)


def _suppliers(
    consumed: ConsumedValue, consumer: ToolProfile, index: OutputIndex, limits: LinkLimits
) -> Iterator[DerivedEdge]:
    specificity = _specificity(consumed, index, limits)
    if specificity == 0.0:
        return

    def confidence(match: ProducerMatch) -> float:
        if consumed.key[0] == TYPED_RESOURCE and not limits.resources_across_groups and match.other_group:
            return 0.0
        overlap = _overlap_factor(consumed, match, index)
        return consumed.confidence * match.produced.confidence * match.fit * specificity * overlap

    best = best_producers(
        consumed, consumer, index, confidence, limits.min_confidence, nearest_only=limits.nearest_only
    )
    kept = _nearest(best) if limits.nearest_login and consumed.key == AUTH_KEY else best
    ranked = sorted(kept, key=lambda each: (not each.match.same_system, -each.confidence, each.match.profile.id))
    for choice in ranked[: limits.max_providers]:
        entity, field = choice.match.produced.key
        yield DerivedEdge(
            source=choice.match.profile.id,
            predicate="supplies",
            target=consumer.id,
            parameter=consumed.parameter,
            output=choice.match.produced.output,
            entity="" if entity == TYPED_RESOURCE else entity,
            field=field,
            confidence=calibrated("supplies", choice.confidence),
            score=choice.confidence,
        )


def _nearest(found: Collection[Choice]) -> list[Choice]:
    """Return the producers of the consumer's system, or all without any; of several those with the largest name overlap."""
    own = [each for each in found if each.match.same_system] or list(found)
    most = max((each.match.name_overlap for each in own), default=0.0)
    return [each for each in own if len(own) == 1 or each.match.name_overlap >= most > 0]


def _specificity(consumed: ConsumedValue, index: OutputIndex, limits: LinkLimits) -> float:
    """Return a factor in [0, 1], higher for a key with fewer producers; 0 for too many producers, where an edge would be arbitrary."""
    count, total = index.count.get(consumed.key, 0), index.tools
    if consumed.key[0] == PLAIN_VALUE and consumed.location and not _says_which(consumed):
        return 0.0
    if consumed.identifier:
        # The entity is known, so many producers do not lower the factor, unless a large share of the tools are producers.
        return 0.8 if total >= _MIN_TOOLS and count > _COMMON_SHARE * total else 1.0
    if consumed.key == AUTH_KEY:
        return 1.0
    if consumed.key[0] == TYPED_RESOURCE:
        return 0.5 + 0.5 * index.specificity(consumed.key)
    share = limits.max_value_share * total if " " in consumed.key[1] else 0
    if count > max(limits.min_value_providers, share):
        return 0.0
    return 0.4 + 0.6 * index.specificity(consumed.key)


def _says_which(consumed: ConsumedValue) -> bool:
    """Whether a plain value of an HTTP request picks something out (a handle), and is no measure, time or part of a record.

    Found on Microsoft Graph and EC2, where records of one kind share most of their fields.
    """
    return consumed.required and type_family(consumed.type) in ("string", "array") and _last(consumed) in _PICKS


def _last(consumed: ConsumedValue) -> str:
    return consumed.key[1].rsplit(" ", 1)[-1]


def _overlap_factor(consumed: ConsumedValue, match: ProducerMatch, index: OutputIndex) -> float:
    if consumed.key == AUTH_KEY and index.count[AUTH_KEY] > 1:  # a login is valid for its own application only
        return 0.4 + 0.6 * match.name_overlap
    return 0.85 + 0.15 * match.name_overlap
