"""Derive all edges between the tools of a catalogue: what fills an input, what finds an identifier by words, what must be called before."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ingest.linking.derived_edge import NO_LINKS, DeclaredLinks, DerivedEdge
from ingest.linking.edges import OutputIndex, derive_resolver_edges, derive_rp_edges
from ingest.linking.profiles import profile_tools
from ingest.linking.subjects import local_name
from ingest.linking.values import AUTH_KEY
from ingest.word_lists import word_patterns
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

_STATED, _SIGN_IN = 0.8, 0.9
"""Confidence that a stated state is brought about by the tool of its name, and that a login is needed."""
_MAX_TOOLS = 2
"""Where more tools bring the same state about, none of them is the one that is meant."""
_MAX_CHARS = 4_000
_ARTICLES = ("the", "a", "an", "your", "if", "when", "that", "it")
_PRECONDITIONS = [
    (frozenset(verbs.split()), re.compile(pattern))
    for verbs, _, pattern in (row.partition(" | ") for row in word_patterns("linking", "preconditions"))
]


class Links(NamedTuple):
    """The derived edges of a catalogue, and the context parameters: a map from tool id to their names."""

    edges: list[DerivedEdge]
    context: Mapping[str, tuple[str, ...]]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> list[DerivedEdge]:
    """Return the edges of a catalogue in which nothing is declared, as :func:`derive_links` does."""
    return derive_links(tools, ontology).edges


def derive_links(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> Links:
    """Return the edges of a catalogue and its context parameters: the ``supplies`` edges, then ``resolved_by``, then ``depends_on``.

    Time and memory grow linearly with the number of parameters, not with the number of tool pairs.

    :param declared: what the owner of the catalogue declares beside its documents.
    """
    profiles = profile_tools(tools, ontology, declared)
    index = OutputIndex(profiles)
    supplied = list(derive_rp_edges(profiles, index))
    stated = [*_stated_preconditions(tools), *declared.preconditions]
    known = {(edge.source, edge.target) for edge in stated}
    logins = (edge for edge in _logins(tools, supplied) if (edge.source, edge.target) not in known)
    edges = [*supplied, *derive_resolver_edges(profiles, index), *stated, *logins]
    return Links(edges, {profile.id: profile.context for profile in profiles if profile.context})


def required_states(tool: Tool) -> str:
    """Return a text of what links read of the description of a tool. They depend on that and on all else of the tools but their schemas,
    which repeat the parameters; so do the shapes of values.
    """
    return "\n".join(f"{name} {sorted(verbs)}" for name, verbs in _stated(tool.description))


def _stated_preconditions(tools: Sequence[Tool]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges for states that descriptions require, in the order of ``tools``."""
    setters: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for tool in tools:
        verb, *rest = words(local_name(tool)) or [""]
        if rest:
            setters[tool.namespace, _state_name(rest)].append((verb, tool.id))
    for tool in tools:
        seen: set[str] = set()
        for name, verbs in _stated(tool.description):
            found = sorted(setters.get((tool.namespace, name), ()), key=lambda each: each[0])
            ids = [id_ for verb, id_ in found if verb in verbs and id_ != tool.id]
            for id_ in ids if len(ids) <= _MAX_TOOLS else ():
                if id_ not in seen:
                    seen.add(id_)
                    yield DerivedEdge.precondition(tool.id, id_, name, _STATED)


def _stated(description: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the canonical name of each state that a description requires, and the verbs that bring it about."""
    text = " ".join(description[:_MAX_CHARS].lower().split())
    for verbs, pattern in _PRECONDITIONS:
        for match in pattern.finditer(text):
            tokens = words(match["state"])
            while tokens and tokens[0] in _ARTICLES:
                tokens = tokens[1:]
            if tokens:
                yield _state_name(tokens), verbs


def _state_name(tokens: Sequence[str]) -> str:
    return " ".join((*tokens[:-1], noun_lemma(tokens[-1])))


def _logins(tools: Sequence[Tool], supplied: Iterable[DerivedEdge]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges from each tool that requires a session to the only tool that opens it, in order of ``tools``."""
    by_input: dict[tuple[str, str], list[DerivedEdge]] = defaultdict(list)
    for edge in supplied:
        if (edge.entity, edge.field) == AUTH_KEY:
            by_input[edge.target, edge.parameter].append(edge)
    for tool in tools:
        for parameter in tool.parameters:
            edges = by_input.get((tool.id, parameter.name), [])
            if parameter.required and len({edge.source for edge in edges}) == 1:
                edge = min(edges, key=lambda candidate: candidate.output)
                login = replace(edge, predicate="depends_on", confidence=_SIGN_IN)
                yield replace(login, source=edge.target, target=edge.source)
