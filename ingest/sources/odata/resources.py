"""The resources of an OData service: entity sets, singletons, what they contain, and collections that they are linked with.

A contained entity may contain others, up to :data:`MAX_NESTING` levels. Entities below the first level, and those behind a
navigation property that does not contain them, are read only: their tools find and read them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ingest.sources.odata.types import VERBS, Navigation, Property, Resource, Service, StructuredType
from ingest.sources.prose import name_words
from ingest.sources.source import as_list
from ontology.errors import DocumentError
from ontology.tool import Dependency

# Names of keys, in lower case, that do not say of what they are the key
GENERIC_KEYS = frozenset({"id", "key", "name", "code", "guid", "uuid", "number"})
#: Maximum number of navigation properties with tools, in one document; the deepest are left out first.
MAX_CONTAINED = 2_000
#: Maximum number of levels of containment below an entity set.
MAX_NESTING = 4

_NO_TYPE = StructuredType(name="")


def named_keys(keys: Sequence[Property], noun: str, taken: Collection[str], other: str) -> list[Property]:
    """The keys of an entity under the names of the inputs of what lies below it: a generic one (``id``), and one whose name
    is taken, has the name of the entity before it, or else ``other``."""
    found: list[Property] = []
    for key in keys:
        name = key.name
        if name.lower() in GENERIC_KEYS or name in taken:
            name = f"{noun.replace(' ', '_')}_{name}"
        name = f"{other}_{key.name}" if name in taken else name
        found.append(replace(key, name=name, required=True, description=key.description or f"{key.name} of the {noun}"))
    return found


def key_path(path: str, keys: Sequence[Property], named: Sequence[Property]) -> str:
    """The path of one entity of a collection by its keys, which inputs of these names have."""
    if len(keys) == 1:
        return f"{path}({{{named[0].name}}})"
    return f"{path}({','.join(f'{key.name}={{{each.name}}}' for key, each in zip(keys, named, strict=True))})"


def key_dependencies(
    resource: Resource, keys: Sequence[Property], named: Sequence[Property], reason: str
) -> tuple[Dependency, ...]:
    """Return one dependency for each key: the query tool of a resource returns the value of an input."""
    return tuple(
        Dependency(tool=f"query_{resource.id}", parameter=each.name, output=f"value[].{key.name}", reason=reason)
        for key, each in zip(keys, named, strict=True)
    )


def find_resources(types: Service) -> tuple[list[Resource], list[Resource], list[str]]:
    """Return entity sets and singletons, each before what it contains directly; linked collections and what is
    contained deeper; and the ids of those left out because of :data:`MAX_CONTAINED`. Below the first level, each
    navigation property of a type is followed once, where it is nearest to an entity set."""
    found: list[Resource] = []
    level: list[Resource] = []
    followed: set[tuple[str, str]] = set()

    def below(owner: Resource, contained: bool, *verbs: str) -> list[Resource]:
        """What an entity contains, or is linked with; nothing where a type is not defined, which rejects the tools of the owner."""
        try:
            made = [
                _below(types, owner, link, verbs)
                for link in types.navigations(owner.type)
                if not (owner.owner and (owner.type, link.name) in followed)
                and (link.contained if contained else _is_linked(types, owner, link))
            ]
        except DocumentError:
            return []
        followed.update((owner.type, each.name) for each in made)
        return made

    for set_ in types.sets:
        type_ = types.types.get(set_.type, _NO_TYPE)
        owner = replace(
            set_,
            label=set_.label or type_.label,
            description=set_.description or type_.description,
            limits=(*set_.limits, type_.annotations),
        )
        direct = below(owner, True, *VERBS)
        found += [owner, *direct]
        level += direct
    nested = [replace(each, linked=True) for owner in found for each in below(owner, False, "query")]
    for _ in range(MAX_NESTING - 1):
        level = [each for owner in level for each in below(owner, True, "query", "read")]
        nested += level
    taken = {each.id for each in found}
    nested = [each for each in nested if each.id not in taken]
    left_out = {each.id for each in [each for each in (*found, *nested) if each.owner][MAX_CONTAINED:]}
    kept = ([each for each in part if each.id not in left_out] for part in (found, nested))
    return *kept, sorted(left_out)  # type: ignore[return-value]


def _is_linked(types: Service, owner: Resource, link: Navigation) -> bool:
    """Whether a link leads to a collection that no filter on its own set finds as well, by a key in both types."""
    if not link.many or link.contained or link.type not in types.types:
        return False
    if not (link.name in owner.bindings or link.target):
        return True
    keys = {key.name for type_ in (owner.type, link.type) for key in types.keys(type_)}
    own, theirs = ({each.name for each in types.properties(type_)} for type_ in (owner.type, link.type))
    return not link.pairs and all(name.lower() in GENERIC_KEYS for name in keys & own & theirs)


def _below(types: Service, owner: Resource, link: Navigation, verbs: tuple[str, ...]) -> Resource:
    keys = [] if owner.single else types.keys(owner.type)
    named = named_keys(keys, owner.noun, owner.taken, owner.name)
    for key in keys:
        types.value(key)  # raises for a type that is not defined
    type_ = types.types.get(link.type, _NO_TYPE)
    described = link.annotations.get("Core.Description")
    rows = as_list(owner.capability("NavigationRestrictions", "RestrictedProperties"))
    own_rows = (row for row in rows if isinstance(row, Mapping) and row.get("NavigationProperty") == link.name)
    restricted = [{f"Capabilities.{term}": value for term, value in row.items()} for row in own_rows]
    return Resource(
        id=f"{owner.id}_{link.name}",
        type=link.type,
        name=link.name,
        path=f"{key_path(owner.path, keys, named) if keys else owner.path}/{link.name}",
        single=not link.many,
        label=type_.label,
        description=described if isinstance(described, str) else type_.description,
        owner=name_words(owner.name) if owner.single else owner.noun,
        owner_keys=(*owner.owner_keys, *named),
        depends_on=(*owner.depends_on, *key_dependencies(owner, keys, named, f"contained in {owner.id}")),
        bindings={},
        limits=(*restricted, link.annotations, type_.annotations),
        verbs=verbs,
    )
