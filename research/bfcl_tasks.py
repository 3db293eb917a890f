"""The multi-turn tasks of ``bfcl-eval`` as objects: its classes with the state of a task, its gold calls, its tools with how each is called.

The package is no dependency of the project. It is imported where it is installed, or from a folder.
"""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ingest.sources.document import Document
from ingest.sources.python.callables import describe_module
from ontology.errors import NotFoundError
from ontology.tool import Tool
from research.bfcl_turns import CLASS_FILES, TASKS, catalogue

__all__ = [
    "GoldCall",
    "GoldTask",
    "GoldTurn",
    "Objects",
    "answer_of",
    "as_modules",
    "called_directly",
    "find_package",
    "objects_of",
    "read_tasks",
    "same_state",
    "tool_rows",
]

_PACKAGE = "bfcl_eval"
_EVALUATION = f"{_PACKAGE}.eval_checker.multi_turn_eval"
_INSTALL = "python -m pip install --no-deps --target FOLDER bfcl-eval==2026.3.23 mpmath, and give FOLDER"

Objects = Mapping[str, Any]
"""Class → its object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCall:
    """A call of the answer.

    :param tool: ``Class.method``.
    :param arguments: by name, those by position too.
    :param text: as bfcl-eval writes it.
    """

    tool: str
    arguments: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTurn:
    """What the user says, and the calls that answer it; none where they cannot be made."""

    text: str
    calls: tuple[GoldCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTask:
    """One task.

    :param classes: whose objects it uses.
    :param config: class → the state that its object begins with.
    """

    id: str
    classes: tuple[str, ...]
    config: Mapping[str, Any]
    turns: tuple[GoldTurn, ...]


def find_package(folder: Path | None = None) -> Path:
    """Make the package importable, and return its folder of data.

    :param folder: the folder that holds it; None: where it is installed.
    :raises NotFoundError: when it is not there.
    """
    if folder is not None:
        sys.path.append(str(folder.absolute()))
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NotFoundError("it is not installed", subject=_PACKAGE, remedy=_INSTALL)
    return Path(found.submodule_search_locations[0]) / "data"


def tool_rows(data: Path) -> Iterator[dict[str, Any]]:
    """Yield the tools of all classes as rows of a catalogue: the package's documents, and how its methods are called."""
    for name in CLASS_FILES:
        for row in catalogue(data, name):
            described = next(iter(describe_module(Document(f"python:{_module(name)}:{row['id']}"))))
            if isinstance(described, Tool):
                called = described.to_json()
                yield {**row, "input_schema": called["input_schema"], "call": called["call"]}


def read_tasks(data: Path) -> Iterator[GoldTask]:
    """Yield the tasks in the order of the file."""
    inputs = {
        row["id"]: tuple(each["name"] for each in row["parameters"])
        for name in CLASS_FILES
        for row in catalogue(data, name)
    }
    answers = {row["id"]: row["ground_truth"] for row in _rows(data / "possible_answer" / TASKS)}
    for row in _rows(data / TASKS):
        tools = {tool.partition(".")[2]: tool for tool in inputs if tool.partition(".")[0] in row["involved_classes"]}
        yield GoldTask(
            id=row["id"],
            classes=tuple(row["involved_classes"]),
            config=row["initial_config"],
            turns=tuple(
                GoldTurn(
                    text=" ".join(each["content"] for each in messages if each["role"] == "user"),
                    calls=tuple(_call(text, tools, inputs) for text in calls),
                )
                for messages, calls in zip(row["question"], answers[row["id"]], strict=True)
            ),
        )


def objects_of(task: GoldTask) -> Objects:
    """New objects in the state with which a task begins."""
    return {name: _object(name, copy.deepcopy(task.config.get(name, {}))) for name in task.classes}


def as_modules(objects: Objects) -> dict[str, object]:
    """Objects for :class:`planners.calls.tool_access.PythonInvoker`: module → what has the object in the place of its class."""
    return {_module(name): SimpleNamespace(**{name: each}) for name, each in objects.items()}


def answer_of(objects: Objects, call: GoldCall) -> Any:
    """Make a call of the method itself, and return its answer; None where it raises."""
    name, _, method = call.tool.partition(".")
    try:
        return getattr(objects[name], method)(**call.arguments)
    except Exception:  # of the package; its own execution goes on as well
        return None


def called_directly(task: GoldTask) -> tuple[list[str], Objects]:
    """What bfcl-eval's own execution of all gold calls answers, and the objects after it."""
    execute = importlib.import_module(f"{_EVALUATION}.multi_turn_utils").execute_multi_turn_func_call
    texts = [call.text for turn in task.turns for call in turn.calls]
    answers, objects = execute(texts, task.config, list(task.classes), "gold", task.id)
    return answers, objects


def same_state(one: Objects, other: Objects) -> bool:
    """Whether the public attributes of all objects are equal, as bfcl-eval compares them."""
    return all(_state(one[name]) == _state(other[name]) for name in other)


def _state(each: object) -> dict[str, Any]:
    return {name: value for name, value in vars(each).items() if not name.startswith("_")}


def _object(name: str, config: Mapping[str, Any]) -> Any:
    made = getattr(importlib.import_module(_module(name)), name)()
    if hasattr(made, "_load_scenario"):
        made._load_scenario(config)
    return made


def _module(name: str) -> str:
    return f"{_EVALUATION}.func_source_code.{CLASS_FILES[name]}"


def _call(text: str, tools: Mapping[str, str], inputs: Mapping[str, tuple[str, ...]]) -> GoldCall:
    called = ast.parse(text, mode="eval").body
    if not isinstance(called, ast.Call) or not isinstance(called.func, ast.Name):
        raise ValueError(text)
    tool = tools[called.func.id]
    given = dict(zip(inputs[tool], called.args, strict=False)) | {
        each.arg or "": each.value for each in called.keywords
    }
    return GoldCall(tool=tool, arguments={name: ast.literal_eval(value) for name, value in given.items()}, text=text)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
