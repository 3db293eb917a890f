"""Two MCP servers over stdio with 20 tools each, whose records stand in a JSON file: ``python -m research.agent_runs.side_servers fleet FILE``.

``fleet`` has pool cars, drives, parking permits and charging; ``canteen`` has dishes, meal orders, diets and supplies.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from ontology.files import write_file

__all__ = ["SERVERS", "Kind", "seed_records"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record with five tools.

    :param tools: names of those that find, get, make, change and end a record.
    :param fields: name → description; the first one is the identifier.
    :param ended: the status of an ended record.
    """

    noun: str
    tools: tuple[str, str, str, str, str]
    fields: Mapping[str, str]
    ended: str
    seed: tuple[tuple[Any, ...], ...]

    @property
    def id(self) -> str:
        """The field that identifies a record."""
        return next(iter(self.fields))


_CAR = Kind(
    "pool car",
    ("find_cars", "get_car", "add_car", "change_car", "retire_car"),
    {"carId": "such as PC-104", "plate": "", "model": "", "site": "Leeds, Gdansk or Kassel", "seats": "", "status": ""},
    "retired",
    (
        ("PC-101", "LD21 KPX", "Kona", "Leeds", 5, "active"),
        ("PC-102", "KS-LP 771", "Multivan", "Kassel", 7, "active"),
        ("PC-103", "KS-LP 209", "Golf", "Kassel", 5, "active"),
        ("PC-104", "YK19 TRN", "Transit", "Leeds", 3, "active"),
    ),
)
_DRIVE = Kind(
    "drive in a pool car",
    ("find_drives", "get_drive", "reserve_car", "change_drive", "cancel_drive"),
    {
        "driveId": "such as DR-301",
        "carId": "",
        "employeeId": "who drives",
        "day": "YYYY-MM-DD",
        "to": "destination",
        "status": "",
    },
    "cancelled",
    (
        ("DR-301", "PC-101", "E10482", "2026-11-24", "Gdansk", "planned"),
        ("DR-302", "PC-104", "E10487", "2026-11-25", "Manchester", "planned"),
        ("DR-303", "PC-103", "E10486", "2026-11-26", "Hannover", "planned"),
    ),
)
_PERMIT = Kind(
    "parking permit",
    ("find_permits", "get_permit", "issue_permit", "change_permit", "revoke_permit"),
    {
        "permitId": "such as PP-51",
        "employeeId": "the holder",
        "plate": "",
        "site": "Leeds, Gdansk or Kassel",
        "validUntil": "YYYY-MM-DD",
        "status": "",
    },
    "revoked",
    (
        ("PP-51", "E10487", "KS-FL 88", "Kassel", "2026-12-31", "valid"),
        ("PP-52", "E10484", "GD 4471B", "Gdansk", "2027-06-30", "valid"),
    ),
)
_CHARGE = Kind(
    "charging session of an electric car",
    ("find_charges", "get_charge", "start_charge", "change_charge", "stop_charge"),
    {
        "chargeId": "such as CH-9001",
        "plate": "",
        "day": "YYYY-MM-DD",
        "kWh": "",
        "costCenterId": "who pays",
        "status": "",
    },
    "stopped",
    (
        ("CH-9001", "LD21 KPX", "2026-11-17", 41, "CC4127", "stopped"),
        ("CH-9002", "LD21 KPX", "2026-11-19", 17, "CC4121", "stopped"),
    ),
)
_DISH = Kind(
    "dish on the menu of the canteen",
    ("find_dishes", "get_dish", "add_dish", "change_dish", "withdraw_dish"),
    {
        "dishId": "such as DI-7",
        "title": "",
        "day": "YYYY-MM-DD",
        "contains": "allergens",
        "diet": "any, vegetarian or vegan",
        "status": "",
    },
    "withdrawn",
    (
        ("DI-7", "Lentil stew with parsnips", "2026-11-26", "celery", "vegan", "planned"),
        ("DI-8", "Pasta with walnut pesto", "2026-11-26", "nuts, gluten", "vegetarian", "planned"),
        ("DI-9", "Fish pie", "2026-11-27", "fish, milk", "any", "planned"),
    ),
)
_MEAL = Kind(
    "meal ordered in the canteen",
    ("find_meals", "get_meal", "order_meal", "change_meal", "cancel_meal"),
    {
        "mealId": "such as ME-1",
        "employeeId": "who eats",
        "dishId": "",
        "day": "YYYY-MM-DD",
        "portions": "",
        "status": "",
    },
    "cancelled",
    (("ME-1", "E10483", "DI-9", "2026-11-27", 1, "ordered"),),
)
_DIET = Kind(
    "diet of an employee, which the kitchen keeps to",
    ("find_diets", "get_diet", "record_diet", "change_diet", "remove_diet"),
    {
        "dietId": "such as DT-1",
        "employeeId": "",
        "diet": "any, vegetarian or vegan",
        "avoids": "allergens",
        "status": "",
    },
    "removed",
    (("DT-1", "E10486", "vegetarian", "", "kept"), ("DT-2", "E10484", "any", "nuts", "kept")),
)
_SUPPLY = Kind(
    "supply of the kitchen",
    ("find_supplies", "get_supply", "add_supply", "change_supply", "delist_supply"),
    {
        "supplyId": "such as SU-1",
        "title": "",
        "litres": "in stock",
        "supplier": "name of the company that delivers it",
        "status": "",
    },
    "delisted",
    (("SU-1", "oat milk", 0, "Acme Pumps GmbH", "listed"), ("SU-2", "olive oil", 12, "Elbe Seals Ltd", "listed")),
)
SERVERS: Mapping[str, tuple[Kind, ...]] = {
    "fleet": (_CAR, _DRIVE, _PERMIT, _CHARGE),
    "canteen": (_DISH, _MEAL, _DIET, _SUPPLY),
}
_VERBS = ("Find every {}; each input narrows it", "Get one {}", "Make a new {}", "Change a {}", "End a {}")


