"""How many nodes there are of each type at a size of the graph."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.ev_graph.ev_words import FAMILIES, REGIONS, SITES, UNITS
from ontology.errors import InvalidArgumentError

__all__ = ["EvSizes", "ev_sizes"]

_NODES = 229_551
_RELATIONSHIPS = 313_635
"""At size 1: the counts of the paper's industry graph (appendix B.2)."""
_FIRST_YEAR = 2020
_YEARS = 5
"""Of the calendar."""
_SHARES = {
    "AssemblyLine": 0.0027,
    "VehicleModel": 0.0063,
    "AssemblyProcess": 0.0227,
    "BatteryModule": 0.27,
    "DriveAssembly": 0.514,
}
"""Of all nodes. Chosen so that a site has hundreds to thousands of assemblies, as in listing 2, with 1.4 relationships a node."""
_LEAST_SCALE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class EvSizes:
    """Counts of a graph.

    :param nodes: by type, in the order of their tables.
    :param relationships: of all types together.
    :param first_year: of the calendar.
    """

    nodes: dict[str, int]
    relationships: int
    first_year: int = _FIRST_YEAR


def ev_sizes(scale: float) -> EvSizes:
    """Return the counts at a size: 1 is that of the paper; nodes and relationships are proportional to it.

    Regions, business units, process families, months and sites are the same at each size, as in a company that makes more.

    :raises InvalidArgumentError: when the size is below 0.01, where these would be all.
    """
    if scale < _LEAST_SCALE:
        raise InvalidArgumentError(
            "the size of the graph is too small", subject=str(scale), remedy=f"Use {_LEAST_SCALE} or more"
        )
    total = round(_NODES * scale)
    nodes = {
        "Region": len(REGIONS),
        "BusinessUnit": len(UNITS),
        "ProcessFamily": len(FAMILIES),
        "CalendarMonth": _YEARS * 12,
        "FactorySite": len(SITES),
        **{name: round(total * share) for name, share in _SHARES.items()},
    }
    return EvSizes(
        nodes={**nodes, "AuxiliaryModule": total - sum(nodes.values())},
        relationships=round(_RELATIONSHIPS * scale),
    )
