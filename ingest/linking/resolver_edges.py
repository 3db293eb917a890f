"""Resolver edges: from a tool that needs an identifier of an entity to the tools that turn words into that entity."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.linking.catalogue_draft import Need
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.output_index import Found, Offers
from ingest.linking.profiles import Profile

__all__ = ["MAX_RESOLVERS", "resolves"]

MAX_RESOLVERS = 3
"""At most so many resolvers are kept for one identifier."""
MIN_CONFIDENCE = 0.12
_OPTIONAL_FROM = 0.8
_WITHOUT_TEXT = 0.45


def resolves(profiles: list[Profile], offers: Offers) -> Iterator[DerivedEdge]:
    """The ``resolved_by`` edges of a catalogue, input by input in its order, the best resolvers first."""
    for profile in profiles:
        for need in profile.needs:
            # An optional field deep in a body (lastModifiedBy.user.id) is rarely what a request is about.
            asked = need.required or (need.confidence >= _OPTIONAL_FROM and "." not in need.parameter)
            if need.identifier and asked:
                yield from _resolvers(need, profile, offers)


def _resolvers(need: Need, asking: Profile, offers: Offers) -> Iterator[DerivedEdge]:
    best: dict[str, tuple[float, Found]] = {}
    for found in offers.find(need, asking):
        strength = resolving(found.profile, need.key, listed="[]" in found.offer.output) * found.offer.belongs
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


def resolving(profile: Profile, key: tuple[str, str], *, listed: bool) -> float:
    """How well a tool turns words into an entity, in [0, 1]: a search well, a query with a text filter less, a plain list poorly.

    :param listed: whether it gives the entity in a list: a get that does is a list.
    """
    identified = [need for need in profile.needs if need.identifier and need.required]
    if any(need.key == key for need in identified):
        return 0.0
    # It must first be told an identifier of something else: words alone do not reach it.
    reach = 0.5 ** min(len(identified), 2)
    if profile.action == "search":
        return reach * (0.7 + 0.3 * profile.asks if profile.asks else _WITHOUT_TEXT)
    if profile.action in ("list", "get"):
        if profile.asks:
            return reach * (0.55 + 0.3 * profile.asks)
        return _WITHOUT_TEXT * reach if (listed or profile.action == "list") and not identified else 0.0
    return 0.0
