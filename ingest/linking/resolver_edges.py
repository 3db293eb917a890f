"""Resolver edges: from a tool that needs an identifier of an entity to the tools that turn words into that entity.

The rule was found on the set restbench, where its effect is the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.linking.calibration import calibrated
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.producer_choice import best_producers
from ingest.linking.profiles import ToolProfile
from ingest.linking.supplier_rules import is_nested
from ingest.linking.tool_inputs import ANY_PERSON, PEOPLE
from ingest.linking.tool_values import ConsumedValue, Key

__all__ = ["MAX_RESOLVERS", "derive_resolver_edges"]

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
