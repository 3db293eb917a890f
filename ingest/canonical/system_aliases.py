"""Aliases of systems: ``acme crm api`` is also *acme crm* and *acme*.

Two kinds of alias. Those that the owner gives, in a sources file, are kept as they are; one that several systems are given names each of
them. Those that are derived from names are kept where they name one thing only:

- the name of the system or of its namespace without generic words at its ends (``acme crm``);
- the vendor: the first words of a name that are also the registered label of the host of its server or its contact (``api.acme.com``).

A derived alias is left out where two systems have it, and where it consists of generic words. Unless a host confirms it, it is left out too
where it is an everyday word, or everyday words that name another entity ("purchase order service"). Found on the titles of OpenAPI documents, discovery documents and MCP servers; the list of
generic words is chosen, not tuned.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.graph import node_key
from ingest.word_lists import word_list
from ontology.hosts import registered_label
from ontology.names import canonical_name, is_word, stop_words
from ontology.tool import Tool
from ontology.tool_graph import Aliases, Triple

__all__ = ["system_aliases"]

_SYSTEM = "system"
_DOCUMENTS, _SOURCES_FILE = "documents", "sources file"
_GENERIC = word_list("canonical", "generic_system_words") | stop_words("index") | stop_words("name_edges")
_VERSION = re.compile(r"v?\d+")
_VENDOR_WORDS = 3
_MIN_CHARS = 2


@dataclass(slots=True)
class _System:
    """What is known of a system.

    :param labels: the registered labels of the hosts of its servers and its contact.
    :param names: its own name, then the names of its namespaces and its contact, canonical.
    :param given: the aliases that its owner gives it, canonical.
    """

    names: dict[str, None] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    given: dict[str, None] = field(default_factory=dict)


def system_aliases(
    tools: Sequence[Tool],
    triples: Iterable[Triple],
    given: Mapping[str, Sequence[str]] = {},
    *,
    abbreviations: Mapping[str, str] = {},
) -> dict[str, Aliases]:
    """Map from the node key of each system to its aliases, each with its origin: the sources file or the documents.

    :param triples: the canonical triples of the tools.
    :param given: map from namespace to the aliases that its owner gives.
    :param abbreviations: map from abbreviation to expansion in the whole catalogue.
    """
    triples = list(triples)
    systems = _systems(tools, triples, given, abbreviations)
    taken = {
        name
        for one in triples
        for type_, name in ((one.head_type, one.head), (one.tail_type, one.tail))
        if type_ != _SYSTEM
    }
    derived = {name: [alias for alias in _derived(system, taken) if alias != name] for name, system in systems.items()}
    claims = Counter(alias for aliases in derived.values() for alias in dict.fromkeys(aliases))
    claims.update(alias for system in systems.values() for alias in system.given)
    found: dict[str, Aliases] = {}
    for name, system in systems.items():
        unique = [alias for alias in derived[name] if claims[alias] == 1 and alias not in systems]
        origins = {alias: _DOCUMENTS for alias in unique} | dict.fromkeys(system.given, _SOURCES_FILE)
        found[node_key(_SYSTEM, name)] = tuple((alias, origins[alias]) for alias in sorted(origins) if alias != name)
    return found


def _systems(
    tools: Sequence[Tool],
    triples: Sequence[Triple],
    given: Mapping[str, Sequence[str]],
    abbreviations: Mapping[str, str],
) -> dict[str, _System]:
    """Map from the canonical name of each system to what its tools tell of it."""
    of_tool: dict[str, set[str]] = defaultdict(set)
    for triple in triples:
        if triple.tail_type == _SYSTEM and triple.head_type == "tool":
            of_tool[triple.head].add(triple.tail)
    systems: dict[str, _System] = {}
    for tool in tools:
        for name in sorted(of_tool.get(tool.id, ())):
            system = systems.setdefault(name, _System(names={name: None}))
            contact = tool.metadata.get("contact")
            for other in (tool.namespace, contact if isinstance(contact, str) else ""):
                system.names[canonical_name(other, abbreviations)] = None
            system.labels.update(_labels(tool))
            names = (canonical_name(alias, abbreviations) for alias in given.get(tool.namespace, ()))
            system.given.update((alias, None) for alias in names if _names_something(alias.split()))
    return systems


def _labels(tool: Tool) -> Iterator[str]:
    """Yield the label that was registered of each host: ``acme`` of ``api.acme.com`` and of ``acme.co.uk``."""
    servers = tool.call.servers if tool.call is not None else ()
    contact = tool.metadata.get("contact_host")
    addresses = (*servers, *([contact] if isinstance(contact, str) else []))
    yield from filter(None, map(registered_label, addresses))


def _derived(system: _System, taken: Collection[str]) -> Iterator[str]:
    own = _without_generic_ends(next(iter(system.names)).split())
    for name in system.names:
        whole = name.split()
        for size in range(1, min(_VENDOR_WORDS, len(whole)) + 1):
            # People write a name in one word too, as its host does: "victorops", "onsched".
            if "".join(whole[:size]) in system.labels and _names_something(whole[:size]):
                yield from (" ".join(whole[:size]), "".join(whole[:size]))
        tokens = _without_generic_ends(whole)
        alias = " ".join(tokens)
        everyday = all(map(is_word, tokens)) and (len(tokens) == 1 or alias in taken)
        # A contact is no name of the system, and a namespace only where it is the beginning of the system's own name.
        if tokens == own[: len(tokens)] and _names_something(tokens) and not everyday:
            yield alias


def _without_generic_ends(tokens: list[str]) -> list[str]:
    start, end = 0, len(tokens)
    while start < end and _is_generic(tokens[start]):
        start += 1
    while start < end and _is_generic(tokens[end - 1]):
        end -= 1
    return tokens[start:end]


def _is_generic(token: str) -> bool:
    return token in _GENERIC or _VERSION.fullmatch(token) is not None


def _names_something(tokens: Sequence[str]) -> bool:
    return len("".join(tokens)) >= _MIN_CHARS and not all(map(_is_generic, tokens))
