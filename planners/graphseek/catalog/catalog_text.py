"""The text of a semantic catalog for a prompt: full, lean or chosen by the question, and never more than a number of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from ontology.names import noun_lemma, verb_lemma, words
from planners.calls.model_text import PromptTokens
from planners.graphseek.catalog.catalog import (
    TIME_ROLES,
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
    cleaned_text,
)
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType

CatalogForm: TypeAlias = Literal["full", "lean", "auto"]
MOST_TOKENS = 2_000
"""Of the text: about what the paper gives the whole of its graph (section 3.2)."""
_PLAIN_ROLES = frozenset({*TIME_ROLES, "key", "name"})
# Words that ask for more than a lookup: to rank, to add up, to compare. Found in the questions and use cases of the paper (appendices C, D).
_MORE_THAN_LOOKUP = frozenset(
    "most least highest lowest greatest largest smallest best worst top total sum average mean count many aggregate aggregated "
    "contribution compare cost costs price each per affected impact impacted shortage unavailable blueprint plans".split()
)
# Words of phrases that do not tell one relationship from another.
_FUNCTION_WORDS = frozenset(
    "a an the is are was has have had be by in into at to from of on for with as it and or".split()
)
_NODES = "Node types:"
_RELATIONSHIPS = "Relationship types:"
_FEW_OWNERS = 5  # of a property: a name that more types have tells none of them
_NAMES_SHARE = 8  # of the tokens, an eighth each are for bare names of types and of relationships
_MARGIN = 24  # tokens of headings, and of the line that says how many types are left out
_MOST_PROPERTIES = 40  # of a type: a wide table must not crowd out the others
_MOST_PLAIN = 5  # properties without a descriptor beside some with one; schemas of operators list all
_MOST_ENDS = 12
_NO_NODE, _NO_RELATIONSHIP, _NO_PROPERTY = NodeDescriptor(), RelationshipDescriptor(), PropertyDescriptor()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogText:
    """What a prompt gets.

    :param form: which was taken.
    :param why: why ``auto`` took it, or why the text is less than was asked for; empty otherwise.
    :param tokens: of the text; counted line by line, so at most a few more than at once.
    """

    text: str
    form: Literal["full", "lean"]
    why: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """What a question names, all by names of the schema.

    :param own: node types by their own names: "battery modules"; ``by_words`` those that only words of the catalog lead to: "packs".
    :param relationships: by a phrase of the catalog, or a name's own words, in any form of the verb.
    :param properties: type of nodes or relationships → properties.
    """

    own: frozenset[str]
    by_words: frozenset[str]
    relationships: frozenset[str]
    properties: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def keys(self, name: str) -> frozenset[str]:
        return self.properties.get(name, frozenset())


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
    form: CatalogForm = "auto",
    most_tokens: int = MOST_TOKENS,
    count: Callable[[str], int] | None = None,
) -> CatalogText:
    """Return the text for a question. Names are those of the schema; a draft adds nothing to them.

    Where all does not fit, the types that the question names come first, then their neighbours, then the rest, as far as there is
    room: described, with their properties, by name, or only counted.

    :param count: tokens of a text; by the tokenizer that is shipped where None.
    """
    known = catalog if catalog.accepted else SemanticCatalog()
    named = _named_in(question, known, schema)
    taken, why = (form, "") if form != "auto" else _chosen_form(named, question, known)
    if taken == "full" and known is not catalog:
        taken, why = "lean", "no accepted catalog"
    counted = count or PromptTokens().count
    about = [cleaned_text(known.about)] if taken == "full" and known.about else []
    items = _items(known, schema, named, is_full=taken == "full")
    fitted, is_whole = _fitted(items, most_tokens - _MARGIN - sum(map(counted, about)), counted)
    lines = [*about, *fitted]
    why = why if is_whole else "; ".join(filter(None, (why, "what the question does not name is cut")))
    return CatalogText(text="\n".join(lines), form=taken, why=why, tokens=sum(map(counted, lines)))


def _chosen_form(named: _Named, question: str, catalog: SemanticCatalog) -> tuple[Literal["full", "lean"], str]:
    """Return the form for a question, and why.

    Lean: the question names one node type, by its own name, and asks to look it up. In the paper (section 6.2) Q1, Q8 and Q9 went better
    without descriptors, and the rule was chosen on its 15 industry questions. It takes Q1, Q2 and Q9; Q8 names two types, as Q7 does.
    """
    if not catalog.accepted:
        return "lean", "no accepted catalog"
    types = (named.own | named.by_words) - {name for name, each in catalog.nodes.items() if _is_calendar(each)}
    if len(types) != 1:
        return "full", f"the question names {len(types)} node types"
    if types & named.by_words:
        return "full", "the question names a type by a word of the catalog"
    (looked_up,) = types
    for name, node in catalog.nodes.items():  # a property that only another type has; those of time do not count
        others = [node.properties[key] for key in named.keys(name) - named.keys(looked_up) if key in node.properties]
        if name != looked_up and any(each.role not in _PLAIN_ROLES for each in others):
            return "full", f"it names a property of {name} too"
    if more := sorted(_MORE_THAN_LOOKUP & set(words(question))):
        return "full", f"it asks for more than a lookup: {', '.join(more)}"
    return "lean", f"a lookup of {looked_up}"


def _is_calendar(node: NodeDescriptor) -> bool:
    """Whether a type is a time and nothing else; a question that names one asks when."""
    roles = {each.role for each in node.properties.values()}
    return not roles.isdisjoint(TIME_ROLES) and roles <= _PLAIN_ROLES


def _items(catalog: SemanticCatalog, schema: GraphSchema, named: _Named, *, is_full: bool) -> list[_Item]:
    first = named.own | named.by_words
    owners = Counter(key for keys in named.properties.values() for key in keys)
    beside = {name for name, keys in named.properties.items() if any(owners[key] <= _FEW_OWNERS for key in keys)}
    for each in schema.relationships:
        for end in each.ends:
            if each.name in named.relationships or first & {end.source, end.target}:
                beside |= {end.source, end.target}
    items = []
    for node in schema.nodes:
        keys, described = named.keys(node.name), catalog.nodes.get(node.name, _NO_NODE)
        lean = f"{cleaned_text(node.name)}({_listed(node.properties, keys)})"
        rank = 0 if node.name in first else 1 if node.name in beside else 2
        texts = (full_node(node, described, keys), lean) if is_full else (lean,)
        items.append(_Item(_NODES, node.name, rank, texts))
    for each in schema.relationships:
        keys, known = named.keys(each.name), catalog.relationships.get(each.name, _NO_RELATIONSHIP)
        properties = f" {{{_listed(each.properties, keys)}}}" if each.properties else ""
        lean = f"{cleaned_text(each.name)} {_between(each)}{properties}"
        rank = 2 - max(((end.source in first) + (end.target in first) for end in each.ends), default=0)
        texts = (full_relationship(each, known, keys), lean) if is_full else (lean,)
        items.append(_Item(_RELATIONSHIPS, each.name, 0 if each.name in named.relationships else rank, texts))
    return items


def _fitted(items: Sequence[_Item], most: int, count: Callable[[str], int]) -> tuple[list[str], bool]:
    """Return the lines that fit, and whether everything is there as it was asked for."""
    sizes = [[count(text) for text in item.texts] for item in items]
    if sum(size[0] for size in sizes) <= most:
        return _lines(items, dict.fromkeys(range(len(items)), 0), ()), True
    ranked = sorted(range(len(items)), key=lambda at: items[at].rank)
    left, listed = most, set[int]()
    for heading in (_NODES, _RELATIONSHIPS):
        room = most // _NAMES_SHARE
        for at in (at for at in ranked if items[at].heading == heading):
            size = count(f"{items[at].name},")
            if size > room:
                break
            listed.add(at)
            room, left = room - size, left - size
    levels: dict[int, int] = {}
    for rank in range(3):
        for level in (1, 0):
            for at in (at for at in ranked if items[at].rank == rank):
                wanted = min(level, len(sizes[at]) - 1)
                cost = sizes[at][wanted] - (sizes[at][levels[at]] if at in levels else 0)
                if cost <= left:
                    levels[at], left = wanted, left - cost
    return _lines(items, levels, listed), False


def _lines(items: Sequence[_Item], levels: Mapping[int, int], listed: Collection[int]) -> list[str]:
    lines: list[str] = []
    for heading in (_NODES, _RELATIONSHIPS):
        of_kind = [at for at, item in enumerate(items) if item.heading == heading]
        lines += [heading] if of_kind else []
        lines += [items[at].texts[levels[at]] for at in of_kind if at in levels]
        names = [items[at].name for at in of_kind if at not in levels and at in listed]
        more = len(of_kind) - len(names) - sum(at in levels for at in of_kind)
        rest = [*names, *([f"and {more:,} more"] if more else [])]
        lines += [f"Others: {', '.join(map(cleaned_text, rest))}"] if rest else []
    return lines


def full_node(node: NodeType, known: NodeDescriptor, keys: frozenset[str] = frozenset()) -> str:
    """Return a node type with what the catalog says of it, and a line for each property.

    :param keys: properties that are shown before others, where not all are.
    """
    head = cleaned_text(node.name) + _bracketed(_other_words(node.name, known.words))
    return "\n".join((_described(head, known.description), *_property_lines(node.properties, known.properties, keys)))


def full_relationship(each: RelationshipType, known: RelationshipDescriptor, keys: frozenset[str] = frozenset()) -> str:
    """Return a relationship type with what the catalog says of it, and a line for each property; ``keys`` as for nodes."""
    back = f"; back: {', '.join(map(cleaned_text, known.backward))}" if known.backward else ""
    said = f" ({', '.join(map(cleaned_text, known.forward))}{back})" if known.forward or back else ""
    head = _described(f"{cleaned_text(each.name)} {_between(each)}{said}", known.description)
    return "\n".join((head, *_property_lines(each.properties, known.properties, keys)))


def _between(each: RelationshipType) -> str:
    """Which types it connects: ``A|B -> C``. Which of several pairs there are is in the description."""
    ends = ({end.source for end in each.ends}, {end.target for end in each.ends})
    return " -> ".join("|".join(map(cleaned_text, sorted(names)[:_MOST_ENDS])) for names in ends)


def _property_lines(
    properties: Sequence[PropertyKey], known: Mapping[str, PropertyDescriptor], keys: frozenset[str]
) -> list[str]:
    """A line for each property that the catalog says something of; the others stand together in one, or are many and only counted."""
    chosen = _chosen(properties, {*keys, *(name for name, each in known.items() if each.role)})
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
    other = _bracketed(_other_words(each.name, known.words))
    told = list(filter(None, (cleaned_text(known.unit), known.role if known.role in ("key", "name") else "")))
    description = "; ".join(filter(None, (known.description, values)))
    if not description and not other and not told:
        return ""
    return _described(f"  {', '.join((f'{cleaned_text(each.name)} {each.type}', *told))}{other}", description)


def _described(head: str, description: str) -> str:
    return f"{head}: {cleaned_text(description)}" if description else head


def _bracketed(found: Sequence[str]) -> str:
    return f" ({', '.join(found)})" if found else ""


def _other_words(name: str, said: Iterable[str]) -> list[str]:
    """The words of a catalog that the name does not say itself."""
    return [cleaned_text(word) for word in said if word not in (name, " ".join(words(name)))]


def _listed(properties: Sequence[PropertyKey], keys: frozenset[str]) -> str:
    chosen = [f"{cleaned_text(each.name)} {each.type}" for each in _chosen(properties, keys)]
    more = len(properties) - len(chosen)
    return ", ".join([*chosen, *([f"and {more} more"] if more else [])])


def _chosen(properties: Sequence[PropertyKey], wanted: Collection[str]) -> list[PropertyKey]:
    """At most 40 properties, in the order of the schema: those that are wanted, then the first."""
    ordered = sorted(properties, key=lambda each: each.name not in wanted)[:_MOST_PROPERTIES]
    return [each for each in properties if each in ordered]


def _named_in(question: str, catalog: SemanticCatalog, schema: GraphSchema) -> _Named:
    """Return what a question names. A word may name several things; of types, a part of a longer name that is there does not count."""
    text = _singular(question)
    own, by_words = _named_nodes(text, catalog, schema)
    verbs, relationships = frozenset(map(verb_lemma, words(question))), set[str]()
    found: dict[str, frozenset[str]] = {}
    owners: list[NodeType | RelationshipType] = [*schema.nodes, *schema.relationships]
    for owner in owners:
        described: NodeDescriptor | RelationshipDescriptor = catalog.nodes.get(owner.name, _NO_NODE)
        if isinstance(owner, RelationshipType):
            known = described = catalog.relationships.get(owner.name, _NO_RELATIONSHIP)
            phrases = map(told_words, (owner.name, *known.forward, *known.backward))
            if any(told and told <= verbs for told in phrases):  # in any form and order
                relationships.add(owner.name)
        named = _named_properties(text, owner.properties, described.properties)
        if named:
            found[owner.name] = found.get(owner.name, frozenset()) | named
    return _Named(own=own, by_words=by_words, relationships=frozenset(relationships), properties=found)


def _named_nodes(text: str, catalog: SemanticCatalog, schema: GraphSchema) -> tuple[frozenset[str], frozenset[str]]:
    """The types that are named by their own names, and those that only words of the catalog name."""
    owners: dict[str, set[str]] = {}
    for node in schema.nodes:
        described = catalog.nodes.get(node.name, _NO_NODE)
        for phrase in (node.name, *described.words):
            owners.setdefault(_singular(phrase), set()).add(node.name)
        for name, each in described.properties.items():
            for phrase in (name, *each.words):  # "assembly tier" names no assembly
                owners.setdefault(_singular(phrase), set())
    named = {_singular(node.name) for node in schema.nodes}
    own, by_words = set[str](), set[str]()
    for phrase in sorted(filter(str.strip, owners), key=len, reverse=True):
        if phrase in text:
            text = text.replace(phrase, "  ")
            (own if phrase in named else by_words).update(owners[phrase])
    return frozenset(own), frozenset(by_words - own)


def _named_properties(
    text: str, properties: Iterable[PropertyKey], described: Mapping[str, PropertyDescriptor]
) -> frozenset[str]:
    """The properties that a question names, or a value of which it says; a number may be any number."""
    found = set()
    for each in properties:
        known = described.get(each.name, _NO_PROPERTY)
        values = (value for value in known.values.values() if any(map(str.isalpha, value)))
        phrases = map(_singular, (each.name, *known.words, *known.values, *known.groups, *values))
        if any(phrase.strip() and phrase in text for phrase in phrases):
            found.add(each.name)
    return frozenset(found)


@lru_cache(maxsize=1 << 14)
def told_words(phrase: str) -> frozenset[str]:
    """Return the words of a phrase that tell something, verbs in their base form; none of "of" or "in"."""
    return frozenset(verb_lemma(word) for word in words(phrase) if word not in _FUNCTION_WORDS)


@lru_cache(maxsize=1 << 14)
def _singular(text: str) -> str:
    """The words of a text in the singular, each between blanks."""
    return f" {' '.join(map(noun_lemma, words(text)))} "
