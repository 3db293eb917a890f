"""A small graph of electric vehicle manufacturing in a Ladybug file, with the names and types of the generated one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planners.stores.ladybug import ColumnType, NodeTable, RelationshipTable, load_graph

NODES: dict[str, tuple[str, Sequence[tuple[object, ...]]]] = {
    "VehicleModel": (
        "key STRING, name STRING, segment STRING",
        [
            ("VM-1", "BX-985G9L", "sedan"),
            ("VM-2", "BE-2D2173", "van"),
            ("VM-3", "BR-410PCE", "compact"),
            ("VM-4", "EV-X7", "sedan"),
        ],
    ),
    "BatteryModule": (
        "key STRING, name STRING, assemblyTier INT64, marketPrice DOUBLE, unitCost DOUBLE",
        [
            (f"BMK-{at}", f"BM-900{at}", 1 + at % 2, [12.5, 99.96389587611922, 7.0, 45.25, 3.5, 60.125][at], cost)
            for at, cost in enumerate([10.0, 20.5, 99.41998455706677, 5.0, 44.125, 31.0])
        ],
    ),
    "DriveAssembly": (
        "key STRING, name STRING, assemblyTier INT64, factoryCode STRING",
        [
            ("DA-1", "Motor D21", 0, "PLANT-EV-01"),
            ("DA-2", "Motor D22", 0, "PLANT-EV-01"),
            ("DA-3", "Motor D23", 0, "PLANT-EV-03"),
            ("DA-4", "Inverter D31", 1, "PLANT-EV-03"),
        ],
    ),
    "FactorySite": (
        "key STRING, name STRING, factoryCode STRING",
        [
            ("FS-1", "Factory Alpha - Northern Division", "PLANT-EV-01"),
            ("FS-3", "Factory Gamma - Southern Division", "PLANT-EV-03"),
        ],
    ),
    "Region": ("key STRING, name STRING", [("RG-1", "Northern Europe"), ("RG-2", "Southern Europe")]),
}
FLOW = "costClass STRING, cost DOUBLE, quantity INT64"
RELATIONSHIPS: dict[str, tuple[Sequence[tuple[str, str]], str, Sequence[tuple[object, ...]]]] = {
    "INTEGRATED_IN": (
        [("BatteryModule", "DriveAssembly"), ("BatteryModule", "VehicleModel"), ("DriveAssembly", "VehicleModel")],
        FLOW,
        [
            ("BMK-0", "DA-1", "Plan", 5.5, 2),
            ("DA-1", "VM-4", "Plan", 50.0, 1),
            ("BMK-1", "VM-4", "Plan", 8.25, 3),
            ("BMK-1", "VM-4", "Plan", 8.25, 3),
            ("BMK-1", "VM-4", "Actuals", 9.75, 3),
            ("BMK-0", "VM-1", "Plan", 1.0, 1),
            ("BMK-1", "VM-1", "Plan", 1.0, 1),
            ("BMK-2", "VM-1", "Plan", 1.0, 1),
            ("BMK-3", "VM-2", "Plan", 1.0, 1),
            ("BMK-4", "VM-3", "Plan", 1.0, 1),
            ("BMK-5", "VM-3", "Plan", 1.0, 1),
        ],
    ),
    "BUILT_AT": (
        [("BatteryModule", "FactorySite")],
        "",
        [(f"BMK-{at}", "FS-1" if at % 2 else "FS-3") for at in range(6)],
    ),
    "ASSEMBLED_AT": (
        [("VehicleModel", "FactorySite")],
        FLOW,
        [("VM-4", "FS-1", "Plan", 10.0, 5), ("VM-1", "FS-3", "Plan", 10.0, 5)],
    ),
    "LOCATED_IN": ([("FactorySite", "Region")], "", [("FS-1", "RG-1"), ("FS-3", "RG-2")]),
}
_PREFIXES = {"VM": "VehicleModel", "BMK": "BatteryModule", "DA": "DriveAssembly", "FS": "FactorySite", "RG": "Region"}


def write_small_ev(path: Path) -> None:
    """Write the graph into a new file."""
    nodes = [
        NodeTable(type=type_, columns=_columns(told), key="key", rows=rows) for type_, (told, rows) in NODES.items()
    ]
    tables = []
    for type_, (ends, told, flows) in RELATIONSHIPS.items():
        for source, target in ends:
            rows = [
                each for each in flows if [_PREFIXES[str(key).split("-")[0]] for key in each[:2]] == [source, target]
            ]
            tables.append(
                RelationshipTable(type=type_, source_type=source, target_type=target, columns=_columns(told), rows=rows)
            )
    load_graph(path, nodes, tables)


def _columns(told: str) -> tuple[tuple[str, ColumnType], ...]:
    kinds: dict[str, ColumnType] = {"STRING": "string", "INT64": "integer", "DOUBLE": "number"}
    return tuple((each.split()[0], kinds[each.split()[1]]) for each in told.split(", ") if each)
