"""Which producers cannot supply a value, and which of the others are nearest to the consumer.

The rules were found by reading edges over EC2, IAM and Lambda (AWS), Compute Engine and Classroom (Google), Microsoft Graph, SAP's business
partner and Airflow.
"""

from __future__ import annotations

from ingest.linking.profiles import ToolProfile
from ingest.linking.resource_names import RESOURCE_NAME
from ingest.linking.tool_values import AUTH_KEY, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue, ProducedValue
from ingest.linking.value_kinds import agreement
from ingest.word_lists import word_list
from ontology.names import noun_lemma, words

__all__ = [
    "is_nested",
    "is_own_new_value",
    "is_owner",
    "is_sibling_reference",
    "kind_fit",
    "missing_scope",
    "needs_value",
    "own_entities",
    "shared_scope",
]

_READS = frozenset(("get", "list", "search"))
_BODY = frozenset(("body", "form"))
_LISTS = frozenset(("update", "list", "search"))
_CREATING = word_list("linking", "creating_verbs")


def needs_value(producer: ToolProfile, consumed: ConsumedValue, produced: ProducedValue) -> bool:
    """Whether a producer must be given the very value that it would supply: no ``RoleName`` from ``GetRolePolicy(RoleName)``."""
    if consumed.key[0] == TYPED_RESOURCE or consumed.key == AUTH_KEY:
        return False
    output = produced.output.rsplit(".", 1)[-1].replace("[]", "").lower()
    needed = producer.needs
    if produced.key in needed.keys or consumed.key in needed.keys:
        return True
    return (
        bool({output, consumed.parameter.rsplit(".", 1)[-1].lower()} & needed.names) and produced.key[0] != PLAIN_VALUE
    )


def is_own_new_value(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether an input is the consumer's own: the key of what it creates, or a filter of a list by the key of its items."""
    if not consumed.identifier or consumed.location == "path":
        return False
    if consumed.is_new or (not consumed.required and consumed.key in consumer.needs.keys):
        return True
    if not any(_same_head(name, consumed.key[0]) for name in own_entities(consumer)):
        return False
    return _makes(consumed, consumer) or (consumer.action in _LISTS and not consumed.required)


def is_sibling_reference(producer: ToolProfile, consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether a value would be copied from an object of the very kind that the consumer makes, changes or sends.

    The network of a new gateway is not that of the gateways there are, nor is the supplier of an invoice that is recorded.
    """
    own = consumer.entities[0] if consumer.entities else consumer.entity
    return (
        (_changes(consumed, consumer) or (_sends(consumed, consumer) and producer.action in _READS))
        and consumed.location != "path"
        and consumed.key[0] != own
        and bool(own)
        and own in (producer.entity, *producer.entities[:1])
    )


def _makes(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether the consumer makes something new; of a function only some verbs say so."""
    return consumer.action == "create" and (bool(consumed.location) or consumer.verb in _CREATING)


def _changes(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    return _makes(consumed, consumer) or (consumer.action == "update" and bool(consumed.location))


def _sends(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether the value is part of what an operation on a path sends: recorded, submitted or booked, as the verb may be."""
    return bool(consumer.path) and consumer.action == "act" and consumed.location in _BODY


def is_owner(producer: ToolProfile, entity: str) -> bool:
    """Whether a tool is about an entity: about it or about a kind of it, as its name or path says."""
    if not entity:
        return False
    return any(_same_head(name, entity) for name in own_entities(producer))


def own_entities(profile: ToolProfile) -> list[str]:
    """Return what a tool is about: the longest name, and a shorter one with the same head noun.

    ``DescribeDBClusterParameters`` is about parameters, not about clusters.
    """
    longest = profile.entities[0] if profile.entities else ""
    names = [longest, profile.entity] if _same_head(longest, profile.entity) else [longest or profile.entity]
    return [name.removesuffix(" id").removesuffix(" name") for name in names if name]


def _same_head(name: str, entity: str) -> bool:
    return name == entity or name.endswith(f" {entity}") or entity.endswith(f" {name}")


def kind_fit(produced: ProducedValue, consumed: ConsumedValue) -> float:
    """Return how well the kinds of two values agree, in [0, 1]."""
    if consumed.key[0] == TYPED_RESOURCE or consumed.key == AUTH_KEY:
        return 1.0
    return agreement(produced.kinds, consumed.kinds)


def is_nested(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether an input is a field of an object that the request rarely speaks of: ``lastModifiedBy.user.id``.

    The fields of an object that has the name of the consumer's own entity are not nested, nor are names of resources.
    """
    if consumed.key[1] == RESOURCE_NAME:
        return consumed.parameter.count(".") > 1
    own = {*consumer.entities, consumer.entity}
    parents = [words(part) for part in consumed.parameter.replace("[]", "").split(".")[:-1]]
    return any(" ".join((*parent[:-1], *map(noun_lemma, parent[-1:]))) not in own for parent in parents)


def shared_scope(producer: ToolProfile, consumer: ToolProfile, consumed: ConsumedValue) -> int:
    """Return the number of other identifiers that both tools need: the events of a group's list for an event of a group."""
    return len((producer.scope & consumer.scope) - {consumed.key[0]})


def missing_scope(producer: ToolProfile, consumer: ToolProfile, consumed: ConsumedValue) -> int:
    """Return the number of identifiers that the producer needs and the consumer does not."""
    return len(producer.scope - consumer.scope - {consumed.key[0]})
