"""An operation as a reader gives it, with JSON Schemas, and the tool that it becomes: this is the same for all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from egotools.call import Argument, Call
from ingest.sources.json_schema.schema import Fields, Lookup, flatten, local_lookup, object_schema
from ingest.sources.json_schema.self_contained import Definitions, SelfContained, self_contained
from ingest.sources.source import RejectedRecord
from ontology.tool import Dependency, Tool


@dataclass(frozen=True, slots=True)
class CallInput:
    """One property of the input schema of a tool."""

    argument: Argument  # its name and its place in the request
    schema: Any  # its JSON Schema, as the document has it
    required: bool = False
    description: str = ""  # of the input, where it is not that of its schema
    shown: str = ""  # its place in the flat view, where it is another one than in the call

    @property
    def name(self) -> str:
        """Its name in the input schema."""
        return self.argument.name


def distinct_names(inputs: Iterable[CallInput]) -> list[CallInput]:
    """Of two inputs of one name the later has its location before it: ``id`` and ``body_id``."""
    found: dict[str, CallInput] = {}
    for each in inputs:
        name = each.name
        while name in found:
            name = f"{each.argument.location}_{name}"
        if name != each.name:
            each = replace(each, argument=replace(each.argument, name=name, wire_name=each.name))
        found[name] = each
    return list(found.values())


def arguments_of(inputs: Iterable[CallInput]) -> tuple[Argument, ...]:
    """The place of each input in the request."""
    return tuple(each.argument for each in inputs)


def arguments_schema(inputs: Sequence[CallInput]) -> dict[str, Any]:
    """The schema of an object that has the inputs as its properties."""
    schemas = {each.name: each.schema for each in inputs}
    for each in inputs:
        if each.description and isinstance(each.schema, Mapping):
            schemas[each.name] = {**each.schema, "description": each.description}
    return object_schema(schemas, (each.name for each in inputs if each.required))


class Output(NamedTuple):
    """The answer of an operation."""

    schema: Any  # the JSON Schema whose fields are the flat view
    whole: Any = None  # the schema of the whole answer, where it has an envelope around that
    prefix: str = ""  # stands before the name of each field


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a reader says of one operation."""

    id: str
    description: str = ""
    # The inputs with their places; or the JSON Schema of all arguments, which then have none; None for no schema.
    inputs: Sequence[CallInput] | Mapping[str, Any] | None = None
    values: Any = None  # schema of further arguments (``additionalProperties``), or None
    output: Output | Exception | None = None  # None where nothing is said of it; the error where it cannot be read
    depends_on: tuple[Dependency, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    call: Call | None = None


class _Part(NamedTuple):
    """The flat view of a schema, and the whole one."""

    fields: Fields = Fields()
    whole: SelfContained | None = None


# The places that the flat view has otherwise than the call.
_SHOWN = {"form": "body", "filter": "query", "argument": ""}


class Schemas:
    """The JSON Schemas of one document, each definition converted once; without ``lookup`` each schema has definitions of its own."""

    def __init__(self, lookup: Lookup | None = None) -> None:
        self._lookup = lookup
        self._answers: dict[str, Fields] = {}  # many operations have one answer
        self._definitions = Definitions(lookup) if lookup is not None else None

    def tools(self, subject: str, read: Callable[[], Operation]) -> Iterator[Tool | RejectedRecord]:
        """Yield the tool of an operation, or why there is none, whatever ``read`` raises; outputs that cannot be read are a record alone."""
        try:
            operation = read()
            inputs = self._inputs(operation)
        except Exception as error:
            yield RejectedRecord.of_error(subject, error)
            return
        outputs = _Part()
        try:
            outputs = self._outputs(operation.output)
        except Exception as error:
            yield RejectedRecord.of_error(subject, error, "The tool is kept without its outputs.")
        parts: dict[str, Fields | SelfContained | None] = {
            "parameters": inputs.fields,
            "returns": outputs.fields,
            "input_schema": inputs.whole,
            "output_schema": outputs.whole,
        }
        cut = [name for name, part in parts.items() if part is not None and part.cut]
        told = [f"{name}: only the first fields of a large or deep schema are kept" for name in cut]
        yield Tool(
            id=operation.id,
            name=operation.id,
            description=operation.description,
            parameters=inputs.fields.parameters,
            returns=outputs.fields.parameters,
            depends_on=operation.depends_on,
            metadata={**operation.metadata, **({"cut": told} if told else {})},
            input_schema=inputs.whole.schema if inputs.whole else None,
            output_schema=outputs.whole.schema if outputs.whole else None,
            call=operation.call,
        )

    def _inputs(self, operation: Operation) -> _Part:
        inputs = operation.inputs
        if inputs is None:
            return _Part()
        if isinstance(inputs, Mapping):
            return _Part(self._flat(inputs), self._whole(inputs))
        members: list[CallInput] = []  # of the body: flat together, as the fields of one object
        groups: list[list[CallInput]] = []
        for each in inputs:
            if each.argument.location in ("body", "form") and not each.argument.whole_body:
                members.append(each)
            else:
                groups.append([each])
        parts: list[Fields] = []
        for group in (*groups, members):
            if group:
                place = group[0].argument.location
                location = group[0].shown or _SHOWN.get(place, place)
                parts.append(self._flat(arguments_schema(group), location=location))
        schema = arguments_schema(inputs)
        if operation.values is not None:
            schema["additionalProperties"] = operation.values
        parameters = tuple(parameter for part in parts for parameter in part.parameters)
        return _Part(Fields(parameters, any(part.cut for part in parts)), self._whole(schema))

    def _outputs(self, output: Output | Exception | None) -> _Part:
        if output is None:
            return _Part()
        if isinstance(output, Exception):
            raise output
        fields, cut = self._flat(output.schema, output=True)
        if output.prefix:
            fields = tuple(replace(each, name=f"{output.prefix}{each.name}") for each in fields)
        whole = self._whole(output.schema if output.whole is None else output.whole, output=True)
        return _Part(Fields(fields, cut), whole)

    def _flat(self, schema: Any, *, location: str = "", output: bool = False) -> Fields:
        ref = schema.get("$ref") if output and isinstance(schema, Mapping) and len(schema) == 1 else None
        if self._lookup is None or not isinstance(ref, str):
            return flatten(schema, lookup=self._lookup, location=location, output=output)
        if ref not in self._answers:
            self._answers[ref] = flatten(schema, lookup=self._lookup, output=output)
        return self._answers[ref]

    def _whole(self, schema: Any, *, output: bool = False) -> SelfContained:
        lookup = self._lookup or local_lookup(schema)
        return self_contained(schema, lookup, output=output, definitions=self._definitions)
