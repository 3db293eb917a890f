"""Navigation properties and referential constraints of an OData service as declared dependencies of its tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ingest.sources.odata.csdl import Navigation
from ingest.sources.odata.fields import DanglingTypeError, TypeBook
from ingest.sources.odata.resources import Resource
from ontology.tool import Dependency, Tool

__all__ = ["declared"]


def declared(book: TypeBook, resources: Sequence[Resource], tools: Sequence[Tool]) -> dict[str, tuple[Dependency, ...]]:
    """The dependencies of each tool by its id: its own, then those that follow from navigation; only on tools that exist.

    Reading A is related to reading B where A has a navigation property to B; what A contains already says that it needs A. Creating the dependent end of a referential
    constraint needs the key of the other end, which querying that one finds.
    """
    known = {tool.id: tool for tool in tools}
    by_id = {resource.id: resource for resource in resources}
    sets = [resource for resource in resources if not resource.owner and not resource.single]
    counts = Counter(resource.type for resource in sets)
    alone = {resource.type: resource for resource in sets if counts[resource.type] == 1}
    needs: dict[str, list[Dependency]] = {tool.id: list(tool.depends_on) for tool in tools}
    for resource in resources:
        for navigation in _navigations(book, resource):
            target = None if navigation.contained else _target(resource, navigation, by_id, alone)
            if target is not None:
                for source, need in _roads(resource, navigation, target, known):
                    needs[source].append(need)
    return {
        id_: tuple(dict.fromkeys(need for need in found if need.tool in known and need.tool != id_))
        for id_, found in needs.items()
    }


def _navigations(book: TypeBook, resource: Resource) -> list[Navigation]:
    try:
        return book.navigations(resource.type)
    except DanglingTypeError:
        return []


def _target(
    resource: Resource, navigation: Navigation, by_id: dict[str, Resource], alone: dict[str, Resource]
) -> Resource | None:
    """Where a navigation leads: to what it is bound, else to the only set of that type."""
    bound = resource.bindings.get(navigation.name)
    if not bound:
        return alone.get(navigation.type)
    parts = bound.split("/")
    ids = ("_".join(parts[start:]) for start in range(len(parts)))
    return next((by_id[id_] for id_ in ids if id_ in by_id), None)


def _roads(
    resource: Resource, navigation: Navigation, target: Resource, known: dict[str, Tool]
) -> Iterator[tuple[str, Dependency]]:
    reason = f"navigation {navigation.name}"
    here, there = _reader(resource, known), _reader(target, known)
    if here is not None and there is not None:
        inputs = {parameter.name for parameter in here.parameters if parameter.required}
        outputs = {output.name.removeprefix("value[]."): output.name for output in there.returns}
        pairs = [(own, outputs[other]) for own, other in navigation.pairs if own in inputs and other in outputs]
        for own, output in pairs or [("", "")]:
            yield here.id, Dependency(tool=there.id, parameter=own, output=output, reason=reason)
    dependent, principal = (target, resource) if navigation.many else (resource, target)
    creation = known.get(f"create_{dependent.id}")
    if creation is None:
        return
    fields = {parameter.name for parameter in creation.parameters}
    for pair in navigation.pairs:
        own, key = reversed(pair) if navigation.many else pair
        if own in fields:
            output = f"value[].{key}"
            yield creation.id, Dependency(tool=f"query_{principal.id}", parameter=own, output=output, reason=reason)


def _reader(resource: Resource, known: dict[str, Tool]) -> Tool | None:
    return known.get(f"read_{resource.id}") or known.get(f"query_{resource.id}")