def seed_records(server: str) -> dict[str, dict[str, Any]]:
    """The records of a server before any call, by identifier."""
    return {str(row[0]): dict(zip(kind.fields, row, strict=True)) for kind in SERVERS[server] for row in kind.seed}


def _listed(kind: Kind) -> list[types.Tool]:
    fields = {name: {"type": "string", "description": text} for name, text in kind.fields.items()}
    own, rest = {kind.id: fields[kind.id]}, {name: value for name, value in fields.items() if name != kind.id}
    inputs = (rest, own, {**rest}, fields, own)
    required: tuple[list[str], ...] = ([], [kind.id], [name for name in rest if name != "status"], [kind.id], [kind.id])
    return [
        types.Tool(
            name=name,
            description=f"{verb.format(kind.noun)}.",
            input_schema={
                "type": "object",
                "properties": properties,
                "required": needed,
                "additionalProperties": False,
            },
            annotations=types.ToolAnnotations(read_only_hint=at < 2),
        )
        for at, (name, verb, properties, needed) in enumerate(zip(kind.tools, _VERBS, inputs, required, strict=True))
    ]


def _done(kind: Kind, at: int, given: dict[str, Any], records: dict[str, dict[str, Any]]) -> Any:
    """Do what the tool at a place of a kind does to the records; returns its answer."""
    if at == 0:
        mine = [record for id, record in sorted(records.items()) if kind.id in record and id == record[kind.id]]
        return [
            each for each in mine if all(str(want).lower() in str(each[name]).lower() for name, want in given.items())
        ]
    if at == 2:
        prefix = str(kind.seed[0][0]).split("-")[0]
        given = {
            kind.id: f"{prefix}-NEW-{sum(kind.id == next(iter(each)) for each in records.values())}",
            "status": "new",
            **given,
        }
        records[given[kind.id]] = given
        return given
    record = records.get(str(given[kind.id]))
    if record is None or kind.id != next(iter(record)):
        raise KeyError(f"there is no {kind.noun} {given[kind.id]}")
    record.update(given if at == 3 else {"status": kind.ended} if at == 4 else {})
    return record


async def _serve(server: str, file: Path) -> None:
    places = {name: (kind, at) for kind in SERVERS[server] for at, name in enumerate(kind.tools)}

    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool for kind in SERVERS[server] for tool in _listed(kind)])

    async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        kind, at = places[params.name]
        records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else seed_records(server)
        try:
            answer, failed = json.dumps(_done(kind, at, dict(params.arguments or {}), records)), False
        except KeyError as error:
            answer, failed = str(error.args[0]), True
        if at > 1 and not failed:
            write_file(file, json.dumps(records))
        return types.CallToolResult(content=[types.TextContent(type="text", text=answer)], is_error=failed)

    made: Server[Any] = Server(server, on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2])))
