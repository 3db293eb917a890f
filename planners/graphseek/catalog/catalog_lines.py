"""How types and properties stand in a prompt: full, with what the catalog says of them, or lean, with names and types of values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ontology.names import words
from planners.graphseek.catalog.descriptor_faults import cleaned_text
from planners.graphseek.catalog.semantic_catalog import NodeDescriptor, PropertyDescriptor, RelationshipDescriptor
from planners.stores.graph_schema import NodeType, PropertyKey, RelationshipType

__all__ = ["full_node", "full_relationship", "lean_node", "lean_relationship"]

_MOST_PROPERTIES = 40  # of a type: a wide table must not crowd out the others
_MOST_PLAIN = 5  # properties without a descriptor beside some with one; schemas of operators list all
_MOST_ENDS = 12
_SHOWN_ROLES = {"key": "key", "name": "name"}


def lean_node(node: NodeType, keys: frozenset[str]) -> str:
    """Return a node type with the names and types of its properties.

    :param keys: properties that are shown before others, where not all are.
    """
    return f"{cleaned_text(node.name)}({_listed(node.properties, keys)})"


def lean_relationship(each: RelationshipType, keys: frozenset[str]) -> str:
    """Return a relationship type with its ends, and the names and types of its properties.

    :param keys: properties that are shown before others, where not all are.
    """
    properties = f" {{{_listed(each.properties, keys)}}}" if each.properties else ""
    return f"{cleaned_text(each.name)} {_between(each)}{properties}"


def full_node(node: NodeType, known: NodeDescriptor, keys: frozenset[str]) -> str:
    """Return a node type with what the catalog says of it, and a line for each property."""
    words_said = _other_words(node.name, known.words)
    head = cleaned_text(node.name) + (f" ({', '.join(words_said)})" if words_said else "")
    return "\n".join((_described(head, known.description), *_property_lines(node.properties, known.properties, keys)))


def full_relationship(each: RelationshipType, known: RelationshipDescriptor, keys: frozenset[str]) -> str:
    """Return a relationship type with what the catalog says of it, and a line for each property."""
    back = f"; back: {', '.join(map(cleaned_text, known.backward))}" if known.backward else ""
    said = f" ({', '.join(map(cleaned_text, known.forward))}{back})" if known.forward or back else ""
    head = f"{cleaned_text(each.name)} {_between(each)}{said}"
    return "\n".join((_described(head, known.description), *_property_lines(each.properties, known.properties, keys)))


def _between(each: RelationshipType) -> str:
    """Which types it connects: ``A|B -> C``. Which of several pairs there are is in the description."""
    sources = "|".join(map(cleaned_text, sorted({end.source for end in each.ends})[:_MOST_ENDS]))
    targets = "|".join(map(cleaned_text, sorted({end.target for end in each.ends})[:_MOST_ENDS]))
    return f"{sources} -> {targets}"


def _property_lines(
    properties: Sequence[PropertyKey], known: Mapping[str, PropertyDescriptor], keys: frozenset[str]
) -> list[str]:
    """A line for each property that the catalog says something of; the others stand together in one, or are many and only counted."""
    nothing = PropertyDescriptor()
    chosen = _chosen(properties, {*keys, *(name for name, each in known.items() if each.role)})
    told = {each.name: _property_line(each, known.get(each.name, nothing)) for each in chosen}
    plain = [f"{cleaned_text(each.name)} {each.type}" for each in chosen if not told[each.name]]
    if any(told.values()) and len(plain) > _MOST_PLAIN:
        plain = []
    more = len(properties) - len(plain) - sum(map(bool, told.values()))
    rest = [*plain, *([f"and {more} more"] if more else [])]
    return [*filter(None, told.values()), *([f"  {', '.join(rest)}"] if rest else [])]


def _property_line(each: PropertyKey, known: PropertyDescriptor) -> str:
    """What the catalog says of a property; empty where that is nothing."""
    said: dict[str, list[str]] = {}
    for phrase, value in known.values.items():
        if phrase.lower() != value.lower():
            said.setdefault(cleaned_text(value), []).append(cleaned_text(phrase))
    for phrase, group in known.groups.items():
        said.setdefault(" or ".join(map(cleaned_text, group)), []).append(cleaned_text(phrase))
    values = "; ".join(f"{'/'.join(phrases)} = {value}" for value, phrases in said.items())
    other = f" ({', '.join(found)})" if (found := _other_words(each.name, known.words)) else ""
    told = list(filter(None, (cleaned_text(known.unit), _SHOWN_ROLES.get(known.role, ""))))
    description = "; ".join(filter(None, (known.description, values)))
    if not description and not other and not told:
        return ""
    return _described(f"  {', '.join((f'{cleaned_text(each.name)} {each.type}', *told))}{other}", description)


def _described(head: str, description: str) -> str:
    return f"{head}: {cleaned_text(description)}" if description else head


def _other_words(name: str, said: Iterable[str]) -> list[str]:
    """The words of a catalog that the name does not say itself."""
    own = " ".join(words(name))
    return [cleaned_text(word) for word in said if word not in (name, own)]


def _listed(properties: Sequence[PropertyKey], keys: frozenset[str]) -> str:
    chosen = [f"{cleaned_text(each.name)} {each.type}" for each in _chosen(properties, keys)]
    more = len(properties) - len(chosen)
    return ", ".join([*chosen, *([f"and {more} more"] if more else [])])


def _chosen(properties: Sequence[PropertyKey], wanted: Collection[str]) -> list[PropertyKey]:
    """At most 40 properties, in the order of the schema: those that are wanted, then the first."""
    ordered = sorted(properties, key=lambda each: each.name not in wanted)[:_MOST_PROPERTIES]
    return [each for each in properties if each in ordered]
