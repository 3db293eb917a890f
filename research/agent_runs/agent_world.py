"""The world of one task: the mock company over HTTP, two MCP servers, and ``egotools mcp`` before them; and what a run has changed in it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mcp import StdioServerParameters

from examples.company.mock_company import served_company
from examples.company.shipped_documents import SHIPPED_CATALOG
from research.agent_runs.side_servers import SERVERS, seed_records

__all__ = ["AgentWorld", "Records", "Task", "agent_world", "build_catalogue", "filled", "read_tasks", "solved"]

_TASKS = Path(__file__).resolve().parent / "tasks.jsonl"
Records: TypeAlias = dict[tuple[str, str], dict[str, Any]]
"""(What identifies a record, its id) → its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A request and how its outcome is checked.

    :param calls: that serve it, in order: ``need`` in words, ``tool``, and ``arguments``, where ``$1.items.0.id`` is a value of the first answer.
    :param answer: texts that the last words to the user must have.
    :param compared: field that identifies a record → fields that must be as after ``calls``. No other record may differ.
    """

    id: str
    request: str
    calls: tuple[Mapping[str, Any], ...]
    answer: tuple[str, ...]
    compared: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class AgentWorld:
    """A running world.

    :param server: how the MCP server is started.
    """

    folder: Path
    server: StdioServerParameters

    def changed(self) -> Records:
        """The records that are not as they were: (what identifies it, its id) → its fields now."""
        now = {**_company_records(self.folder), **_side_records(self.folder)}
        before = {**_company_records(self.folder / "before"), **_side_records(self.folder / "before")}
        return {key: fields for key, fields in now.items() if before.get(key) != fields}


def read_tasks() -> list[Task]:
    """The tasks: ten of the company's requests (``examples/enterprise/company_requests.jsonl``), ten written for these servers."""
    rows = map(json.loads, _TASKS.read_text(encoding="utf-8").splitlines())
    return [Task(**{**row, **{name: tuple(row[name]) for name in ("calls", "answer")}}) for row in rows]


def build_catalogue(store: Path, folder: Path) -> int:
    """Publish the 312 tools of the shipped catalogue and the 40 of the two servers; returns their number."""
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    addresses = [str(SHIPPED_CATALOG), *(f"{name}=mcp:{_command(name, folder)}" for name in SERVERS)]
    return build_snapshot(addresses, store, encoder=load_encoder(DEFAULT_ENCODER)).tools


def _command(name: str, folder: Path) -> str:
    return f"{sys.executable} -m research.agent_runs.side_servers {name} {folder / name}.json"


@contextmanager
def agent_world(folder: Path, address: str) -> Iterator[AgentWorld]:
    """A new world in an empty folder; ``address`` is the gRPC server's."""
    with served_company(SHIPPED_CATALOG, folder) as systems:
        shutil.copytree(folder, folder / "before")
        options = ["--server", address]
        options += [word for name, url in sorted(systems.items()) for word in ("--base-url", f"{name}={url}")]
        options += [word for name in SERVERS for word in ("--session", f"{name}=mcp:{_command(name, folder)}")]
        command = ["-m", "services.cli", "mcp", *options]
        yield AgentWorld(folder, StdioServerParameters(command=sys.executable, args=command))


def _company_records(folder: Path) -> Records:
    with closing(sqlite3.connect(folder / "company.sqlite")) as store:
        return {
            (kind, id): json.loads(fields) for kind, id, fields in store.execute("SELECT kind, id, fields FROM records")
        }


def _side_records(folder: Path) -> Records:
    found: Records = {}
    for name in SERVERS:
        file = folder / f"{name}.json"
        records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else seed_records(name)
        found |= {
            (next(field for field in record if field.endswith("Id")), id): record for id, record in records.items()
        }
    return found


def solved(task: Task, said: str, changed: Records, gold: Records) -> str:
    """Why a run did not solve its task; empty where it did.

    :param gold: what the task's calls changed in a world of their own.
    """
    missing = [text for text in task.answer if not re.search(rf"(?<!\w){re.escape(text)}(?!\w)", said)]
    if missing:
        return f"not said: {', '.join(missing)}"
    if set(changed) != set(gold):
        return f"changed {sorted(set(changed) ^ set(gold))} otherwise"
    wrong = [
        f"{key[1]}.{name}"
        for key in gold
        for name in task.compared.get(key[0], ())
        if str(changed[key].get(name)) != str(gold[key].get(name))
    ]
    return f"other values: {', '.join(wrong)}" if wrong else ""


def filled(arguments: Mapping[str, Any], answers: list[list[Any]]) -> list[dict[str, Any]]:
    """The arguments of a call with values of earlier answers; several where ``*`` takes a value out of every item of a list."""
    made: list[dict[str, Any]] = [{}]
    for name, value in arguments.items():
        values = _values(value, answers) if isinstance(value, str) and value.startswith("$") else [value]
        made = [{**each, name: one} for each in made for one in values]
    return made


def _values(path: str, answers: list[list[Any]]) -> list[Any]:
    number, *parts = path.removeprefix("$").split(".")
    values = list(answers[int(number) - 1])
    for part in parts:
        if part == "*":
            values = [item for value in values for item in value]
        else:
            values = [value[int(part)] if isinstance(value, list) else value[part] for value in values]
    return values
