"""The multi-turn tasks of BFCL as labelled requests: ``python -m research.bfcl_turns DATA OUT``.

DATA is the folder ``bfcl_eval/data`` of the package ``bfcl-eval`` (Apache-2.0), which is no dependency: unpack its wheel. Each turn with calls
is a request: the text of the user, the tools of its gold calls in order, and as ``done`` those of the turns before. The catalogue has the tools
of all tasks together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ontology.files import write_rows
from scripts.run_command import run_command

TASKS = "BFCL_v4_multi_turn_base.json"
CLASS_FILES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_CALL = re.compile(r"\w+")


def main(
    data: Annotated[Path, typer.Argument(help="the folder bfcl_eval/data")],
    out: Annotated[Path, typer.Argument(help="folder for tools.jsonl and queries.jsonl")],
) -> None:
    """Write the catalogue and the requests."""
    out.mkdir(parents=True, exist_ok=True)
    tools = [tool for app in CLASS_FILES for tool in catalogue(data, app)]
    write_rows(out / "tools.jsonl", tools)
    turns = list(requests(data))
    write_rows(out / "queries.jsonl", turns)
    print(f"{len(tools)} tools, {len(turns)} turns")


def catalogue(data: Path, app: str) -> Iterator[dict[str, Any]]:
    """Yield the tools of one class of the package."""
    for row in _rows(data / "multi_turn_func_doc" / f"{CLASS_FILES[app]}.json"):
        required = row["parameters"].get("required", ())
        yield {
            "id": f"{app}.{row['name']}",
            "name": row["name"],
            "description": row["description"].partition("Tool description: ")[2] or row["description"],
            "parameters": [
                {
                    "name": name,
                    "type": schema.get("type", ""),
                    "description": schema.get("description", ""),
                    "required": name in required,
                }
                for name, schema in row["parameters"]["properties"].items()
            ],
            "returns": [
                {"name": name, "type": schema.get("type", ""), "description": schema.get("description", "")}
                for name, schema in row.get("response", {}).get("properties", {}).items()
            ],
            "metadata": {"app": app},
        }


def requests(data: Path) -> Iterator[dict[str, Any]]:
    """Yield one request for each turn with calls."""
    answers = {row["id"]: row["ground_truth"] for row in _rows(data / "possible_answer" / TASKS)}
    for row in _rows(data / TASKS):
        apps = {tool["name"]: tool["id"] for app in row["involved_classes"] for tool in catalogue(data, app)}
        done: list[str] = []
        for number, (messages, calls) in enumerate(zip(row["question"], answers[row["id"]], strict=True)):
            matches = [match for call in calls if (match := _CALL.match(call))]
            called = list(dict.fromkeys(apps[match[0]] for match in reversed(matches)))[
                ::-1
            ]  # the last call is the goal
            if called:
                text = " ".join(each["content"] for each in messages if each["role"] == "user")
                yield {
                    "id": f"{row['id']}.{number}",
                    "query": text,
                    "tools": called,
                    "ordered": True,
                    "done": list(dict.fromkeys(done)),
                }
            done += called


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    run_command(main)
