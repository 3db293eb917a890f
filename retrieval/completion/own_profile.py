"""The first person: "my payslips" needs the employee number of whoever asks, which only a tool such as ``getMyProfile`` knows.

Such a tool takes nothing that must be given, and its name says that it is about whoever calls it. It stands in for the resolvers of
an open input that identifies a person, where the clause speaks in the first person.

Found on the development half of the shipped company's requests (6 of 25 failures); the word lists are chosen, not tuned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ontology.names import noun_lemma, words
from ontology.tool import Tool
from retrieval.completion.needs import RESOLVED_BY, Need, Supplier
from retrieval.query.query import Clause
from retrieval.query.typed_values import SELF
from retrieval.snapshot.reader import Snapshot

__all__ = ["OwnProfiles", "is_own_profile", "speaks_of_self"]

_PERSONS = frozenset(
    "employee user person personnel staff member worker colleague participant assignee requester".split()
)
"""Heads of the entities that are people."""
_OWN = frozenset("my me myself whoami current authenticated own self".split())
_OF_A_PERSON = _PERSONS | frozenset("profile account identity info information details data".split())
_SAYS_WHO = _PERSONS | {"profile", "identity", "account"}
_CALLER = frozenset({"me", "myself", "whoami"})
_READING = frozenset("get read fetch show view retrieve find who am i v1 v2 v3 json api".split())
_CONFIDENCE = 0.9
_MOST = 2
"""Own profiles that are followed."""


class OwnProfiles:
    """The tools of a snapshot that say who calls them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._tools = [
            tool
            for tool in range(snapshot.tool_count)
            if not _OWN.isdisjoint(words(snapshot.tool_id(tool))) and is_own_profile(snapshot.tool(tool))
        ]

    def __len__(self) -> int:
        return len(self._tools)

    def need_of(self, tool: int, need: Need) -> Need:
        """A need with the own profile as its supplier, where it is for the identifier of a person; else the need itself."""
        head = need.entity.rpartition(" ")[2]
        if head not in _PERSONS or not need.parameter:
            return need
        # A number of another system is another number: only a system that can supply this one knows who asks.
        systems = self._snapshot.tool_systems
        known = {int(systems[each]) for each in (tool, *(supplier.tool for supplier in need.suppliers))}
        own = [each for each in self._tools if each != tool and int(systems[each]) in known]
        if not own:
            return need
        suppliers = tuple(Supplier(each, RESOLVED_BY, confidence=_CONFIDENCE) for each in own[:_MOST])
        return replace(need, suppliers=suppliers, required=True)


def speaks_of_self(parts: Sequence[Clause]) -> bool:
    """Whether one of some clauses speaks in the first person."""
    return any(value.kind == SELF for part in parts for value in part.values)


def is_own_profile(tool: Tool) -> bool:
    """Whether a tool says who calls it: by its name, and because it takes nothing that must be given."""
    name = set(map(noun_lemma, words(tool.name)))
    about = name - _OWN - _READING
    says_who = bool(name & _CALLER) or bool(about & _SAYS_WHO)
    return bool(name & _OWN) and says_who and about <= _OF_A_PERSON and not any(one.required for one in tool.parameters)
