"""Resolver edges: from a tool that needs an identifier of an entity to the tools that turn words into that entity."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.linking.catalogue_draft import ConsumedValue
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.profiles import ToolProfile

__all__ = ["MAX_RESOLVERS", "derive_resolver_edges"]

MAX_RESOLVERS = 3
"""At most so many resolvers are kept for one identifier."""
MIN_CONFIDENCE = 0.12
_OPTIONAL_FROM = 0.8
_WITHOUT_TEXT = 0.45


def derive_resolver_edges(profiles: list[ToolProfile], offers: OutputIndex) -> Iterator[DerivedEdge]:
    """The ``resolved_by`` edges of a catalogue, input by input in its order, the best resolvers first."""
    for profile in profiles:
        for need in profile.consumes:
            # An optional field deep in a body (lastModifiedBy.user.id) is rarely what a request is about.
            asked = need.required or (need.confidence >= _OPTIONAL_FROM and "." not in need.parameter)
            if need.identifier and asked:
                yield from _resolvers(need, profile, offers)


def _resolvers(need: ConsumedValue, asking: ToolProfile, offers: OutputIndex) -> Iterator[DerivedEdge]:
    best: dict[str, tuple[float, ProducerMatch]] = {}
    for found in offers.find(need, asking):
        strength = resolving(found.profile, need.key, listed="[]" in found.offer.output) * found.offer.relevance
        confidence = round(
            need.confidence * found.offer.confidence * found.fit * strength * (0.85 + 0.15 * found.near), 4
        )
        known = best.get(found.profile.id)
        if confidence >= MIN_CONFIDENCE and (known is None or confidence > known[0]):
            best[found.profile.id] = (confidence, found)
    ranked = sorted(best.values(), key=lambda item: (-item[0], item[1].profile.id))
    for confidence, found in ranked[:MAX_RESOLVERS]:
        yield DerivedEdge(
            source=asking.id,
            predicate="resolved_by",
            target=found.profile.id,
            parameter=need.parameter,
            output=found.offer.output,
            entity=found.offer.key[0],
            field=found.offer.key[1],
            confidence=confidence,
        )


def resolving(profile: ToolProfile, key: tuple[str, str], *, listed: bool) -> float:
    """How well a tool turns words into an entity, in [0, 1]: a search well, a query with a text filter less, a plain list poorly.

    :param listed: whether it gives the entity in a list: a get that does is a list.
    """
    identified = [need for need in profile.consumes if need.identifier and need.required]
    if any(need.key == key for need in identified):
        return 0.0
    # It must first be told an identifier of something else: words alone do not reach it.
    reach = 0.5 ** min(len(identified), 2)
    if profile.action == "search":
        return reach * (0.7 + 0.3 * profile.free_text if profile.free_text else _WITHOUT_TEXT)
    if profile.action in ("list", "get"):
        if profile.free_text:
            return reach * (0.55 + 0.3 * profile.free_text)
        return _WITHOUT_TEXT * reach if (listed or profile.action == "list") and not identified else 0.0
    return 0.0
