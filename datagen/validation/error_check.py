"""The error check: errors that make a labelled request useless, independent of its class."""

from __future__ import annotations

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.edge_needs import EdgeNeeds
from datagen.validation.fluency import DocumentLeaks, find_incompleteness
from datagen.validation.minimality import find_unneeded_tool, find_unresolved_name
from datagen.validation.missing_values import find_unrecorded_input
from datagen.validation.parsed_request import ParsedRequest, parse_request
from datagen.validation.path_fit import PathFit, PathFitter
from datagen.validation.rivals import Rivals
from datagen.validation.unasked_tools import find_unasked_tool
from datagen.validation.value_mismatch import find_mismatch

__all__ = ["find_error"]


def find_error(
    request: SyntheticRequest, fitter: PathFitter, leaks: DocumentLeaks, needs: EdgeNeeds, rivals: Rivals
) -> str:
    """The first error of a request, or empty.

    :raises NotFoundError: when the catalogue lacks a tool of the path.
    """
    tools = request.path.tools
    repeated = next((tool for at, tool in enumerate(tools) if tool in tools[:at]), "")
    if repeated:
        return f"{repeated} is in the path more than once"
    parsed, fit = parse_request(request.text), fitter.fit(request)
    slots = [slot for tool in fit.tools for slot in tool.slots]
    return (
        find_incompleteness(parsed, leaks.vocabulary)
        or leaks.find(parsed, tools)
        or find_mismatch(parsed, slots, request.values)
        or find_unresolved_name(parsed, fit)
        or _unresolved(request, parsed, fit)
        or find_unneeded_tool(request, parsed, fit)
        or needs.find_fault(request, parsed)
        or rivals.find_open_choice(request, parsed)
        or find_unasked_tool(request, parsed, fit)
    )


def _unresolved(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """Why an identifier is unknown: no value is recorded for it, and the tool that finds it is not in the path."""
    slot = find_unrecorded_input(request, parsed, fit, identifier=True)
    return f"no value is said for {slot}, and no tool of the path finds it" if slot is not None else ""
