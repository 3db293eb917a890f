"""What a prompt says of a graph: its schema with the texts of a semantic catalog, never more than a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

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
_MARGIN = 24  # tokens of headings, and of the line that says how many types are left out
_NAMES_SHARE = 8  # of the tokens, an eighth each are for bare names of types and of relationships
_MOST_NAMES = 40  # of types that are not described
_MOST_PROPERTIES = 40  # of a type: a wide table must not crowd out the others
_MOST_PLAIN = 5  # properties without a descriptor beside some with one; schemas of operators list all
_MOST_ENDS = 12
_NO_NODE, _NO_RELATIONSHIP, _NO_PROPERTY = NodeDescriptor(), RelationshipDescriptor(), PropertyDescriptor()


def catalog_text(
    catalog: SemanticCatalog,
    schema: GraphSchema,
    question: str = "",
    *,
    most_tokens: int = MOST_TOKENS,
    count: Callable[[str], int] | None = None,
) -> str:
    """Return the text for a question. Names are those of the schema.

    Where all does not fit, the types that the question names are described first, then the rest, as far as there is room; others stand
    with their properties, by name, or are only counted.

    :param count: tokens of a text; by the tokenizer that is shipped where None.
    """
    count = count or PromptTokens().count
    about = [cleaned_text(catalog.about)] if catalog.about else []
    left = most_tokens - _MARGIN - sum(map(count, about))
    asked = _singular(question)
    types: list[tuple[NodeType | RelationshipType, Sequence[str], str, str]] = []
    for node in schema.nodes:
        of = catalog.nodes.get(node.name, _NO_NODE)
        head = _described(cleaned_text(node.name) + _other_words(node.name, of.words), of.description)
        full = "\n".join((head, *_property_lines(node.properties, of.properties)))
        types.append((node, of.words, full, f"{cleaned_text(node.name)}({_listed(node.properties)})"))
    for each in schema.relationships:
        said = catalog.relationships.get(each.name, _NO_RELATIONSHIP)
        properties = f" {{{_listed(each.properties)}}}" if each.properties else ""
        lean = f"{cleaned_text(each.name)} {_between(each)}{properties}"
        back = f"; back: {', '.join(map(cleaned_text, said.backward))}" if said.backward else ""
        told = f" ({', '.join(map(cleaned_text, said.forward))}{back})" if said.forward or back else ""
        head = _described(f"{cleaned_text(each.name)} {_between(each)}{told}", said.description)
        full = "\n".join((head, *_property_lines(each.properties, said.properties)))
        types.append((each, (*said.forward, *said.backward), full, lean))
    if sum(count(full) for _, _, full, _ in types) > left:
        left -= 2 * (most_tokens // _NAMES_SHARE)
    named = [any(each.strip() and each in asked for each in map(_singular, (of.name, *said))) for of, said, *_ in types]
    chosen: dict[int, str] = {}
    for form in (3, 2):  # first all in few words, then as many as there is room for in full
        for at in sorted(range(len(types)), key=lambda at: not named[at]):
            cost = count(str(types[at][form])) - (count(chosen[at]) if at in chosen else 0)
            if cost <= left:
                chosen[at], left = str(types[at][form]), left - cost
    lines = about
    for heading, kind in (("Node types:", NodeType), ("Relationship types:", RelationshipType)):
        of_kind = [at for at, (owner, *_) in enumerate(types) if isinstance(owner, kind)]
        others = [cleaned_text(types[at][0].name) for at in of_kind if at not in chosen]
        lines += [heading] if of_kind else []
        lines += [chosen[at] for at in of_kind if at in chosen]
        lines += [f"Others: {_shortened(others, most_tokens // _NAMES_SHARE, count)}"] if others else []
    return "\n".join(lines)


def _shortened(names: Sequence[str], most_tokens: int, count: Callable[[str], int]) -> str:
    """As many names as there is room for, and how many more there are."""
    kept: list[str] = []
    for name in names[:_MOST_NAMES]:
        most_tokens -= count(f"{name},")
        if most_tokens < 0:
            break
        kept.append(name)
    more = [f"and {len(names) - len(kept):,} more"] if len(kept) < len(names) else []
    return ", ".join([*kept, *more])


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
    rest = ", ".join([*plain, *([f"and {more} more"] if more else [])])
    return [*filter(None, told.values()), *([f"  {rest}"] if rest else [])]


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
