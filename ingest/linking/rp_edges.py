"""Derive R-P edges: an output of one tool can fill an input of another, because both are the same field of the same entity."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ingest.linking.calibration import calibrated
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.producer_choice import Choice, best_producers
from ingest.linking.profiles import ToolProfile
from ingest.linking.supplier_rules import is_nested
from ingest.linking.tool_values import AUTH_KEY, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue
from ingest.linking.type_families import type_family
from ingest.word_lists import word_list

__all__ = ["LinkLimits", "derive_rp_edges"]

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
