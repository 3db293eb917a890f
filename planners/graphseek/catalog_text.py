"""What prompts say: the texts of files, and of a semantic catalog, full or lean, never more than a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from ontology.files import read_yaml
from ontology.names import noun_lemma, words
from planners.calls.model_text import PromptTokens
from planners.graphseek.catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
    cleaned_text,
)
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType

MOST_TOKENS = 2_000
"""Of the text: about what the paper gives the whole of its graph (section 3.2)."""
_NODES, _RELATIONSHIPS = "Node types:", "Relationship types:"
_NAMES_SHARE = 8  # of the tokens, an eighth each are for bare names of types and of relationships
_MARGIN = 24  # tokens of headings, and of the line that says how many types are left out
_MOST_PROPERTIES = 40  # of a type: a wide table must not crowd out the others
_MOST_PLAIN = 5  # properties without a descriptor beside some with one; schemas of operators list all
_MOST_ENDS = 12
_NO_NODE, _NO_RELATIONSHIP, _NO_PROPERTY = NodeDescriptor(), RelationshipDescriptor(), PropertyDescriptor()


@dataclass(frozen=True, slots=True)
class _Item:
    """A type in a prompt; of its texts the richest comes first.

    :param rank: 0: the question names it; 1: beside such a one; 2: any other.
    """

    heading: str
    name: str
    rank: int
    texts: tuple[str, ...]


def catalog_text(
    catalog: SemanticCatalog,
    schema: GraphSchema,
    question: str = "",
    *,
    form: Literal["full", "lean"] = "full",
    most_tokens: int = MOST_TOKENS,
    count: Callable[[str], int] | None = None,
) -> str:
    """Return the text for a question. Names are those of the schema; a draft adds nothing to them.

    Where all does not fit, the types that the question names come first, then their neighbours, then the rest, as far as there is
    room: described, with their properties, by name, or only counted.

    :param count: tokens of a text; by the tokenizer that is shipped where None.
    """
    is_full, counted = form == "full" and catalog.accepted, count or PromptTokens().count
    about = [cleaned_text(catalog.about)] if is_full and catalog.about else []
    items = _items(catalog if is_full else SemanticCatalog(), schema, _singular(question), is_full=is_full)
    return "\n".join([*about, *_fitted(items, most_tokens - _MARGIN - sum(map(counted, about)), counted)])


def _items(catalog: SemanticCatalog, schema: GraphSchema, question: str, *, is_full: bool) -> list[_Item]:
    def is_named(name: str, said: Iterable[str]) -> bool:
        return any(phrase.strip() and phrase in question for phrase in map(_singular, (name, *said)))

    first = {each.name for each in schema.nodes if is_named(each.name, catalog.nodes.get(each.name, _NO_NODE).words)}
    along = set()
    for each in schema.relationships:
        of = catalog.relationships.get(each.name, _NO_RELATIONSHIP)
        if is_named(each.name, (*of.forward, *of.backward)):
            along.add(each.name)
    beside = set[str]()
    for end, name in ((end, each.name) for each in schema.relationships for end in each.ends):
        if name in along or first & {end.source, end.target}:
            beside |= {end.source, end.target}
    items = []
    for node in schema.nodes:
        lean = f"{cleaned_text(node.name)}({_listed(node.properties)})"
        texts = (full_node(node, catalog.nodes.get(node.name, _NO_NODE)), lean) if is_full else (lean,)
        rank = 0 if node.name in first else 1 if node.name in beside else 2
        items.append(_Item(_NODES, node.name, rank, texts))
    for each in schema.relationships:
        properties = f" {{{_listed(each.properties)}}}" if each.properties else ""
        lean = f"{cleaned_text(each.name)} {_between(each)}{properties}"
        known = catalog.relationships.get(each.name, _NO_RELATIONSHIP)
        rank = 2 - max(((end.source in first) + (end.target in first) for end in each.ends), default=0)
        texts = (full_relationship(each, known), lean) if is_full else (lean,)
        items.append(_Item(_RELATIONSHIPS, each.name, 0 if each.name in along else rank, texts))
    return items


def _fitted(items: Sequence[_Item], most: int, count: Callable[[str], int]) -> list[str]:
    """Return the lines that fit."""
    sizes = [[count(text) for text in item.texts] for item in items]
    levels, listed = dict.fromkeys(range(len(items)), 0), set[int]()
    if sum(size[0] for size in sizes) > most:
        ranked = sorted(range(len(items)), key=lambda at: items[at].rank)
        left, levels = most, {}
        for heading in (_NODES, _RELATIONSHIPS):
            room = most // _NAMES_SHARE
            for at in (at for at in ranked if items[at].heading == heading):
                if (size := count(f"{items[at].name},")) > room:
                    break
                listed.add(at)
                room, left = room - size, left - size
        for rank, level in ((rank, level) for rank in range(3) for level in (1, 0)):
            for at in (at for at in ranked if items[at].rank == rank):
                wanted = min(level, len(sizes[at]) - 1)
                cost = sizes[at][wanted] - (sizes[at][levels[at]] if at in levels else 0)
                if cost <= left:
                    levels[at], left = wanted, left - cost
    lines: list[str] = []
    for heading in (_NODES, _RELATIONSHIPS):
        of_kind = [at for at, item in enumerate(items) if item.heading == heading]
        lines += [heading] if of_kind else []
        lines += [items[at].texts[levels[at]] for at in of_kind if at in levels]
        rest = [cleaned_text(items[at].name) for at in of_kind if at not in levels and at in listed]
        more = len(of_kind) - len(rest) - sum(at in levels for at in of_kind)
        rest += [f"and {more:,} more"] if more else []
        lines += [f"Others: {', '.join(rest)}"] if rest else []
    return lines


def full_node(node: NodeType, known: NodeDescriptor) -> str:
    """Return a node type with what the catalog says of it, and a line for each property."""
    head = cleaned_text(node.name) + _other_words(node.name, known.words)
    return "\n".join((_described(head, known.description), *_property_lines(node.properties, known.properties)))


def full_relationship(each: RelationshipType, known: RelationshipDescriptor) -> str:
    """Return a relationship type with what the catalog says of it, and a line for each property."""
    back = f"; back: {', '.join(map(cleaned_text, known.backward))}" if known.backward else ""
    said = f" ({', '.join(map(cleaned_text, known.forward))}{back})" if known.forward or back else ""
    head = _described(f"{cleaned_text(each.name)} {_between(each)}{said}", known.description)
    return "\n".join((head, *_property_lines(each.properties, known.properties)))


def _between(each: RelationshipType) -> str:
    """Which types it connects: ``A|B -> C``. Which of several pairs there are is in the description."""
    ends = ({end.source for end in each.ends}, {end.target for end in each.ends})
    return " -> ".join("|".join(map(cleaned_text, sorted(names)[:_MOST_ENDS])) for names in ends)


def _property_lines(properties: Sequence[PropertyKey], known: Mapping[str, PropertyDescriptor]) -> list[str]:
    """A line for each property that the catalog says something of; the others stand together in one, or are many and only counted."""
    ordered = sorted(properties, key=lambda each: not known.get(each.name, _NO_PROPERTY).role)[:_MOST_PROPERTIES]
    chosen = [each for each in properties if each in ordered]
    told = {each.name: _property_line(each, known.get(each.name, _NO_PROPERTY)) for each in chosen}
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
    other = _other_words(each.name, known.words)
    told = list(filter(None, (cleaned_text(known.unit), known.role if known.role in ("key", "name") else "")))
    description = "; ".join(filter(None, (known.description, values)))
    if not description and not other and not told:
        return ""
    return _described(f"  {', '.join((f'{cleaned_text(each.name)} {each.type}', *told))}{other}", description)


def _described(head: str, description: str) -> str:
    return f"{head}: {cleaned_text(description)}" if description else head


def _other_words(name: str, said: Iterable[str]) -> str:
    """The words of a catalog that the name does not say itself."""
    found = [cleaned_text(word) for word in said if word not in (name, " ".join(words(name)))]
    return f" ({', '.join(found)})" if found else ""


def _listed(properties: Sequence[PropertyKey]) -> str:
    more = [f"and {len(properties) - _MOST_PROPERTIES} more"] if len(properties) > _MOST_PROPERTIES else []
    return ", ".join([*(f"{cleaned_text(each.name)} {each.type}" for each in properties[:_MOST_PROPERTIES]), *more])


@lru_cache(maxsize=1 << 14)
def _singular(text: str) -> str:
    """The words of a text in the singular, each between blanks."""
    return f" {' '.join(map(noun_lemma, words(text)))} "


def graphseek_prompt(name: str) -> str:
    """Return a prompt of one text, by the name of its file."""
    return str(prompt_parts(name)["text"]).strip()


@cache
def prompt_parts(name: str) -> Mapping[str, Any]:
    """Return the texts of a prompt by their names."""
    parts: Mapping[str, Any] = read_yaml(Path(__file__).parent / "prompts" / f"{name}.yaml")
    return parts
