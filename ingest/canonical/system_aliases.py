"""Aliases of systems: ``acme crm api`` is also *acme crm* and *acme*.

Those that the owner gives, in a sources file, are kept as they are; one that several systems are given names each of them. Those that
are derived from names are kept where they name one thing only: the name of the system without generic words at its ends, and the vendor:
the first words of a name that are also the registered label of the host of its server or its contact (``api.acme.com``). One that two
systems have is left out; so is, unless a host confirms it, an everyday word, or everyday words that name another entity ("purchase order
service"). Of 180 requests to real documents 27 say one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ingest.graph import node_key
from ingest.linking.subjects import registered_label
from ingest.triple_table import HEAD, TAIL, TripleTable
from ingest.word_lists import word_list
from ontology.names import canonical_name, is_word, stop_words
from ontology.tool import Tool
from ontology.tool_graph import Aliases, Triple

_GENERIC = word_list("canonical", "generic_system_words") | stop_words("index") | stop_words("name_edges")
_VERSION = re.compile(r"v?\d+")
_VENDOR_WORDS = 3
_MIN_CHARS = 2


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
    table = TripleTable.of(triples)
    of_tool: dict[str, set[str]] = defaultdict(set)
    used = [table.ends[number] for number in np.unique(table.columns[[HEAD, TAIL]]).tolist()]
    taken = {name for kind, name in used if kind != "system"}  # by other entities
    is_system_E = np.asarray([kind == "system" for kind, _ in table.ends], dtype=np.bool_)
    for one in table.chosen(is_system_E[table.columns[TAIL]]):
        if one.head_type == "tool":
            of_tool[one.head].add(one.tail)
    names: dict[str, dict[str, None]] = {}  # of each system: its own name, then those of its namespaces and its contact
    labels: dict[str, set[str]] = defaultdict(set)  # that were registered of the hosts of its servers and its contact
    owned: dict[str, set[str]] = defaultdict(set)
    for tool in tools:
        contact, host = (str(tool.metadata.get(key) or "") for key in ("contact", "contact_host"))
        servers = tool.call.servers if tool.call is not None else ()
        aliases = {canonical_name(alias, abbreviations) for alias in given.get(tool.namespace, ())}
        for system in sorted(of_tool.get(tool.id, ())):
            other = (canonical_name(name, abbreviations) for name in (tool.namespace, contact))
            names.setdefault(system, {system: None}).update(dict.fromkeys(other))
            labels[system].update(filter(None, map(registered_label, (*servers, host))))
            owned[system].update(alias for alias in aliases if _names_something(alias.split()))
    derived = {system: set(_derived(list(known), labels[system], taken)) - {system} for system, known in names.items()}
    claims = Counter(alias for found in (*derived.values(), *owned.values()) for alias in found)
    found: dict[str, Aliases] = {}
    for system in names:
        unique = {alias for alias in derived[system] if claims[alias] == 1 and alias not in names}
        origins = dict.fromkeys(unique, "documents") | dict.fromkeys(owned[system] - {system}, "sources file")
        found[node_key("system", system)] = tuple(sorted(origins.items()))
    return found


def _derived(names: Sequence[str], labels: Collection[str], taken: Collection[str]) -> Iterator[str]:
    own = _without_generic_ends(names[0].split())
    for name in names:
        whole = name.split()
        for size in range(1, min(_VENDOR_WORDS, len(whole)) + 1):
            # People write a name in one word too, as its host does: "victorops", "onsched".
            if "".join(whole[:size]) in labels and _names_something(whole[:size]):
                yield from (" ".join(whole[:size]), "".join(whole[:size]))
        tokens = _without_generic_ends(whole)
        alias = " ".join(tokens)
        is_everyday = all(map(is_word, tokens)) and (len(tokens) == 1 or alias in taken)
        # A contact is no name of the system, and a namespace only where it is the beginning of the system's own name.
        if tokens == own[: len(tokens)] and _names_something(tokens) and not is_everyday:
            yield alias


def _without_generic_ends(tokens: Sequence[str]) -> list[str]:
    kept = [at for at, token in enumerate(tokens) if not _is_generic(token)]
    return list(tokens[kept[0] : kept[-1] + 1]) if kept else []


def _is_generic(token: str) -> bool:
    return token in _GENERIC or _VERSION.fullmatch(token) is not None


def _names_something(tokens: Sequence[str]) -> bool:
    return len("".join(tokens)) >= _MIN_CHARS and not all(map(_is_generic, tokens))
