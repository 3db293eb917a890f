"""Minimality and sufficiency of a generated request on the calibrated edges: what its text gives, and what its tools give."""

from __future__ import annotations

from collections.abc import Iterator

from datagen.paths.path_needs import PathNeeds
from datagen.paths.rp_graph import MIN_CONFIDENCE
from datagen.paths.state_check import state_check
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.tool_slots import CatalogueSlots
from ingest.linking import AUTH_KEY

__all__ = ["EdgeNeeds"]

_CONDITIONAL = "conditional-multi-step"


class EdgeNeeds:
    """Finds tools that a request does not need and inputs that nothing fills, over one catalogue.

    :param rp: its R-P edges with their calibrated confidence.
    """

    def __init__(self, catalogue: ProfiledCatalogue, rp: ToolLinks, slots: CatalogueSlots) -> None:
        self._catalogue = catalogue
        self._slots = slots
        self._needs = PathNeeds(catalogue)
        self._sure = {
            (edge.source, edge.target, edge.parameter)
            for edge in rp
            if edge.kind == "R-P" and edge.confidence >= MIN_CONFIDENCE
        }

    def find_fault(self, request: SyntheticRequest, parsed: ParsedRequest) -> str:
        """Return why a path is not minimal, an input stays open or a condition cannot be tested; empty where nothing does.

        Only of a generated request are all values recorded, so only there an input is known to be open.
        """
        edges = [edge for edge in request.path.edges if edge.kind == "R-P"]
        unsure = next((edge for edge in edges if not self._is_sure(edge, request.request_class)), None)
        if unsure is not None:
            return f"it is not sure that {unsure.source} gives the {unsure.parameter} of {unsure.target}"
        faults = (
            self._needs.find_fault(request.path, request.request_class),
            *_said_anyway(request, edges),
            *(self._open(request, parsed) if request.generator else ()),
        )
        return next(filter(None, faults), "")

    def _is_sure(self, edge: PathEdge, request_class: str) -> bool:
        if (edge.source, edge.target, edge.parameter) in self._sure:
            return True
        return request_class == _CONDITIONAL and state_check(self._catalogue, edge.source, edge.target) == edge

    def _open(self, request: SyntheticRequest, parsed: ParsedRequest) -> Iterator[str]:
        """A required identifier is neither said, nor given by a tool or the connection; the asker need not be said."""
        given = {(value.tool, value.parameter) for value in request.values}
        given |= {(edge.target, edge.parameter) for edge in request.path.edges if edge.kind == "R-P"}
        for tool in request.path.tools:
            asker = {slot.parameter for slot in self._slots.of(tool).slots if slot.person and parsed.first_person}
            for value in self._catalogue.profiles[tool].consumes:
                known = value.context or value.key == AUTH_KEY or value.parameter in asker or "." in value.parameter
                if value.required and value.identifier and not known and (tool, value.parameter) not in given:
                    yield f"{value.parameter} of {tool} is neither said nor given by a tool of the path"


def _said_anyway(request: SyntheticRequest, edges: list[PathEdge]) -> Iterator[str]:
    """A tool gives only what the request states for the tools after it, and no condition is on what it reads."""
    stated = {(value.tool, value.parameter) for value in request.values}
    for tool in request.path.tools if request.request_class != _CONDITIONAL else ():
        filled = {(edge.target, edge.parameter) for edge in edges if edge.source == tool}
        if filled and filled <= stated:
            yield f"the request states all that {tool} gives"
