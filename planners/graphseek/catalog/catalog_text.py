"""The text of a semantic catalog for a prompt: full, lean or chosen by the question, and never more than a number of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ontology.names import words
from planners.calls.prompt_tokens import PromptTokens
from planners.graphseek.catalog.catalog_lines import full_node, full_relationship, lean_node, lean_relationship
from planners.graphseek.catalog.catalog_words import Named, named_in
from planners.graphseek.catalog.descriptor_faults import cleaned_text
from planners.graphseek.catalog.semantic_catalog import (
    TIME_ROLES,
    NodeDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.stores.graph_schema import GraphSchema, RelationshipType

__all__ = ["MOST_TOKENS", "CatalogForm", "catalog_text"]

CatalogForm: TypeAlias = Literal["full", "lean", "auto"]
MOST_TOKENS = 2_000
"""Of the text: about what the paper gives the whole of its graph (section 3.2)."""
_PLAIN_ROLES = frozenset({*TIME_ROLES, "key", "name"})
# Words that ask for more than a lookup: to rank, to add up, to compare. Found in the questions and use cases of the paper (appendices C, D).
_MORE_THAN_LOOKUP = frozenset(
    "most least highest lowest greatest largest smallest best worst top total sum average mean count many aggregate aggregated "
    "contribution compare cost costs price each per affected impact impacted shortage unavailable blueprint plans".split()
)
_NODES = "Node types:"
_RELATIONSHIPS = "Relationship types:"
_FEW_OWNERS = 5  # of a property: a name that more types have tells none of them
_NAMES_SHARE = 8  # of the tokens, an eighth each are for bare names of types and of relationships
_MARGIN = 24  # tokens of headings, and of the line that says how many types are left out


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
    named = named_in(question, known, schema)
    taken, why = (form, "") if form != "auto" else _chosen_form(named, question, known)
    if taken == "full" and known is not catalog:
        taken, why = "lean", "no accepted catalog"
    items = _items(known, schema, named, is_full=taken == "full")
    counted = count or PromptTokens().count
    about = [cleaned_text(known.about)] if taken == "full" and known.about else []
    fitted, is_whole = _fitted(items, most_tokens - _MARGIN - sum(map(counted, about)), counted)
    lines = [*about, *fitted]
    return CatalogText(
        text="\n".join(lines),
        form=taken,
        why=why if is_whole else "; ".join(filter(None, (why, "what the question does not name is cut"))),
        tokens=sum(map(counted, lines)),
    )


def _chosen_form(named: Named, question: str, catalog: SemanticCatalog) -> tuple[Literal["full", "lean"], str]:
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
    if beside := _asked_beside(looked_up, named, catalog):
        return "full", f"it names a property of {beside} too"
    if more := sorted(_MORE_THAN_LOOKUP & set(words(question))):
        return "full", f"it asks for more than a lookup: {', '.join(more)}"
    return "lean", f"a lookup of {looked_up}"


def _asked_beside(looked_up: str, named: Named, catalog: SemanticCatalog) -> str:
    """Another node type of which the question names a property that the looked-up type has not; properties of time do not count."""
    own = named.properties.get(looked_up, frozenset())
    for name, node in catalog.nodes.items():
        for key in sorted(named.properties.get(name, frozenset()) - own):
            if name != looked_up and key in node.properties and node.properties[key].role not in _PLAIN_ROLES:
                return name
    return ""


def _is_calendar(node: NodeDescriptor) -> bool:
    """Whether a type is a time and nothing else; a question that names one asks when."""
    roles = {each.role for each in node.properties.values()}
    return not roles.isdisjoint(TIME_ROLES) and roles <= _PLAIN_ROLES


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A type in a prompt.

    :param rank: 0: the question names it; 1: beside such a one; 2: any other.
    :param texts: the richest first; one where the form is lean.
    """

    heading: str
    name: str
    rank: int
    texts: tuple[str, ...]


def _items(catalog: SemanticCatalog, schema: GraphSchema, named: Named, *, is_full: bool) -> list[_Item]:
    first = named.own | named.by_words
    ranks = _node_ranks(schema, named, first)
    items = []
    for node in schema.nodes:
        keys = named.properties.get(node.name, frozenset())
        texts = [lean_node(node, keys)]
        if is_full:
            texts.insert(0, full_node(node, catalog.nodes.get(node.name, NodeDescriptor()), keys))
        items.append(_Item(heading=_NODES, name=node.name, rank=ranks[node.name], texts=tuple(texts)))
    for each in schema.relationships:
        keys = named.properties.get(each.name, frozenset())
        texts = [lean_relationship(each, keys)]
        if is_full:
            known = catalog.relationships.get(each.name, RelationshipDescriptor())
            texts.insert(0, full_relationship(each, known, keys))
        rank = 0 if each.name in named.relationships else _relationship_rank(each, first)
        items.append(_Item(heading=_RELATIONSHIPS, name=each.name, rank=rank, texts=tuple(texts)))
    return items


def _node_ranks(schema: GraphSchema, named: Named, first: frozenset[str]) -> dict[str, int]:
    owners = Counter(key for keys in named.properties.values() for key in keys)
    beside = {name for name, keys in named.properties.items() if any(owners[key] <= _FEW_OWNERS for key in keys)}
    for each in schema.relationships:
        for end in each.ends:
            if each.name in named.relationships or first & {end.source, end.target}:
                beside |= {end.source, end.target}
    return {node.name: 0 if node.name in first else 1 if node.name in beside else 2 for node in schema.nodes}


def _relationship_rank(each: RelationshipType, first: frozenset[str]) -> int:
    """0 between two types that the question names, 1 at one of them."""
    return 2 - max(((end.source in first) + (end.target in first) for end in each.ends), default=0)


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
