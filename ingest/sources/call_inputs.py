"""The inputs of a call: each is one property of the input schema, with its place in the request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from egotools.call import Argument
from ingest.sources.json_schema.object_schema import object_schema

__all__ = ["CallInput", "arguments_schema", "distinct_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInput:
    """One property of the input schema of a tool.

    :param argument: its name and its place in the request.
    :param schema: its JSON Schema, as the document has it.
    :param description: of the input, where it is not that of its schema.
    """

    argument: Argument
    schema: Any
    required: bool = False
    description: str = ""

    @property
    def name(self) -> str:
        """Its name in the input schema."""
        return self.argument.name


def distinct_names(inputs: Iterable[CallInput]) -> Iterator[CallInput]:
    """Of two inputs of one name the later has its location before it: ``id`` and ``body_id``."""
    taken: set[str] = set()
    for each in inputs:
        name = each.name
        while name in taken:
            name = f"{each.argument.location}_{name}"
        taken.add(name)
        renamed = name != each.name
        yield replace(each, argument=replace(each.argument, name=name, wire_name=each.name)) if renamed else each


def arguments_schema(inputs: Iterable[CallInput]) -> dict[str, Any]:
    """The schema of an object that has the inputs as its properties."""
    listed = list(inputs)
    return object_schema({each.name: _described(each) for each in listed}, (e.name for e in listed if e.required))


def _described(each: CallInput) -> Any:
    if not each.description or not isinstance(each.schema, Mapping):
        return each.schema
    return {**each.schema, "description": each.description}
