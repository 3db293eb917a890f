"""The catalogue for data generation: the tools of a snapshot with their profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from datagen.extended_profiles import extend_profiles, without_said_context
from datagen.parameter_index import ParameterIndex
from ingest.linking import CanonicalNames, ToolProfile, canonical_names, profile_tools
from ontology.errors import NotFoundError
from ontology.ontology import Ontology
from ontology.ontology_file import load_ontology
from ontology.tool import Tool
from retrieval.snapshot.reader import Snapshot

__all__ = ["ProfiledCatalogue"]

_LINE_OF_BUSINESS = "has_line_of_business"


@dataclass(frozen=True, kw_only=True)
class ProfiledCatalogue:
    """The tools of one snapshot with their profiles, each computed once.

    :param tools: in the snapshot's order, sorted by id.
    :param ontology: its metadata keys and abbreviations are used; it may differ from the ontology of the build.
    """

    snapshot_id: str
    tools: tuple[Tool, ...]
    ontology: Ontology

    @classmethod
    def of(cls, snapshot: Snapshot, ontology: Ontology | None = None) -> ProfiledCatalogue:
        """Return the catalogue of a snapshot; with the shipped ontology where none is given."""
        tools = tuple(snapshot.tool(number) for number in range(snapshot.tool_count))
        return cls(snapshot_id=snapshot.id, tools=tools, ontology=ontology or load_ontology())

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id.

        :raises NotFoundError: for an unknown id.
        """
        try:
            return self._by_id[tool_id]
        except KeyError:
            raise NotFoundError("the catalogue has no such tool", subject=tool_id) from None

    def __contains__(self, tool_id: str) -> bool:
        return tool_id in self._by_id

    def profile(self, tool_id: str) -> ToolProfile:
        """Return the profile of a tool: its action, its entity, its inputs and its outputs.

        :raises NotFoundError: for an unknown id.
        """
        self.tool(tool_id)
        return self.profiles[tool_id]

    def group(self, tool_id: str) -> str:
        """Return the line of business of a tool, else its namespace, else its system; empty where none is documented."""
        tool = self.tool(tool_id)
        for key in self._business_keys:
            value = tool.metadata.get(key)
            named = value[0] if isinstance(value, list) and value else value
            if isinstance(named, str) and named:
                return named.split("/")[0]
        return tool.namespace or self.profiles[tool_id].system.strip("|")

    @cached_property
    def names(self) -> CanonicalNames:
        """The canonical names under the ontology's abbreviations."""
        return canonical_names(self.ontology)

    @cached_property
    def profiles(self) -> Mapping[str, ToolProfile]:
        """Map from tool id to profile, as in a build but for context parameters that a request must say."""
        return {profile.id: without_said_context(profile) for profile in profile_tools(self.tools, self.ontology)}

    @cached_property
    def extended_profiles(self) -> Mapping[str, ToolProfile]:
        """Map from tool id to extended profile: see :mod:`datagen.extended_profiles`."""
        return extend_profiles(self.tools, self.profiles, self.names)

    @cached_property
    def parameter_index(self) -> ParameterIndex:
        """The index of all inputs, from which outputs are inferred."""
        return ParameterIndex(self.tools, self.extended_profiles.values(), self.names)

    @cached_property
    def _by_id(self) -> Mapping[str, Tool]:
        return {tool.id: tool for tool in self.tools}

    @cached_property
    def _business_keys(self) -> Sequence[str]:
        return [key for key, name in self.ontology.metadata_predicates.items() if name == _LINE_OF_BUSINESS]
