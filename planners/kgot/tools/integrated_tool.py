"""A tool that runs in this process: what a model is told of it, what it takes, and the function behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from egotools import Tool
from egotools.call import Argument, Call
from ontology.errors import InvalidArgumentError
from ontology.tool_effects import Effect

__all__ = ["MAX_DESCRIPTION", "IntegratedTool"]

MAX_DESCRIPTION = 1_024
"""Characters of a description: servers with the OpenAI interface refuse a function with more."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # legal as a function of every model runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegratedTool:
    """One tool.

    :param name: letters, digits and ``_``.
    :param inputs: name → JSON Schema of each argument.
    :param required: names of the arguments without which it cannot be called.
    :param function: takes the arguments by name; returns JSON values, or a whole :class:`ToolAnswer`.
    :param check: raises why the tool cannot be used here; None: it always can.
    :param timeout_s: seconds for a call.
    :raises InvalidArgumentError: when the name is none, the description is empty or too long, or a required argument is unknown.
    """

    name: str
    description: str
    function: Callable[..., Awaitable[Any]]
    inputs: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    effect: Effect = "read"
    check: Callable[[], Awaitable[None]] | None = None
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidArgumentError(
                "this is no name of a tool", subject=self.name, remedy="Use letters, digits and _, at most 64"
            )
        if not 0 < len(self.description.strip()) <= MAX_DESCRIPTION:
            raise InvalidArgumentError(
                f"the description has {len(self.description):,} characters",
                subject=self.name,
                remedy=f"Use 1 to {MAX_DESCRIPTION:,}",
            )
        if unknown := set(self.required) - set(self.inputs):
            raise InvalidArgumentError(
                f"the required argument {min(unknown)!r} is not among its inputs", subject=self.name
            )

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.inputs.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def document(self, namespace: str) -> dict[str, Any]:
        """Return the tool as a row of a table of tools, which ``egotools build`` reads; its id is ``NAMESPACE/NAME``."""
        return {
            "id": f"{namespace}/{self.name}",
            "name": self.name,
            "description": self.description,
            "parameters": [
                {"name": name, "type": _type(schema), "description": schema.get("description", "")}
                | {"required": name in self.required}
                for name, schema in self.inputs.items()
            ],
            "returns": [
                {"name": name, "type": _type(schema), "description": schema.get("description", "")}
                for name, schema in self.outputs.items()
            ],
            "input_schema": self.schema,
            "call": {
                "protocol": "python",
                "operation": f"{namespace}:{self.name}",
                "arguments": [{"name": name, "location": "argument"} for name in self.inputs],
            },
            "metadata": {"namespace": namespace, **self._hints()},
        }

    def tool(self, namespace: str) -> Tool:
        """Return the tool as the service would return it, for who binds tools without asking the service."""
        return Tool(
            id=f"{namespace}/{self.name}",
            name=self.name,
            title=self.name,
            description=self.description,
            namespace=namespace,
            input_schema_json=json.dumps(self.schema),
            call=self.call(namespace),
            call_name=self.name,
            effect=self.effect,
        )

    def call(self, namespace: str) -> Call:
        """Return how it is called."""
        arguments = tuple(Argument(name=name, location="argument") for name in self.inputs)
        return Call(protocol="python", operation=f"{namespace}:{self.name}", arguments=arguments)

    def _hints(self) -> dict[str, bool]:
        return {"read_only": self.effect == "read"} | ({"idempotent": True} if self.effect == "idempotent" else {})


def _type(schema: Mapping[str, Any]) -> str:
    return str(schema.get("type", "string"))
