"""Preconditions that a description states: "fails if roaming is disabled", "requires an active session", "must be enabled first".

The tool then depends on the tool of its namespace that brings the state about. Nothing is concluded from names alone: without such a
sentence there is no edge. The sentences are in ``preconditions.yaml``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.tool_subjects import local_name
from ontology.names import noun_lemma, words
from ontology.tool import Tool
from ontology.yaml_data import read_yaml

__all__ = ["derive_stated_preconditions"]

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


def _name(tokens: Sequence[str]) -> str:
    return " ".join((*tokens[:-1], noun_lemma(tokens[-1])))


@cache
def _states() -> tuple[_State, ...]:
    rows: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "preconditions.yaml")["states"]
    return tuple(_State(re.compile(row["pattern"]), frozenset(row["verbs"].split())) for row in rows)
