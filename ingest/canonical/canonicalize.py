"""Canonicalise raw triples: one name for each object, one type for each name; and the aliases of systems.

Tools are never changed. Every surface form is returned with its count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ingest.extract.extractor import RejectedTriple
from ingest.graph import HEAD, PREDICATE, TAIL, TripleTable, node_key
from ontology.names import canonical_name, verb_lemma
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.tool_graph import Aliases, Triple


@dataclass(frozen=True, kw_only=True)
class Canonicalization:
    """The result of canonicalisation.

    :param triples: canonical triples in the order of the raw ones; triples with equal keys are not merged.
    :param surface_forms: map from node key (``type:name``) to ``(form, count)``, most frequent first; sorted by key.
    :param rejected: triples that merging made a ``self-loop``.
    """

    triples: TripleTable
    surface_forms: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    rejected: tuple[RejectedTriple, ...] = ()


_Node: TypeAlias = tuple[str, str]
"""``(type, name)``"""
_SPELLED_TYPES = ("business_object", "capability")


def canonicalize(triples: Iterable[Triple], ontology: Ontology) -> Canonicalization:
    """Make names and types of valid triples of the catalogue canonical, from any extractor."""
    raw = TripleTable.of(triples)
    columns, texts = raw.columns.copy(), raw.texts
    ends_2N = columns[[HEAD, TAIL]]
    counts = np.bincount(ends_2N.ravel(), minlength=len(raw.ends)).tolist()
    read = [(*end, count) for end, count in zip(raw.ends, counts, strict=True) if count]
    named = {(kind, text): (kind, _named(kind, text, ontology.abbreviations)) for kind, text, _ in read}

    numbers: dict[_Node, int] = {}
    node_of = {end: numbers.setdefault(node, len(numbers)) for end, node in named.items()}
    node_E = np.asarray([node_of.get(end, 0) for end in raw.ends], dtype=np.int64)
    nodes: Counter[_Node] = Counter()
    for kind, text, count in read:
        nodes[named[kind, text]] += count if kind != "tool" else 0
    types = _one_type(nodes, _edges(node_E[ends_2N], columns[PREDICATE], list(numbers), texts), ontology)

    # Of names with the same letters and digits (``e mail``, ``email``) the most frequent one stays, ties in alphabetical order.
    spelled: Counter[_Node] = Counter()
    for (kind, name), count in nodes.items():
        kind = types.get((kind, name), kind)
        if name and kind in _SPELLED_TYPES:
            spelled[kind, name] += count
    spellings: dict[tuple[str, ...], str] = {}
    for kind, name in sorted(spelled, key=lambda node: (-spelled[node], node)):
        spellings.setdefault(_spelling(kind, name), name)

    final: dict[_Node, int] = {}
    final_F = []
    for kind, name in numbers:
        kind = types.get((kind, name), kind)
        name = spellings.get(_spelling(kind, name), name) if (kind, name) in spelled else name
        final_F.append(final.setdefault((kind, name), len(final)))
    columns[HEAD], columns[TAIL] = np.asarray([*final_F, 0], dtype=np.int32)[node_E][ends_2N]
    table = TripleTable(list(final), texts, columns, raw.confidences)
    rejected = dict(_rejected(raw, table))
    kept_N = np.ones(len(table), dtype=np.bool_)
    kept_N[list(rejected)] = False
    forms: dict[_Node, Counter[str]] = defaultdict(Counter)
    for kind, text, count in read:
        node = table.ends[final_F[node_of[kind, text]]]
        if node[1] and kind != "tool":
            forms[node][text] += count
    return Canonicalization(
        triples=table.chosen(kept_N),
        surface_forms={
            node_key(*node): tuple(sorted(forms[node].items(), key=lambda form: (-form[1], form[0])))
            for node in sorted(forms)
        },
        rejected=tuple(rejected.values()),
    )


def _spelling(kind: str, name: str) -> tuple[str, ...]:
    return kind, name.replace(" ", ""), *re.findall(r"\d+", name)


def _rejected(raw: TripleTable, table: TripleTable) -> Iterator[tuple[int, RejectedTriple]]:
    """Yield the number and the reason of each triple whose ends have become one node."""
    for at in np.flatnonzero(table.columns[HEAD] == table.columns[TAIL]).tolist():
        kind, name = table.ends[int(table.columns[HEAD, at])]
        yield at, RejectedTriple(raw[at], "self-loop", f"both ends became the {kind} {name!r}")


def _edges(
    ends_2N: NDArray[np.int64], predicates_N: NDArray[np.int32], nodes: Sequence[_Node], texts: Sequence[str]
) -> Iterator[tuple[_Node, str, _Node]]:
    """Yield the distinct edges with a node whose name has several types."""
    named = Counter(name for _, name in nodes)
    shared_F = np.asarray([named[name] > 1 for _, name in nodes], dtype=np.bool_)
    wanted = shared_F[ends_2N].any(axis=0)
    codes = ends_2N[0, wanted] * len(texts) + predicates_N[wanted]
    for code in np.unique(codes * len(nodes) + ends_2N[1, wanted]).tolist():
        rest, tail = divmod(code, len(nodes))
        yield nodes[rest // len(texts)], texts[rest % len(texts)], nodes[tail]


# Names.

_NAME_SEPARATORS = frozenset(" _-./,:;'’()[]&")


def _named(kind: str, text: str, expansions: Mapping[str, str]) -> str:
    if kind == "tool":
        return text
    if kind == "value":  # abbreviations are not expanded (``AR`` may be Argentina); with symbols, only in lower case
        stripped = " ".join(text.split())
        is_named = all(letter.isalnum() or letter in _NAME_SEPARATORS for letter in stripped)
        return canonical_name(stripped) if is_named and any(map(str.isalpha, stripped)) else stripped.casefold()
    name = canonical_name(text, expansions)
    verb, _, rest = name.partition(" ")
    return f"{verb_lemma(verb)} {rest}" if kind == "capability" and rest else name


# Types.


def _one_type(
    counts: Mapping[_Node, int], edges: Iterable[tuple[_Node, str, _Node]], ontology: Ontology
) -> dict[_Node, str]:
    """Map from each node whose type changes to its new type: the most frequent one of its name, then by alphabet. Types
    that documents declare (a department "sales") never change, nor one with whose new type a valid triple is none."""
    fixed = {"tool", "parameter", "value"}
    fixed.update(kind for one in ontology.predicates.values() if one.metadata for kind in one.range)
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, name), count in counts.items():
        if kind not in fixed:
            by_name[name][kind] += count
    changes: dict[_Node, str] = {}
    for name, types in by_name.items():
        chosen = min(types, key=lambda candidate: (-types[candidate], candidate))
        changes.update(((kind, name), chosen) for kind in types if kind != chosen)
    valid = [
        edge
        for edge in edges
        if (edge[0] in changes or edge[2] in changes) and ontology.allows(edge[0][0], edge[1], edge[2][0])
    ]
    while True:
        invalid = {
            node
            for head, predicate, tail in valid
            if not ontology.allows(changes.get(head, head[0]), predicate, changes.get(tail, tail[0]))
            for node in (head, tail)
            if node in changes
        }
        if not invalid:
            return changes
        for node in invalid:
            del changes[node]


def system_aliases(
    tools: Sequence[Tool],
    triples: Iterable[Triple],
    given: Mapping[str, Sequence[str]],
    *,
    abbreviations: Mapping[str, str] = {},
) -> dict[str, Aliases]:
    """Map from the node key of each system to the aliases that its owner gives, with their origin; one that several systems are given names each.

    :param triples: the canonical triples of the tools.
    :param given: map from namespace to the aliases that its owner gives.
    :param abbreviations: map from abbreviation to expansion in the whole catalogue.
    """
    namespaces = {tool.id: tool.namespace for tool in tools if given.get(tool.namespace)}
    table, found = TripleTable.of(triples), defaultdict[str, set[str]](set)
    is_system_E = np.asarray([kind == "system" for kind, _ in table.ends], dtype=np.bool_)
    for one in table.chosen(is_system_E[table.columns[TAIL]]) if namespaces else ():
        names = (canonical_name(alias, abbreviations) for alias in given.get(namespaces.get(one.head, ""), ()))
        found[node_key("system", one.tail)].update(name for name in names if name not in ("", one.tail))
    return {key: tuple((alias, "sources file") for alias in sorted(names)) for key, names in found.items() if names}
