"""Sizes of the graph, and its tables of nodes. All names are invented; none is a company's or a plant's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.ev_graph.ev_draws import Draws, Ints, amounts, codes, picked, skewed, with_nulls
from benchmarks.ev_graph.graph_table import Columns, ColumnType, GraphTable
from ontology.errors import InvalidArgumentError

REGIONS = tuple(
    "Northern Europe,Western Europe,Southern Europe,Eastern Europe,North America,South America,East Asia,South Asia,Oceania".split(
        ","
    )
)
UNITS = tuple(
    "Battery Systems,Drive Systems,Body and Paint,Final Assembly,Power Electronics,Thermal Systems,Interior,Chassis,Charging,Aftermarket,Recycling,Prototyping,Tooling,Quality Assurance".split(
        ","
    )
)
_SITE_GREEK = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa", "Lambda", "Sigma")
_SITE_PARTS = ("Northern Division", "Southern Division", "East Works", "West Works")
SITES = tuple(f"Factory {letter} - {part}" for part in _SITE_PARTS for letter in _SITE_GREEK)
_FAMILY_OBJECTS = ("Busbar", "Housing", "Rotor", "Stator", "Harness", "Cell stack", "Cooling plate", "Door", "Axle")
_FAMILY_WORK = ("laser welding", "adhesive bonding", "precision fitting", "end-of-line testing")
FAMILIES = tuple(f"{thing} {work}" for work in _FAMILY_WORK for thing in _FAMILY_OBJECTS)
OPERATIONS = ("Weld", "Glue", "Fit", "Test", "Press", "Wind", "Bolt", "Seal", "Coat", "Align", "Fill", "Inspect")
MOTORS = ("Motor", "Inverter", "Gearbox", "Axle drive", "Rotor set", "Stator set")
SCRAPS = ("Offcut", "Bracket set", "Rework kit", "Pallet", "Trim", "Spacer", "Cover", "Sleeve")
SEGMENTS = ("compact", "sedan", "van", "truck", "bus")
MODELS = ("EV-X7", "PX-206", "BR-20Q7", "BE-4417", "BX-09T3")
MONTHS = tuple("January,February,March,April,May,June,July,August,September,October,November,December".split(","))
_NODES = 229_551
_RELATIONSHIPS = 313_635
_FIRST_YEAR = 2020
_YEARS = 5
_SHARES = {
    "AssemblyLine": 0.0027,
    "VehicleModel": 0.0063,
    "AssemblyProcess": 0.0227,
    "BatteryModule": 0.27,
    "DriveAssembly": 0.514,
}
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


_Maker: TypeAlias = Callable[[Draws, EvSizes, Ints], Columns]

_PREFIXES = {
    "Region": ("RG-", 2),
    "BusinessUnit": ("BU-", 2),
    "ProcessFamily": ("PF-", 2),
    "FactorySite": ("FS-", 2),
    "AssemblyLine": ("AL-", 5),
    "VehicleModel": ("VM-", 6),
    "AssemblyProcess": ("AP-", 6),
    "BatteryModule": ("BMK-", 7),
    "DriveAssembly": ("DA-", 7),
    "AuxiliaryModule": ("AX-", 7),
}
"""Of keys, with digits: enough for a hundredfold graph."""
TIERS = (0.3, 0.3, 0.2, 0.12, 0.08)
"""Shares of drive assemblies by assembly tier: tier 0 goes into vehicles, each further one into the tier before it."""
_CATEGORIES = ("scrap", "side assembly", "rework", "packaging")
_CATEGORY_SHARES = (0.55, 0.25, 0.15, 0.05)
"""Of auxiliary modules, in the order of the categories; invented, as the paper gives no counts of nodes by category."""
_NAMED_MODELS_AT = 0.02
"""Where in the order of models, from those with most flows to those with fewest, the models with fixed names stand. Their
numbers of flows are then about the same at each size of the graph: a dozen modules, as in listing 5."""


def keys(node_type: str, at: Ints, sizes: EvSizes) -> list[str]:
    """Return the keys of nodes of a type by their numbers from 0."""
    if node_type == "CalendarMonth":
        return [f"CM-{sizes.first_year + month // 12}-{month % 12 + 1:02}" for month in at.tolist()]
    prefix, digits = _PREFIXES[node_type]
    return [f"{prefix}{number + 1:0{digits}}" for number in at.tolist()]


def site_codes(at: Ints) -> list[str]:
    """Return the codes of factory sites."""
    return [f"PLANT-EV-{number + 1:02}" for number in at.tolist()]


def first_named_model(sizes: EvSizes) -> int:
    """Return the number of the first model with a fixed name."""
    return int(sizes.nodes["VehicleModel"] * _NAMED_MODELS_AT)


def tier_of_drives(at: Ints, sizes: EvSizes) -> Ints:
    """Return the assembly tiers of drive assemblies, which are sorted by tier."""
    return picked(at / sizes.nodes["DriveAssembly"], TIERS)


def auxiliary_category(draws: Draws, at: Ints) -> Ints:
    """Return places in the categories of auxiliary modules; 1 is a side assembly."""
    return picked(draws.uniform("category", at), _CATEGORY_SHARES)


def month_columns(months: Ints, sizes: EvSizes) -> dict[str, Ints]:
    """Return year, quarter and month by the numbers of months, from 0 on."""
    return {"year": sizes.first_year + months // 12, "quarter": months % 12 // 3 + 1, "month": months % 12 + 1}


def _named(names: tuple[str, ...], column: str = "name") -> _Maker:
    return lambda _draws, _sizes, at: {column: [names[number] for number in at.tolist()]}


def _months(_draws: Draws, sizes: EvSizes, at: Ints) -> Columns:
    names = [f"{MONTHS[month % 12]} {sizes.first_year + month // 12}" for month in at.tolist()]
    return {"name": names, **month_columns(at, sizes)}


def _sites(_draws: Draws, _sizes: EvSizes, at: Ints) -> Columns:
    return {"name": [SITES[number] for number in at.tolist()], "factoryCode": site_codes(at)}


def _lines(draws: Draws, _sizes: EvSizes, at: Ints) -> Columns:
    letters = draws.below("line letter", at, 26).tolist()
    numbers = draws.below("line number", at, 40).tolist()
    names = [f"Line {chr(65 + letter)}{number + 1}" for letter, number in zip(letters, numbers, strict=True)]
    return {"name": names, "assemblyTier": picked(draws.uniform("line tier", at), TIERS)}


def _models(draws: Draws, sizes: EvSizes, at: Ints) -> Columns:
    letters = draws.below("model letter", at, 25).tolist()
    second = draws.below("model second letter", at, 26).tolist()
    first_named = first_named_model(sizes)
    names = []
    for number, code, one, two in zip(at.tolist(), codes("", at, 4), letters, second, strict=True):
        named = number - first_named
        first = chr(65 + one + (one > 0))  # every letter but B
        names.append(MODELS[named] if 0 <= named < len(MODELS) else f"{first}{chr(65 + two)}-{code}")
    days = np.datetime64("2016-01-01") + draws.below("launch", at, 2900).astype("timedelta64[D]")
    segments = [SEGMENTS[place] for place in skewed(draws.uniform("segment", at), len(SEGMENTS), 1.6).tolist()]
    return {
        "name": names,
        "segment": with_nulls(segments, draws.uniform("no segment", at), 0.03),
        "configVersion": _versions(draws, "model version", at, 0.05),
        "launchDate": with_nulls(days.astype(str).tolist(), draws.uniform("no launch", at), 0.08),
    }


def _versions(draws: Draws, what: str, at: Ints, missing: float) -> list[object]:
    numbers = draws.below(what, at, 40).tolist()
    return with_nulls([f"v{n // 8 + 1}.{n % 8}" for n in numbers], draws.uniform(f"no {what}", at), missing)


def _processes(draws: Draws, _sizes: EvSizes, at: Ints) -> Columns:
    words = draws.below("operation", at, len(OPERATIONS)).tolist()
    things = draws.below("operation on", at, len(MOTORS)).tolist()
    names = [
        f"{OPERATIONS[word]} {MOTORS[thing].lower()} {code}"
        for word, thing, code in zip(words, things, codes("", at, 4), strict=True)
    ]
    return {"name": names, "assemblyTier": picked(draws.uniform("process tier", at), TIERS)}


def _batteries(draws: Draws, _sizes: EvSizes, at: Ints) -> Columns:
    renamed = at - ((draws.uniform("renamed", at) < 0.02) & (at > 0))  # a new revision keeps the name
    return {
        "name": codes("BM-", renamed, 5),
        "assemblyTier": 1 + draws.below("battery tier", at, 4),
        "marketPrice": with_nulls((100 * draws.uniform("price", at)).tolist(), draws.uniform("no price", at), 0.04),
        "unitCost": with_nulls((100 * draws.uniform("unit cost", at)).tolist(), draws.uniform("no cost", at), 0.02),
        "energyDensity": with_nulls(
            (120 + 180 * draws.uniform("density", at)).tolist(), draws.uniform("no density", at), 0.1
        ),
        "configVersion": _versions(draws, "battery version", at, 0.03),
    }


def _drives(draws: Draws, sizes: EvSizes, at: Ints) -> Columns:
    words = skewed(draws.uniform("motor", at), len(MOTORS), 1.8).tolist()
    letters = draws.below("motor letter", at, 20).tolist()
    numbers = draws.below("motor number", at, 90).tolist()
    names = [f"{MOTORS[w]} {chr(65 + x)}{n + 10}" for w, x, n in zip(words, letters, numbers, strict=True)]
    sites = skewed(draws.uniform("drive site", at), sizes.nodes["FactorySite"], 2.0)
    return {
        "name": names,
        "assemblyTier": tier_of_drives(at, sizes),
        "factoryCode": with_nulls(site_codes(sites), draws.uniform("no site", at), 0.04),
        "efficiencyRate": with_nulls(
            (0.8 + 0.19 * draws.uniform("rate", at)).tolist(), draws.uniform("no rate", at), 0.06
        ),
        "assemblyCost": amounts(draws.uniform("assembly cost", at), 20.0, 4000.0),
    }


def _auxiliaries(draws: Draws, sizes: EvSizes, at: Ints) -> Columns:
    words = draws.below("scrap", at, len(SCRAPS)).tolist()
    numbers = draws.below("scrap number", at, 400).tolist()
    months = skewed(draws.uniform("auxiliary month", at), sizes.nodes["CalendarMonth"], 0.8)
    undated = draws.uniform("undated", at)
    return {
        "name": [f"{SCRAPS[word]} {number + 100}" for word, number in zip(words, numbers, strict=True)],
        "category": [_CATEGORIES[place] for place in auxiliary_category(draws, at).tolist()],
        "assemblyTier": picked(draws.uniform("auxiliary tier", at), TIERS),
        "cost": amounts(draws.uniform("auxiliary cost", at), 0.5, 900.0),
        "quantity": 1 + skewed(draws.uniform("auxiliary quantity", at), 200, 2.0),
        **{name: with_nulls(values.tolist(), undated, 0.01) for name, values in month_columns(months, sizes).items()},
    }


_TABLES: Mapping[str, tuple[_Maker, Mapping[str, ColumnType]]] = {
    "Region": (_named(REGIONS), {"name": "string"}),
    "BusinessUnit": (_named(UNITS), {"name": "string"}),
    "ProcessFamily": (_named(FAMILIES, "label"), {"label": "string"}),
    "CalendarMonth": (_months, {"name": "string", "year": "integer", "quarter": "integer", "month": "integer"}),
    "FactorySite": (_sites, {"name": "string", "factoryCode": "string"}),
    "AssemblyLine": (_lines, {"name": "string", "assemblyTier": "integer"}),
    "VehicleModel": (
        _models,
        {"name": "string", "segment": "string", "configVersion": "string", "launchDate": "date"},
    ),
    "AssemblyProcess": (_processes, {"name": "string", "assemblyTier": "integer"}),
    "BatteryModule": (
        _batteries,
        {
            "name": "string",
            "assemblyTier": "integer",
            "marketPrice": "number",
            "unitCost": "number",
            "energyDensity": "number",
            "configVersion": "string",
        },
    ),
    "DriveAssembly": (
        _drives,
        {
            "name": "string",
            "assemblyTier": "integer",
            "factoryCode": "string",
            "efficiencyRate": "number",
            "assemblyCost": "number",
        },
    ),
    "AuxiliaryModule": (
        _auxiliaries,
        {
            "name": "string",
            "category": "string",
            "assemblyTier": "integer",
            "cost": "number",
            "quantity": "integer",
            "year": "integer",
            "quarter": "integer",
            "month": "integer",
        },
    ),
}


def node_tables(draws: Draws, sizes: EvSizes) -> list[GraphTable]:
    """Return the tables of all node types."""
    return [_table(draws, sizes, name) for name in sizes.nodes]


def _table(draws: Draws, sizes: EvSizes, node_type: str) -> GraphTable:
    make, columns = _TABLES[node_type]
    return GraphTable(
        kind="node",
        type=node_type,
        columns=(("key", "string"), *columns.items()),
        count=sizes.nodes[node_type],
        make=lambda at: {"key": keys(node_type, at, sizes), **make(draws, sizes, at)},
    )
