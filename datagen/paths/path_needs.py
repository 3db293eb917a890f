"""Minimality and sufficiency of a path: each tool is needed, and no input is left that a request could not state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from datagen.extended_profiles import only_reads
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_path import PathEdge, ToolPath
from ingest.linking import AUTH_KEY, ConsumedValue, ToolProfile
from ontology.tool import Parameter, Tool

__all__ = ["PathNeeds"]

_TAKES_WORDS = 0.8  # free-text score of an input for a query or a name
_Inputs = frozenset[str]


class PathNeeds:
    """Finds needless tools and open inputs of paths over one catalogue."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue

    def find_fault(self, path: ToolPath) -> str:
        """Return why a tool of the path is needless or an input stays open, one sentence without a full stop; else empty."""
        edges = [edge for edge in path.edges if edge.kind == "R-P"]
        feeding = {edge.source for edge in edges}
        faults = (
            *map(self._fault_of_edge, edges),
            *(self._needless_filter(edge) for edge in edges if edge.target in feeding),
            *self._needless(path),
            *self._open(path, edges),
        )
        return next(filter(None, faults), "")

    def _fault_of_edge(self, edge: PathEdge) -> str:
        """An edge fills nothing where the value is a context parameter or has a default."""
        parameter = self._parameter(edge)
        if edge.parameter in self._catalogue.profiles[edge.target].context:
            return f"{edge.parameter} of {edge.target} is a context parameter, which no tool fills"
        if parameter is not None and parameter.default and not parameter.required:
            return f"{edge.parameter} of {edge.target} has a default, so nothing needs to fill it"
        return ""

    def _needless_filter(self, edge: PathEdge) -> str:
        """A search that takes words needs no tool before it that only fills an optional filter. Found on the document of Jira."""
        parameter, profile = self._parameter(edge), self._catalogue.profiles[edge.target]
        if parameter is None or parameter.required or profile.free_text < _TAKES_WORDS or not only_reads(profile):
            return ""
        return f"{edge.target} finds by words, so nothing needs to fill its {edge.parameter}"

    def _needless(self, path: ToolPath) -> Iterator[str]:
        """Of two tools that fill the same inputs of a third, one is needless."""
        fills: dict[str, list[frozenset[tuple[str, str]]]] = {}
        for tool in path.tools:
            filled = frozenset((edge.target, edge.parameter) for edge in path.edges if edge.source == tool)
            if filled and path.shape != "set":
                fills.setdefault(tool, []).append(filled)
        for tool, (filled, *_) in fills.items():
            others = frozenset[tuple[str, str]]().union(*(one for other, (one, *_) in fills.items() if other != tool))
            if filled <= others:
                yield f"what {tool} gives, other tools of the path give too"

    def _open(self, path: ToolPath, edges: list[PathEdge]) -> Iterator[str]:
        """Of nested identifiers the inner one stays open while the outer one is looked up.

        Who can say which event is meant, by its identifier, need not look up the calendar that it is in.
        """
        for tool_id in path.tools:
            filled = frozenset(edge.parameter for edge in edges if edge.target == tool_id)
            tool, profile = self._catalogue.tool(tool_id), self._catalogue.profiles[tool_id]
            if filled and (inner := _open_inner(tool, profile, filled)):
                yield f"{inner} of {tool_id} is in no output, while what it belongs to is looked up"

    def _parameter(self, edge: PathEdge) -> Parameter | None:
        tool = self._catalogue.tool(edge.target)
        return next((one for one in tool.parameters if one.name == edge.parameter), None)


def _open_inner(tool: Tool, profile: ToolProfile, filled: _Inputs) -> str:
    """Return the identifier of the tool's own object that stays open, where the path has it after a filled one; else empty."""
    path = str(tool.metadata.get("path") or "")
    places: Mapping[str, int] = {
        one.name: path.find("{" + one.name) for one in tool.parameters if one.location == "path" and one.required
    }
    looked_up = [place for name, place in places.items() if name in filled and place >= 0]
    if not looked_up or profile.action == "create":
        return ""
    return next(
        (
            value.parameter
            for value in profile.consumes
            if _is_own(value, profile)
            and value.parameter not in filled
            and places.get(value.parameter, -1) > min(looked_up)
        ),
        "",
    )


def _is_own(value: ConsumedValue, profile: ToolProfile) -> bool:
    """Whether an input identifies the object that the tool is about, by something that people do not say."""
    by_name = value.key[1] in ("name", "email", "slug")
    own = value.key[0] == profile.entity or profile.entity.endswith(f" {value.key[0]}")
    return value.identifier and value.required and not value.context and own and not by_name and value.key != AUTH_KEY
