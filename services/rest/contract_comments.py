"""The comments of the public contract, from the type stub that is generated with it: descriptors at run time have none."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from egotools.v1 import egotools_pb2, egotools_pb2_grpc

__all__ = ["comment"]


def comment(name: str) -> str:
    """Return the comment of a message (``RetrieveRequest``), a field (``RetrieveRequest.k``), an enum or a method of the service
    (``ToolRetrievalStub.Retrieve``); empty where it has none."""
    return _comments().get(name, "")


@cache
def _comments() -> dict[str, str]:
    found: dict[str, str] = {}
    for module in (egotools_pb2, egotools_pb2_grpc):
        stub = Path(str(module.__file__)).with_suffix(".pyi")
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = _one_line(ast.get_docstring(node) or "")
                found |= _members(node)
    return found


def _members(of: ast.ClassDef) -> dict[str, str]:
    """The comment of each field: the text after its annotation, or the docstring of its property."""
    found: dict[str, str] = {}
    for node, after in zip(of.body, [*of.body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.FunctionDef):
            found[f"{of.name}.{node.name}"] = _one_line(ast.get_docstring(node) or "")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(after, ast.Expr):
            text = ast.literal_eval(after.value) if isinstance(after.value, ast.Constant) else ""
            found[f"{of.name}.{node.target.id}"] = _one_line(str(text))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
