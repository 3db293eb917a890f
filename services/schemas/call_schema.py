"""A tool as the call schema of an agent runtime: OpenAI function (also in strict mode), Anthropic tool or MCP tool."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from egotools.calling.input_arguments import kinds, legal_keys, properties_of, required_parts
from ontology.errors import InvalidArgumentError
from ontology.json_values import as_dict
from ontology.tool import Tool
from services.schemas.input_schema import MAX_DESCRIPTION, input_schema, shortened
from services.schemas.strict_schema import strict_schema

MAX_NAME = 64  # characters of a name: the limit of OpenAI and Anthropic
# Chosen, not tuned. Six digits: two of 1,000 shortened names that are alike but for them meet with 3 %, and only such names can.
_HASH_DIGITS = 6
_MAX_NAMESPACE = 24  # so that most of the name has room
_LEGAL_NAME = re.compile(r"^[a-zA-Z0-9_-]+\Z")
_ILLEGAL_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[_-]+")
# A part of an id with one of these could give two ids one name: "a/b" and "a__b", "a-.b" and "a.-b".
_AMBIGUOUS = re.compile(r"__|--|\.\.|-\.|\.-")


def call_name(tool: Tool) -> str:
    """The name by which a model calls the tool: 1 to 64 characters of ``a-z A-Z 0-9 _ -``, different for different ids.
    It depends on the tool alone, so it is the same in every response and every snapshot. A legal id is its own name;
    ``namespace/name`` becomes ``namespace__name``, a point ``--``. An id that is too long or not legal is shortened:
    words that stand twice are left out, then words after the first; six hex digits of the hash of the id follow."""
    id_has_name = tool.id == tool.name or tool.id.endswith("/" + tool.name)
    if id_has_name:
        if len(tool.id) <= MAX_NAME and _LEGAL_NAME.match(tool.id) and not _AMBIGUOUS.search(tool.id):
            return tool.id
        pure = tool.id.replace("/", "__").replace(".", "--")
        if len(pure) <= MAX_NAME and all(map(_is_pure, tool.id.split("/"))):
            return pure
    digest = hashlib.sha256(tool.id.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
    namespace = tool.id.removesuffix("/" + tool.name) if id_has_name and tool.id != tool.name else ""
    return f"{_shortened(namespace, tool.name, MAX_NAME - _HASH_DIGITS - 1) or 'tool'}_{digest}"


def _is_pure(part: str) -> bool:
    """Whether a part of an id stays legal, and the part of no other id, where its points are replaced."""
    legal = _LEGAL_NAME.match(part.replace(".", "_")) and not _AMBIGUOUS.search(part)
    return bool(legal) and part.strip("_.-") == part


def _shortened(namespace: str, name: str, max_chars: int) -> str:
    """Namespace and name without repeated words, then without the words after the first, until they fit."""
    space = _ILLEGAL_IN_NAME.sub("_", namespace).strip("_-")
    words = _WORD.findall(_ILLEGAL_IN_NAME.sub("_", name).strip("_-"))
    if not words:
        return space[:max_chars]
    if len(space) > _MAX_NAMESPACE:
        space = space[:_MAX_NAMESPACE].rpartition("_")[0] or space[:_MAX_NAMESPACE]
    prefix = f"{space}__" if space else ""
    known = _WORD.findall(space)
    if len(words) > 2 and words[0] in known:  # "compute/compute.networks.list"
        words = words[2:] if not words[1].isalnum() else words[1:]
    while sum(map(len, words)) > max_chars - len(prefix) and len(words) > 2:
        seen = {word.lower() for word in known}
        dropped = 1 if words[1].isalnum() else 2  # where none stands before, or in the namespace
        for number, word in enumerate(words):
            if number and word.isalnum() and word.lower() in seen:
                dropped = number
                break
            seen.add(word.lower())
        del words[dropped]
        pairs = zip(["", *words], words, strict=False)  # of several separators in a row one is left
        words = [word for before, word in pairs if word.isalnum() or before.isalnum()]
    return (prefix + "".join(words).strip("_-"))[:max_chars].rstrip("_-")


# Model vendors refuse these beside ``type: object`` at the top of a tool's parameters.
_NOT_AT_TOP = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "enum", "const", "$ref")
_MAX_SETS = 10


class _Made(NamedTuple):
    """A schema as JSON values, and what it cannot say, one sentence each without its stop."""

    schema: dict[str, Any]
    notes: tuple[str, ...] = ()


def accepted_schema(schema: Mapping[str, Any], *, rename: bool = False) -> _Made:
    """The schema as an object at its top; the values that the source describes stay valid. The inputs of all parts and
    alternatives at the top are among its properties; those of alternatives are optional, and a note says which belong
    together. ``rename`` gives properties names of 1 to 64 characters of ``a-z A-Z 0-9 _ . -``, as some runtimes
    require; a renamed one has its own name as ``title``."""
    schema = as_dict(schema)
    top: dict[str, Any] = {key: value for key, value in schema.items() if key not in _NOT_AT_TOP}
    notes: list[str] = []
    if not schema.keys().isdisjoint(_NOT_AT_TOP):
        parts = list(required_parts(schema, schema))
        top["properties"] = properties_of(schema, schema)
        names = [name for part in parts for name in part.get("required", ()) if name in top["properties"]]
        if names:
            top["required"] = list(dict.fromkeys(names))
        for branches in (part[key] for part in parts for key in ("oneOf", "anyOf") if isinstance(part.get(key), list)):
            if len(sets := {", ".join(properties_of(branch, schema)) for branch in branches} - {""}) > 1:
                listed = "; or ".join(sorted(sets)[:_MAX_SETS])
                more = f"; or {len(sets) - _MAX_SETS} more" if len(sets) > _MAX_SETS else ""
                notes.append(f"The tool takes one of these sets of inputs: {listed}{more}")
    if notes:
        top["description"] = " ".join([str(top.get("description") or ""), *(f"{note}." for note in notes)]).strip()
    top["type"] = "object"
    top.setdefault("properties", {})
    return _Made(_walk(top, rename), tuple(notes))


def _walk(node: Any, rename: bool) -> Any:
    if isinstance(node, list):
        return [_walk(inner, rename) for inner in node]
    if not isinstance(node, Mapping):
        return node
    walked = {
        key: value if key in ("default", "examples", "enum", "const") else _walk(value, rename)
        for key, value in node.items()
        if key not in ("properties", "required", "$defs")
    }
    if "items" not in walked and "array" in (types if isinstance(types := node.get("type"), list) else [types]):
        walked["items"] = {}  # vendors refuse a list that does not state them
    if isinstance(walked.get("description"), str):
        walked["description"] = shortened(walked["description"], MAX_DESCRIPTION)
    properties = node.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    keys = legal_keys(names) if rename else {name: name for name in names}
    if isinstance(properties, Mapping):
        walked["properties"] = {}
        for name in names:
            inner = _walk(properties[name], rename)
            titled = name != keys[name] and isinstance(inner, dict)
            walked["properties"][keys[name]] = {**inner, "title": name} if titled else inner
    if isinstance(node.get("required"), list):
        walked["required"] = [keys.get(name, name) for name in node["required"]]
    if isinstance(node.get("$defs"), Mapping):
        walked["$defs"] = {name: _walk(inner, rename) for name, inner in node["$defs"].items()}
    return walked


_LOG = logging.getLogger(__name__)
_MAX_OPENAI_DESCRIPTION = 1_024
# The formats of call schemas; ``none`` leaves the schema out
SCHEMA_FORMATS = ("none", "openai", "anthropic", "mcp", "openai_strict")


class CallSchema(NamedTuple):
    """A call schema as one line of JSON, and what its reader should know: why it is not strict, or not there."""

    json: str
    notes: tuple[str, ...] = ()


def call_schema(tool: Tool, schema_format: str) -> CallSchema:
    """The call schema with its notes; both are empty for the format ``none``.

    A tool whose schema cannot be made has a note that says so and no schema: the other tools of an answer have theirs.

    :raises InvalidArgumentError: for an unknown format.
    """
    if schema_format == "none":
        return CallSchema("")
    if schema_format not in SCHEMA_FORMATS:
        problem, remedy = f"there is no schema format {schema_format!r}", f"Use one of {', '.join(SCHEMA_FORMATS)}"
        raise InvalidArgumentError(problem, subject="schema_format", remedy=remedy)
    try:
        made = _mcp(tool) if schema_format == "mcp" else _function(tool, schema_format)
        line = json.dumps(made.schema, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        notes = tuple(f"{note}." for note in made.notes)
        return CallSchema(line.encode("utf-8", "replace").decode("utf-8"), notes)
    except Exception as error:  # documents hold what nobody foresaw; RecursionError is one of these
        _LOG.warning("the %s schema of %s cannot be made: %s", schema_format, tool.id, type(error).__name__)
        note = f"The schema is left out: its source cannot be written in the format {schema_format} ({type(error).__name__})."
        return CallSchema("", (note,))


def _function(tool: Tool, schema_format: str) -> _Made:
    """In strict mode, or where that is not possible as it is, with ``strict: false``."""
    known = tool.input_schema if tool.input_schema is not None else input_schema(tool.parameters)
    arguments, notes = accepted_schema(known, rename=schema_format == "anthropic")
    most = MAX_DESCRIPTION if schema_format == "anthropic" else _MAX_OPENAI_DESCRIPTION
    named = {"name": call_name(tool), "description": shortened(tool.description or tool.title, most)}
    if schema_format == "anthropic":
        return _Made({**named, "input_schema": arguments}, notes)
    function: dict[str, Any] = {**named, "parameters": arguments}
    if schema_format == "openai_strict":
        strict: dict[str, Any] | None = None
        reasons = notes
        if not reasons:
            try:
                strict, reasons = strict_schema(arguments)
            except Exception as error:  # which costs the strict form alone; RecursionError is one of these
                reasons = (f"Its source cannot be written so ({type(error).__name__})",)
        function |= {"parameters": arguments if strict is None else strict, "strict": strict is not None}
        notes = tuple(f"Strict mode is not possible. {reason}" for reason in reasons)
    return _Made({"type": "function", "function": function}, notes)


def _mcp(tool: Tool) -> _Made:
    inputs = as_dict(tool.input_schema) if tool.input_schema is not None else input_schema(tool.parameters)
    schema: dict[str, Any] = {
        "name": call_name(tool),
        "title": tool.title,
        "description": shortened(tool.description or tool.title, MAX_DESCRIPTION),
        "inputSchema": inputs if inputs.get("type") == "object" else {**inputs, "type": "object"},
    }
    outputs = as_dict(tool.output_schema) if tool.output_schema is not None else input_schema(tool.returns)
    if kinds(outputs, outputs) != frozenset({"object"}):
        return _Made(schema, ("outputSchema is left out: the answer is no object, and MCP describes objects only",))
    if tool.output_schema is not None or tool.returns:
        schema["outputSchema"] = outputs if "type" in outputs else {**outputs, "type": "object"}
    return _Made(schema)
