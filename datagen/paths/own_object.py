"""Tools that read the caller's own object, the team of the connection: what they give, every call has anyway."""

from __future__ import annotations

from collections.abc import Iterable

from datagen.extended_profiles import is_paging, only_reads
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_path import PathEdge
from ingest.linking import AUTH_KEY, local_name, type_family
from ontology.names import noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["gives_own_object"]

_PATTERNS = load_patterns("paths/words")
_LISTING = _PATTERNS.words("listing")
_FORMS = _PATTERNS.words("forms")


def gives_own_object(edge: PathEdge, catalogue: ProfiledCatalogue) -> bool:
    """Whether the value of an edge is of the one object that belongs to the connection.

    The tool only reads, requires nothing but a login, and gives one object, not a list. Its document says whose object it
    is (the current team, the authenticated user), or it has no input that could select another one. Who says "my team"
    needs no such tool: two readers of 80 requests over Slack, Box, Zoom, Netlify and Brex found 15 paths with it not minimal.
    """
    tool, profile = catalogue.tool(edge.source), catalogue.extended_profiles[edge.source]
    logins = {value.parameter for value in profile.consumes if value.key == AUTH_KEY}
    inputs = [one for one in tool.parameters if one.name not in logins and one.name not in profile.context]
    if not only_reads(profile) or any(one.required for one in inputs) or _is_of_list(edge, tool):
        return False
    selects = any(_selects(one) and not is_paging(one.name, catalogue.names) for one in inputs)
    said = (tool.title, tool.description, *(one.description for one in inputs))
    return profile.is_self or not selects or not _callers(said).isdisjoint(profile.entity.split())


def _callers(texts: Iterable[str]) -> frozenset[str]:
    """The things that texts call the caller's: ``team`` of "the current team"."""
    found = (match for text in texts for match in _PATTERNS["of_caller"].finditer(text))
    return frozenset(noun_lemma((one["thing"] or one["said"]).lower()) for one in found)


def _is_of_list(edge: PathEdge, tool: Tool) -> bool:
    """Whether the output is one of several: in a list, or of a tool whose name says that it lists or names several things."""
    named = words(local_name(tool))
    lists = {one.name for one in tool.returns if type_family(one.type) == "array"}
    above = [edge.output[:at] for at, sign in enumerate(edge.output) if sign == "."]
    several = not _LISTING.isdisjoint(named) or any(noun_lemma(word) != word for word in named[-1:])
    return "[" in edge.output or not lists.isdisjoint((*above, edge.output)) or several


def _selects(parameter: Parameter) -> bool:
    """Whether an input may say which object is wanted, and not in which form."""
    plain = type_family(parameter.type) in ("boolean", "integer", "number")
    return not plain and _FORMS.isdisjoint(map(noun_lemma, words(parameter.name)))
