"""A run over the warehouse, in a process of its own: ``python -m tests.planners.journal.warehouse_run JOURNAL [repeat]``."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from egotools import Call, ClientError, Tool
from egotools.calling.invoker import ToolInvoker
from planners.calls.tool_access import PythonInvoker
from planners.journal.recorded import RecordedInvoker, Steps
from planners.journal.run_journal import open_run_journal

MODULE = "tests.planners.journal.warehouse_tools"
STEPS: tuple[tuple[str, dict[str, str]], ...] = (
    ("find_stock", {"material": "steel"}),
    ("find_stock", {"material": "tin"}),
    ("move_stock", {"material": "steel", "target": "Ulm"}),
    ("find_stock", {"material": "steel"}),
    ("move_stock", {"material": "tin", "target": "Ulm"}),
)


def tool(name: str) -> Tool:
    call = Call(protocol="python", operation=f"{MODULE}:{name}")
    effect = "read" if name.startswith("find") else "change"
    return Tool(id=name, name=name, title="", description="", namespace="", call=call, effect=effect)


async def steps(invoker: ToolInvoker) -> list[Any]:
    return [(await invoker.invoke(tool(name), arguments)).body for name, arguments in STEPS]


async def run(path: Path, *, repeat: bool) -> list[Any]:
    async def ask(asked: Tool, arguments: Mapping[str, Any]) -> bool:
        return repeat

    with open_run_journal(path) as journal:
        return await steps(RecordedInvoker(PythonInvoker([MODULE]), Steps(journal, faults="retried"), repeat=ask))


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(asyncio.run(run(Path(sys.argv[1]), repeat="repeat" in sys.argv))))
    except ClientError as error:
        sys.stdout.write(f"{error.reason} {error.subject}")
