"""The query options and filters of an OData resource, as its capabilities allow them."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.sources.odata.csdl import Property
from ingest.sources.odata.fields import ServiceTypes, is_collection
from ingest.sources.odata.resource import Resource
from ontology.tool import Parameter

__all__ = ["MAX_FILTERS", "filters", "projection_options", "query_options"]

#: Maximum number of properties that a query tool can filter by.
MAX_FILTERS = 40


def projection_options(types: ServiceTypes, resource: Resource) -> Iterator[Parameter]:
    """Yield the options that select the properties and related entities of the response."""
    if resource.allows("SelectSupport", "Supported"):
        yield _option("$select", "Properties to return, separated by commas")
    related = [navigation.name for navigation in types.navigations(resource.type)][:MAX_FILTERS]
    if related and resource.allows("ExpandRestrictions", "Expandable"):
        yield _option("$expand", "Related entities to return as well: " + ", ".join(related))


def query_options(types: ServiceTypes, resource: Resource, properties: list[Property]) -> Iterator[Parameter]:
    """Yield the options of a query: filter, search, order, page, projection."""
    names = [p.name for p in _filterable(types, resource, properties)]
    if names:
        yield _option("$filter", "OData filter over: " + ", ".join(names))
    if resource.capability("SearchRestrictions", "Searchable") is True:
        yield _option("$search", "Free text to search for")
    if resource.allows("SortRestrictions", "Sortable"):
        yield _option("$orderby", "Properties to sort by, each with asc or desc")
    if resource.capability("TopSupported") is not False:
        yield _option("$top", "How many records to return at most", "integer")
    if resource.capability("SkipSupported") is not False:
        yield _option("$skip", "How many records to pass over", "integer")
    yield from projection_options(types, resource)


def filters(types: ServiceTypes, resource: Resource, properties: list[Property]) -> list[Property]:
    """Return the properties that are inputs to compare with, without names that the path has."""
    taken = {parameter.name for parameter in resource.inputs}
    return [each for each in _filterable(types, resource, properties) if each.name not in taken]


def _option(name: str, description: str, type_: str = "string") -> Parameter:
    return Parameter(name=name, type=type_, description=description, location="query")


def _filterable(types: ServiceTypes, resource: Resource, properties: list[Property]) -> list[Property]:
    """Return the primitive properties that a filter may use."""
    if not resource.allows("FilterRestrictions", "Filterable"):
        return []
    excluded = resource.capability("FilterRestrictions", "NonFilterableProperties") or ()
    return [
        p
        for p in properties
        if p.filterable
        and p.name not in excluded
        and not is_collection(p.type)
        and p.type != "Edm.Stream"
        and not types.is_structured(p.type)
    ][:MAX_FILTERS]
