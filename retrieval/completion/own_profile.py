"""The first person: "my payslips" needs the employee number of whoever asks, which only a tool such as ``getMyProfile`` knows.

Such a tool takes nothing that must be given, and its name says that it is about whoever calls it. It stands in for the resolvers of
an open input that identifies a person, where the clause speaks in the first person.

Found on the development half of the shipped company's requests (6 of 25 failures); the word lists (``ontology/profile_tools.py``) are chosen, not tuned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ontology.profile_tools import PERSONS
from retrieval.completion.needs import RESOLVED_BY, Need, Supplier
from retrieval.query.query import Clause
from retrieval.query.typed_values import SELF
from retrieval.snapshot.reader import Snapshot

__all__ = ["resolved_by_own_profile", "speaks_of_self"]

_CONFIDENCE = 0.9
_MOST = 2
"""Own profiles that are followed."""


def resolved_by_own_profile(snapshot: Snapshot, tool: int, need: Need) -> Need:
    """A need of a tool with the own profile as its supplier, where it is for the identifier of a person; else the need itself."""
    head = need.entity.rpartition(" ")[2]
    if head not in PERSONS or not need.parameter:
        return need
    # A number of another system is another number: only a system that can supply this one knows who asks.
    systems = snapshot.tool_systems
    known = {int(systems[each]) for each in (tool, *(supplier.tool for supplier in need.suppliers))}
    own = [each for each in snapshot.own_profiles if each != tool and int(systems[each]) in known]
    if not own:
        return need
    suppliers = tuple(Supplier(each, RESOLVED_BY, confidence=_CONFIDENCE) for each in own[:_MOST])
    return replace(need, suppliers=suppliers, required=True)


def speaks_of_self(parts: Sequence[Clause]) -> bool:
    """Whether one of some clauses speaks in the first person."""
    return any(value.kind == SELF for part in parts for value in part.values)
