"""Convert navigation properties and referential constraints of an OData service to declared dependencies of its tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ingest.sources.odata.csdl import Navigation
from ingest.sources.odata.fields import ServiceTypes
from ingest.sources.odata.resource import Resource
from ontology.errors import DocumentError
from ontology.tool import Dependency, Tool

__all__ = ["declared_dependencies"]


class _DependencyOf(NamedTuple):
    """A dependency and the id of the tool that has it."""

    tool: str
    dependency: Dependency


def declared_dependencies(
    types: ServiceTypes, resources: Sequence[Resource], tools: Sequence[Tool]
) -> dict[str, tuple[Dependency, ...]]:
    """Map from tool id to dependencies: the tool's own, then those from navigation properties; only on existing tools.

    The tool that reads A depends on the tool that reads B when A has a navigation property to B. Contained resources are left out:
    they already depend on their owner. A tool that creates the dependent end of a referential constraint needs the key of the
    principal end, so it depends on the query tool of that end.
    """
    known = {tool.id: tool for tool in tools}
    by_id = {resource.id: resource for resource in resources}
    sets = [resource for resource in resources if not resource.owner and not resource.single]
    counts = Counter(resource.type for resource in sets)
    only_sets = {resource.type: resource for resource in sets if counts[resource.type] == 1}
    found: dict[str, list[Dependency]] = {tool.id: list(tool.depends_on) for tool in tools}
    for resource in resources:
        for navigation in _navigations(types, resource):
            target = None if navigation.contained else _target(resource, navigation, by_id, only_sets)
            if target is not None:
                for tool, dependency in _dependencies(resource, navigation, target, known):
                    found[tool].append(dependency)
    return {
        id_: tuple(dict.fromkeys(one for one in dependencies if one.tool in known and one.tool != id_))
        for id_, dependencies in found.items()
    }


def _navigations(types: ServiceTypes, resource: Resource) -> list[Navigation]:
    try:
        return types.navigations(resource.type)
    except DocumentError:
        return []


def _target(
    resource: Resource,
    navigation: Navigation,
    by_id: Mapping[str, Resource],
    only_sets: Mapping[str, Resource],
) -> Resource | None:
    """Return the target resource of a navigation property: the bound one, else the only set of that type, else None."""
    bound = resource.bindings.get(navigation.name)
    if not bound:
        return only_sets.get(navigation.type)
    parts = bound.split("/")
    ids = ("_".join(parts[start:]) for start in range(len(parts)))
    return next((by_id[id_] for id_ in ids if id_ in by_id), None)


def _dependencies(
    resource: Resource, navigation: Navigation, target: Resource, known: Mapping[str, Tool]
) -> Iterator[_DependencyOf]:
    reason = f"navigation {navigation.name}"
    consumer, producer = _reader(resource, known), _reader(target, known)
    if consumer is not None and producer is not None:
        inputs = {parameter.name for parameter in consumer.parameters if parameter.required}
        outputs = {output.name.removeprefix("value[]."): output.name for output in producer.returns}
        pairs = [(own, outputs[other]) for own, other in navigation.pairs if own in inputs and other in outputs]
        for own, output in pairs or [("", "")]:
            found = Dependency(tool=producer.id, parameter=own, output=output, reason=reason, required=bool(own))
            yield _DependencyOf(consumer.id, found)
    dependent, principal = (target, resource) if navigation.many else (resource, target)
    creation = known.get(f"create_{dependent.id}")
    fields = {parameter.name for parameter in creation.parameters} if creation else set()
    for pair in navigation.pairs:
        own, key = reversed(pair) if navigation.many else pair
        if creation is not None and own in fields:
            dependency = Dependency(tool=f"query_{principal.id}", parameter=own, output=f"value[].{key}", reason=reason)
            yield _DependencyOf(creation.id, dependency)


def _reader(resource: Resource, known: Mapping[str, Tool]) -> Tool | None:
    return known.get(f"read_{resource.id}") or known.get(f"query_{resource.id}")
