"""The first person in a request: "my payslips" needs the tool that tells who is asking, where another tool needs a person's identifier.

Such a tool takes nothing and returns the profile of the caller: ``getMyProfile``, ``get_current_user``, ``whoami``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ontology.names import identified_entity, words
from ontology.tool import Tool
from retrieval.query.typed_values import SELF, TypedValue
from retrieval.snapshot.reader import Snapshot

__all__ = ["is_own_profile", "own_profile_tools", "person_inputs", "speaks_of_oneself"]

# All chosen, not tuned: general names of such tools and of people in organisations.
_WHO = frozenset({"whoami"})
_OWN = frozenset("me my myself own current currently authenticated logged self".split())
_PROFILES = frozenset("profile user account employee member person identity me myself self whoami userinfo".split())
_READS = frozenset("get read retrieve fetch show find view describe lookup load current my me who whoami self".split())
_PERSONS = frozenset(
    "user employee person member worker colleague assignee requester owner approver manager staff customer profile".split()
)
_TOOL_NAME = re.compile(r"\b(?:who ?am ?i)\b")


def speaks_of_oneself(values: Sequence[TypedValue]) -> bool:
    """Whether a request speaks in the first person of what is the caller's own."""
    return any(value.kind == SELF for value in values)


def own_profile_tools(snapshot: Snapshot) -> list[int]:
    """The tools that tell who is asking, ascending. It reads the name of every tool, so callers keep the answer."""
    named = (tool for tool in range(snapshot.tool_count) if _names_own_profile(snapshot.tool_id(tool)))
    return [tool for tool in named if is_own_profile(snapshot.tool(tool))]


def is_own_profile(tool: Tool) -> bool:
    """Whether a tool takes nothing that it needs and returns the profile of the caller."""
    needs = any(parameter.required and parameter.location != "header" for parameter in tool.parameters)
    return not needs and _names_own_profile(tool.name)


def person_inputs(tool: Tool) -> tuple[str, ...]:
    """The required inputs of a tool that identify a person: ``employee_id``, ``userId``."""
    return tuple(
        parameter.name
        for parameter in tool.parameters
        if parameter.required and identified_entity(parameter.name).rpartition(" ")[2] in _PERSONS
    )


def _names_own_profile(name: str) -> bool:
    said = words(name.rpartition("/")[2])
    if _WHO & set(said) or _TOOL_NAME.search(" ".join(said)):
        return True
    return bool(said) and said[0] in _READS and bool(_OWN & set(said)) and said[-1] in _PROFILES
