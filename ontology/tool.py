"""A tool: one operation that an agent can call, as its document describes it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from egotools.call import Call
from ontology.errors import DocumentError
from ontology.json_values import as_dict, call_from_json, call_to_json, canonical_text
from ontology.names import noun_lemma, words


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """A named source.

    :param location: address, path or pattern, as it may be shown.
    :param namespaces: the namespaces of its tools.
    :param aliases: other names of the system.
    :param tools: number of its tools in the catalogue.
    """

    # Where pydantic reads one from a file, it takes no other field and converts no type.
    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read by pydantic, never changed

    name: str
    location: str
    namespaces: tuple[str, ...]
    owner: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    tools: int


CONTEXT_PARAMETERS = "context_parameters"
"""Key of the metadata: names of the inputs that name the surroundings of a call (project, account, region)."""
OVERLAY_ORIGINS = "overlay"
"""Key of the metadata: map from what an overlay file says of the tool to its origin: ``{"boost": "overlay.yaml:12"}``."""
PHRASES = "phrases"
"""Key of the metadata: everyday phrases that are no part of the document, ``{"texts": [...], "not_for": "...", "by": "..."}``."""
_TEXTS = ("format", "example", "default", "pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An input or an output of a tool.

    :param name: for a nested field its dotted path; ``[]`` marks the items of a list (``items[].order_id``).
    :param type: the type as in the document (``string``, ``integer``, ``array``, ``list<user_email>``, …).
    :param enum: the allowed values as text, in the order of the document.
    :param location: its location in an HTTP request: ``path``, ``query``, ``header``, ``body``, or empty.
    :param format: the format of the schema (``uuid``, ``date``, …) or empty.
    :param example: a value as an example, as text, or empty.
    :param default: the value that an absent input has, as text, or empty.
    :param pattern: the regular expression (ECMA 262) that a value matches, or empty.
    :param bounds: JSON Schema keywords that bound a value (``minimum``, ``maximum``, ``minLength``, ``maxLength``, ``minItems``,
        ``maxItems``, ``multipleOf``) and their numbers.
    """

    name: str
    type: str = "string"
    description: str = ""
    required: bool = False
    enum: tuple[str, ...] = ()
    location: str = ""
    format: str = ""
    example: str = ""
    default: str = ""
    pattern: str = ""
    bounds: tuple[tuple[str, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without empty optional fields."""
        row: dict[str, Any] = {name: getattr(self, name) for name in ("name", "type", "description", "required")}
        if self.enum:
            row["enum"] = list(self.enum)
        if self.location:
            row["in"] = self.location
        row.update((key, value) for key in _TEXTS if (value := getattr(self, key)))
        if self.bounds:
            row["bounds"] = dict(self.bounds)
        return row

    @classmethod
    def from_json(cls, row: Any) -> Parameter:
        """Parse the JSON form.
        :raises DocumentError: with the invalid field as its subject.
        """
        if not isinstance(row, Mapping):
            raise _wrong(f"a parameter must be an object, not {type(row).__name__}", "parameters")
        name = row.get("name")
        if not isinstance(name, str) or not name.strip():
            raise _wrong("a parameter has no name", "parameters.name")
        enum = row.get("enum") or ()
        if not isinstance(enum, (list, tuple)):
            raise _wrong("enum must be a list", f"parameters.{name}.enum")
        return cls(
            name=name.strip(),
            type=_text(row.get("type")) or "string",
            description=_text(row.get("description")),
            required=row.get("required") is True,
            enum=tuple(_text(value) for value in enum),
            location=_text(row.get("in")),
            bounds=_bounds(row.get("bounds"), name),
            **{key: _text(row.get(key)) for key in _TEXTS},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A dependency that the document declares: this tool needs the tool ``tool``, or is called after it.

    :param tool: id of the needed tool.
    :param parameter: the input that is filled, or empty.
    :param output: the output of ``tool`` that fills it, or empty.
    :param reason: the declaration (``openapi link GetOrder``, ``navigation to_Item``).
    :param required: whether this tool cannot do without ``tool``; False where it can only be called after it.
    """

    tool: str
    parameter: str = ""
    output: str = ""
    reason: str = ""
    required: bool = True

    def to_json(self) -> dict[str, str | bool]:
        """Return the JSON form, without empty fields; ``required`` only where it is False."""
        row = {"tool": self.tool, "parameter": self.parameter, "output": self.output, "reason": self.reason}
        filled: dict[str, str | bool] = {key: value for key, value in row.items() if value}
        return filled if self.required else {**filled, "required": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One operation that an agent can call.

    :param id: unique in the catalogue; ``namespace/name`` unless the document has ids.
    :param name: the name by which an agent calls it.
    :param parameters: inputs, in the order of the document.
    :param returns: outputs of a successful call, in the order of the document.
    :param depends_on: dependencies that the document declares.
    :param metadata: JSON values by key: ``title``, ``namespace``, ``format``, ``tags``, ``line_of_business``,
        ``method``, ``path``, …
    :param input_schema: the JSON Schema (Draft 2020-12) of the arguments as the source has it, an object without references
        to the outside; None where the source has none. Tools that were just read have it as a :class:`JsonObject`.
    :param output_schema: the same of a successful answer.
    :param call: how the tool is called; None where the source does not say.
    """

    id: str
    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    returns: tuple[Parameter, ...] = ()
    depends_on: tuple[Dependency, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    call: Call | None = None

    @property
    def title(self) -> str:
        """The title in the document, else the name."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) and title else self.name

    @property
    def namespace(self) -> str:
        """The namespace of its document, or empty."""
        namespace = self.metadata.get("namespace")
        return namespace if isinstance(namespace, str) else ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: a row of ``tools.jsonl``."""
        row = self._row()
        row.update((key, as_dict(schema)) for key, schema in self._schemas())
        return row

    def canonical_json(self) -> str:
        """Return the JSON form as one line with sorted keys, for hashing: equal tools have equal text."""
        bare = replace(self, parameters=(), returns=())
        fields = {key: canonical_text(value) for key, value in (*bare._row().items(), *self._schemas())}
        for key, values in (("parameters", self.parameters), ("returns", self.returns)):
            if values or key in fields:
                fields[key] = f"[{','.join(_parameter_text(each, repr(each.bounds)) for each in values)}]"
        return "{" + ",".join(f'"{key}":{fields[key]}' for key in sorted(fields)) + "}"

    def _schemas(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for key, schema in (("input_schema", self.input_schema), ("output_schema", self.output_schema)):
            if schema is not None:
                yield key, schema

    def _row(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "parameters": [parameter.to_json() for parameter in self.parameters],
        }
        if self.returns:
            row["returns"] = [output.to_json() for output in self.returns]
        if self.depends_on:
            row["depends_on"] = [dependency.to_json() for dependency in self.depends_on]
        if self.metadata:
            row["metadata"] = dict(self.metadata)
        if self.call is not None:
            row["call"] = call_to_json(self.call)
        return row

    @classmethod
    def from_json(cls, row: Any) -> Tool:
        """Parse the JSON form; without a ``name``, the ``title`` is the name.
        :raises DocumentError: with the missing or invalid field as its subject.
        """
        if not isinstance(row, Mapping):
            raise _wrong(f"a tool must be an object, not {type(row).__name__}")
        name = _text(row.get("name")).strip() or _text(row.get("title")).strip()
        if not name:
            raise DocumentError(
                "the tool has no name", subject="name", remedy="Give it a name or a title", reason="no-name"
            )
        given = row.get("metadata") or {}
        if not isinstance(given, Mapping):
            raise _wrong("metadata must be an object", "metadata")
        metadata = dict(given)
        title = _text(row.get("title")).strip()
        if title:
            metadata.setdefault("title", title)
        return cls(
            id=_text(row.get("id")).strip() or name,
            name=name,
            description=_text(row.get("description")),
            parameters=tuple(map(Parameter.from_json, _rows(row, "parameters"))),
            returns=tuple(map(Parameter.from_json, _rows(row, "returns"))),
            depends_on=tuple(map(_dependency, _rows(row, "depends_on"))),
            metadata=metadata,
            input_schema=_schema(row, "input_schema"),
            output_schema=_schema(row, "output_schema"),
            call=None if row.get("call") is None else call_from_json(row["call"]),
        )


def without_dependencies(tools: Iterable[Tool], left_out: Collection[str]) -> tuple[Tool, ...]:
    """Return the tools without their dependencies on those that are left out, which are named by ids or names."""
    return tuple(
        replace(tool, depends_on=tuple(one for one in tool.depends_on if one.tool not in left_out))
        if any(one.tool in left_out for one in tool.depends_on)
        else tool
        for tool in tools
    )


@lru_cache(maxsize=1 << 16)  # the tools of a document repeat the fields of its objects
def _parameter_text(parameter: Parameter, bounds: str) -> str:
    """:param bounds: tell parameters apart of which one is bounded by 1 and the other by 1.0."""
    return canonical_text(parameter.to_json())


def _wrong(problem: str, subject: str = "") -> DocumentError:
    return DocumentError(problem, subject=subject, reason="wrong-type")


def _schema(row: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    value = row.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise _wrong(f"{key} must be an object, not {type(value).__name__}", key)
    return value


def _bounds(value: Any, name: str) -> tuple[tuple[str, float], ...]:
    if not value:
        return ()
    if not isinstance(value, Mapping) or not all(isinstance(bound, (int, float)) for bound in value.values()):
        raise _wrong("bounds must be an object of numbers", f"parameters.{name}.bounds")
    return tuple((str(keyword), bound) for keyword, bound in value.items())


def _rows(row: Mapping[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong(f"{key} must be a list, not {type(value).__name__}", key)
    return value


def _dependency(row: Any) -> Dependency:
    if isinstance(row, str):
        return Dependency(tool=row)
    if not isinstance(row, Mapping) or not _text(row.get("tool")):
        raise _wrong("a dependency must be a tool id or an object with one", "depends_on")
    texts = {key: _text(row.get(key)) for key in ("tool", "parameter", "output", "reason")}
    return Dependency(**texts, required=row.get("required", True) is not False)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


MAX_TEXT_CHARS = 1_000
"""Maximum length of a tool's text; a longer text is cut between two words."""


def tool_text(tool: Tool) -> str:
    """Return the text that is embedded and matched for a tool: title and description, at most 1,000 characters."""
    title, description = " ".join(tool.title.split()), " ".join(tool.description[: 4 * MAX_TEXT_CHARS].split())
    text = f"{title}. {description}" if description else title
    if len(text) <= MAX_TEXT_CHARS:
        return text
    head, _, _ = text[: MAX_TEXT_CHARS + 1].rpartition(" ")
    return head or text[:MAX_TEXT_CHARS]


PERSONS = frozenset(
    "employee user person personnel staff member worker colleague participant assignee requester".split()
)
"""Heads of the entities that are people."""
_OWN = frozenset("my me myself whoami current authenticated own self".split())
_OF_A_PERSON = PERSONS | frozenset("profile account identity info information details data".split())
_SAYS_WHO = PERSONS | {"profile", "identity", "account"}
_CALLER = frozenset({"me", "myself", "whoami"})
_READING = frozenset("get read fetch show view retrieve find who am i v1 v2 v3 json api".split())


def may_be_own_profile(tool_id: str) -> bool:
    """Whether an id leaves it open that its tool says who calls it: without reading the tool."""
    return not _OWN.isdisjoint(words(tool_id))


def is_own_profile(tool: Tool) -> bool:
    """Whether a tool says who calls it: by its name, and because it takes nothing that must be given."""
    name = set(map(noun_lemma, words(tool.name)))
    about = name - _OWN - _READING
    says_who = bool(name & _CALLER) or bool(about & _SAYS_WHO)
    return bool(name & _OWN) and says_who and about <= _OF_A_PERSON and not any(one.required for one in tool.parameters)
