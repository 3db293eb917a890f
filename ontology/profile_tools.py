"""Tools that say who calls them, such as ``getMyProfile`` or ``whoami``. The word lists are chosen, not tuned."""

from __future__ import annotations

from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["PERSONS", "is_own_profile", "may_be_own_profile"]

PERSONS = frozenset(
    "employee user person personnel staff member worker colleague participant assignee requester".split()
)
"""Heads of the entities that are people."""
_OWN = frozenset("my me myself whoami current authenticated own self".split())
_OF_A_PERSON = PERSONS | frozenset("profile account identity info information details data".split())
_SAYS_WHO = PERSONS | {"profile", "identity", "account"}
_CALLER = frozenset({"me", "myself", "whoami"})
_READING = frozenset("get read fetch show view retrieve find who am i v1 v2 v3 json api".split())


def may_be_own_profile(tool_id: str) -> bool:
    """Whether an id leaves it open that its tool says who calls it: without reading the tool."""
    return not _OWN.isdisjoint(words(tool_id))


def is_own_profile(tool: Tool) -> bool:
    """Whether a tool says who calls it: by its name, and because it takes nothing that must be given."""
    name = set(map(noun_lemma, words(tool.name)))
    about = name - _OWN - _READING
    says_who = bool(name & _CALLER) or bool(about & _SAYS_WHO)
    return bool(name & _OWN) and says_who and about <= _OF_A_PERSON and not any(one.required for one in tool.parameters)
