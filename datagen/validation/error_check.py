"""The error check: errors that make a labelled request useless, independent of its class."""

from __future__ import annotations

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.asked_object import AskedObjects
from datagen.validation.edge_needs import EdgeNeeds
from datagen.validation.fluency import DocumentLeaks, find_incompleteness
from datagen.validation.minimality import find_spare_end, find_superfluous_tool
from datagen.validation.missing_values import find_unknown_identifier
from datagen.validation.parsed_request import parse_request
from datagen.validation.path_fit import PathFitter
from datagen.validation.rivals import Rivals
from datagen.validation.value_mismatch import find_mismatch

__all__ = ["find_error"]


def find_error(
    request: SyntheticRequest,
    fitter: PathFitter,
    leaks: DocumentLeaks,
    asked: AskedObjects,
    needs: EdgeNeeds,
    rivals: Rivals,
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
        or find_unknown_identifier(request, parsed, fit)
        or find_superfluous_tool(request, parsed, fit)
        or find_spare_end(request, parsed, fit)
        or asked.find_other(parsed.without_general_questions, fit, request.values)
        or needs.find_fault(request, parsed)
        or rivals.find_open_choice(request, parsed)
    )
