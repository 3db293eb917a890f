"""R-P edges: an output of one tool can fill an input of another, because both speak of the same field of the same entity."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ingest.linking.catalogue_draft import AUTH_KEY, TYPED_RESOURCE, ConsumedValue
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.link_limits import LinkLimits
from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.profiles import ToolProfile

__all__ = ["derive_rp_edges"]

_COMMON_SHARE = 0.3
_AS_BUILT = LinkLimits()


def derive_rp_edges(
    profiles: list[ToolProfile], offers: OutputIndex, limits: LinkLimits = _AS_BUILT
) -> Iterator[DerivedEdge]:
    """The ``supplies`` edges of a catalogue, input by input in its order, the best providers first.

    Inputs that are required, and identifiers that are not, are linked; optional fields deep in a body are not.
    """
    for profile in profiles:
        for need in profile.consumes:
            optional = (need.identifier or limits.optional_values) and "." not in need.parameter
            if need.required or optional:
                yield from _providers(need, profile, offers, limits)


def _providers(
    need: ConsumedValue, asking: ToolProfile, offers: OutputIndex, limits: LinkLimits
) -> Iterator[DerivedEdge]:
    common = _weight(need, offers, limits)
    if common == 0.0:
        return
    best: dict[str, tuple[float, ProducerMatch]] = {}
    for found in offers.find(need, asking):
        if need.key[0] == TYPED_RESOURCE and not limits.resources_across_groups and found.apart:
            continue
        near = _near(need, found, offers)
        confidence = round(need.confidence * found.offer.confidence * found.fit * common * near, 4)
        known = best.get(found.profile.id)
        if confidence >= limits.min_confidence and (known is None or confidence > known[0]):
            best[found.profile.id] = (confidence, found)
    kept = _nearest(best.values()) if limits.nearest_login and need.key == AUTH_KEY else best.values()
    ranked = sorted(kept, key=lambda item: (not item[1].same_system, -item[0], item[1].profile.id))
    for confidence, found in ranked[: limits.max_providers]:
        entity, field = found.offer.key
        yield DerivedEdge(
            source=found.profile.id,
            predicate="supplies",
            target=asking.id,
            parameter=need.parameter,
            output=found.offer.output,
            entity="" if entity == TYPED_RESOURCE else entity,
            field=field,
            confidence=confidence,
        )


def _nearest(found: Collection[tuple[float, ProducerMatch]]) -> Iterator[tuple[float, ProducerMatch]]:
    """Those of the asking tool's own system, where there are; of several those whose names share most with its name."""
    own = [each for each in found if each[1].same_system] or list(found)
    most = max((one.near for _, one in own), default=0.0)
    return (each for each in own if len(own) == 1 or each[1].near >= most > 0)


def _weight(need: ConsumedValue, offers: OutputIndex, limits: LinkLimits) -> float:
    """What the rarity of the key leaves of the confidence; 0 where so many offer it that it tells nothing."""
    count, total = offers.count.get(need.key, 0), offers.tools
    if need.identifier:
        # The entity is known: that many tools speak of it is no doubt, unless nearly all do.
        return 0.8 if total >= 20 and count > _COMMON_SHARE * total else 1.0
    if need.key == AUTH_KEY:
        return 1.0
    if need.key[0] == TYPED_RESOURCE:
        return 0.5 + 0.5 * offers.specificity(need.key)
    share = limits.max_value_share * total if " " in need.key[1] else 0
    if count > max(limits.min_value_providers, share):
        return 0.0
    return 0.4 + 0.6 * offers.specificity(need.key)


def _near(need: ConsumedValue, found: ProducerMatch, offers: OutputIndex) -> float:
    if (
        need.key == AUTH_KEY and offers.count[AUTH_KEY] > 1
    ):  # of several logins only the same application's opens its door
        return 0.4 + 0.6 * found.near
    return 0.85 + 0.15 * found.near
