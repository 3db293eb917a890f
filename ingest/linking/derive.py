"""Derive all edges between the tools of a catalogue: R-P edges, resolver edges, stated preconditions, logins."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.linking.derived_edge import NO_LINKS, DeclaredLinks, DerivedEdge
from ingest.linking.output_index import OutputIndex
from ingest.linking.profiles import profile_tools
from ingest.linking.rp_edges import derive_resolver_edges, derive_rp_edges
from ingest.linking.tool_subjects import local_name
from ingest.linking.tool_values import AUTH_KEY
from ontology.files import read_yaml
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["derive_auth_edges", "derive_edges", "derive_links", "link_signature"]

_CONFIDENCE = 0.8
_MAX_TOOLS = 2
"""Where more tools bring the same state about, none of them is the one that is meant."""
_MAX_CHARS = 4_000


class _State(NamedTuple):
    pattern: re.Pattern[str]
    verbs: frozenset[str]


def derive_stated_preconditions(tools: Sequence[Tool]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges for states that descriptions require, in the order of ``tools``."""
    setters: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for tool in tools:
        verb, *rest = words(local_name(tool)) or [""]
        if rest:
            setters[tool.namespace, _name(rest)][verb].append(tool.id)
    for tool in tools:
        seen: set[str] = set()
        for name, state in _stated(tool.description):
            found = setters.get((tool.namespace, name), {})
            ids = [id_ for verb, ids in sorted(found.items()) if verb in state.verbs for id_ in ids if id_ != tool.id]
            if not 0 < len(ids) <= _MAX_TOOLS:
                continue
            for id_ in ids:
                if id_ not in seen:
                    seen.add(id_)
                    yield DerivedEdge.precondition(tool.id, id_, name, _CONFIDENCE)


def _stated(description: str) -> Iterator[tuple[str, _State]]:
    """Yield the canonical name of each state that a description requires."""
    text = " ".join(description[:_MAX_CHARS].lower().split())
    for state in _states():
        for match in state.pattern.finditer(text):
            tokens = words(match["state"])
            while tokens and tokens[0] in ("the", "a", "an", "your", "if", "when", "that", "it"):
                tokens = tokens[1:]
            if tokens:
                yield _name(tokens), state


def link_signature(tool: Tool) -> str:
    """Return a text of all that the links and the shapes of values of a tool depend on: where the signatures of a catalogue are the same,
    they are the same. Of its description that is the states it requires; its schemas repeat its parameters.
    """
    stated = [f"{name} {sorted(state.verbs)}" for name, state in _stated(tool.description)]
    return replace(tool, description="\n".join(stated), input_schema=None, output_schema=None).canonical_json()


def _name(tokens: Sequence[str]) -> str:
    return " ".join((*tokens[:-1], noun_lemma(tokens[-1])))


@cache
def _states() -> tuple[_State, ...]:
    rows: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "preconditions.yaml")["states"]
    return tuple(_State(re.compile(row["pattern"]), frozenset(row["verbs"].split())) for row in rows)


_SIGN_IN_CONFIDENCE = 0.9


def derive_auth_edges(tools: Sequence[Tool], supplied: Iterable[DerivedEdge]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges from each tool that requires a session to the only tool that opens it, in order of ``tools``.
    :param supplied: the ``supplies`` edges of the catalogue.
    """
    token_edges: dict[tuple[str, str], set[DerivedEdge]] = defaultdict(set)
    for edge in supplied:
        if (edge.entity, edge.field) == AUTH_KEY:
            token_edges[edge.target, edge.parameter].add(edge)
    for tool in tools:
        for parameter in tool.parameters:
            edges = token_edges.get((tool.id, parameter.name), set())
            if parameter.required and len({edge.source for edge in edges}) == 1:
                edge = min(edges, key=lambda candidate: candidate.output)
                yield replace(
                    edge,
                    source=edge.target,
                    predicate="depends_on",
                    target=edge.source,
                    confidence=_SIGN_IN_CONFIDENCE,
                )


class Links(NamedTuple):
    """The derived edges of a catalogue, and the context parameters: a map from tool id to their names."""

    edges: list[DerivedEdge]
    context: Mapping[str, tuple[str, ...]]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> Iterator[DerivedEdge]:
    """Yield the ``supplies`` edges, then the ``resolved_by`` edges, then the ``depends_on`` edges of a catalogue."""
    yield from derive_links(tools, ontology).edges


def derive_links(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> Links:
    """Return the edges of a catalogue, in the order of :func:`derive_edges`, and its context parameters.

    Time and memory grow linearly with the number of parameters, not with the number of tool pairs.

    :param declared: what the owner of the catalogue declares beside its documents.
    """
    profiles = profile_tools(tools, ontology, declared)
    index = OutputIndex(profiles)
    edges = list(derive_rp_edges(profiles, index))
    supplied = list(edges)
    edges.extend(derive_resolver_edges(profiles, index))
    stated = [*derive_stated_preconditions(tools), *declared.preconditions]
    edges.extend(stated)
    known = {(edge.source, edge.target) for edge in stated}
    edges.extend(edge for edge in derive_auth_edges(tools, supplied) if (edge.source, edge.target) not in known)
    return Links(edges, {profile.id: profile.context for profile in profiles if profile.context})
