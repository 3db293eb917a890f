"""All operators there are: every module of this folder that has ``OPERATOR``, and those of folders that a caller adds."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from ontology.errors import InvalidArgumentError
from planners.graphseek import operators
from planners.graphseek.operators.operator import Group, Operator
from planners.stores.graph_schema import GraphSchema

__all__ = ["NAMESPACE", "known_operators", "operator_documents"]

NAMESPACE: Final = "graphseek"
_MOST_CHARACTERS = 400  # of a description


def known_operators(folders: Sequence[Path] = ()) -> dict[str, Operator]:
    """Return the operators by name, sorted.

    :param folders: with further operators, one in each file that does not begin with ``_``. Their code runs in this process.
    :raises InvalidArgumentError: when two have one name, a description is empty or too long, or a file is broken or has no ``OPERATOR``.
    """
    found: dict[str, Operator] = {}
    for module, operator in (*_own(), *_added(folders)):
        if operator.name in found:
            remedy = "Rename one of them"
            raise InvalidArgumentError(f"two operators are called {operator.name}", subject=module, remedy=remedy)
        if not 0 < len(operator.description) <= _MOST_CHARACTERS:
            problem = f"the description of {operator.name} has {len(operator.description)} characters"
            raise InvalidArgumentError(problem, subject=module, remedy=f"Use 1 to {_MOST_CHARACTERS}")
        found[operator.name] = operator
    return dict(sorted(found.items()))


def operator_documents(known: Iterable[Operator]) -> list[dict[str, Any]]:
    """Return operators as a table of tools that ``egotools build`` reads, without names of any graph: ids are ``graphseek/NAME``."""
    return [_document(each) for each in known]


def _own() -> Iterator[tuple[str, Operator]]:
    for info in pkgutil.iter_modules(operators.__path__):
        if not info.ispkg and info.name != __name__.rpartition(".")[2]:
            module = importlib.import_module(f"{operators.__name__}.{info.name}")
            if hasattr(module, "OPERATOR"):
                yield info.name, module.OPERATOR


def _added(folders: Sequence[Path]) -> Iterator[tuple[str, Operator]]:
    for folder in folders:
        files = sorted(folder.glob("[!_]*.py"))
        if not files:
            remedy = "Name a folder with a file for each operator"
            raise InvalidArgumentError("there is no operator in it", subject=str(folder), remedy=remedy)
        for path in files:
            yield str(path), _loaded(path)


def _loaded(path: Path) -> Operator:
    name = f"graphseek_added_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise InvalidArgumentError("this is no file of Python", subject=str(path))
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        specification.loader.exec_module(module)
        problem = _problem(getattr(module, "OPERATOR", None))
    except (Exception, SystemExit) as error:  # code of somebody else
        problem = f"it cannot be loaded: {type(error).__name__}: {error}"
    if problem:
        remedy = "See 'Operators of your own' in docs/ask.md"
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy)
    return module.OPERATOR  # type: ignore[no-any-return]


def _problem(operator: Any) -> str:
    """Return why something is no operator; empty where it is one."""
    if not all(hasattr(operator, each) for each in ("name", "group", "description", "parameters", "run")):
        return "it has no OPERATOR"
    if not (isinstance(operator.name, str) and operator.name.isidentifier() and isinstance(operator.description, str)):
        return "its name must be one word, and its description a text"
    if operator.group not in get_args(Group):
        return f"its group must be one of {', '.join(get_args(Group))}"
    try:
        _document(operator)
    except Exception as error:
        return f"its parameters are no JSON schema of an object: {type(error).__name__}: {error}"
    return ""


def _document(operator: Operator) -> dict[str, Any]:
    schema = operator.parameters(GraphSchema(nodes=(), relationships=()), ())
    inputs: Mapping[str, Any] = schema["properties"]
    return {
        "id": f"{NAMESPACE}/{operator.name}",
        "name": operator.name,
        "description": operator.description,
        "parameters": [
            {"name": name, "type": _type(each), "description": each.get("description", "")}
            | {"required": name in schema.get("required", ())}
            for name, each in inputs.items()
        ],
        "returns": [],
        "input_schema": schema,
        "call": {
            "protocol": "python",
            "operation": f"{NAMESPACE}:{operator.name}",
            "arguments": [{"name": name, "location": "argument"} for name in inputs],
        },
        "metadata": {"namespace": NAMESPACE, "read_only": True, "group": operator.group},
    }


def _type(schema: Mapping[str, Any]) -> str:
    named = schema.get("type", "object" if "anyOf" in schema else "string")
    return named if isinstance(named, str) else "string"
