"""Convert the shapes of an AWS service model to parameters."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ingest.sources.json_values import as_list, as_mapping
from ingest.sources.nested_fields import Member, NestedFields
from ingest.sources.prose import brief
from ontology.errors import DocumentError
from ontology.tool import Parameter

__all__ = ["Shapes", "plain_documentation"]

#: Maximum nesting of structures; ``A.B[].C`` has three levels.
MAX_DEPTH = 3
#: Maximum number of members read from one structure below the first level.
MAX_BREADTH = 30
#: Maximum number of fields read from one input or output.
MAX_FIELDS = 120

_MEMBER_CHARS = 300
_BLOCK = re.compile(
    r"</?(?:p|li|ul|ol|dl|dt|dd|br|div|note|important|h\d|table|tr|td|th|pre|fullname)\b[^<>]*>", re.IGNORECASE
)
_INLINE = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_LOCATIONS = {"uri": "path", "querystring": "query", "header": "header", "headers": "header"}
_TYPES = {
    "string": ("string", ""),
    "character": ("string", ""),
    "integer": ("integer", "int32"),
    "long": ("integer", "int64"),
    "bigInteger": ("integer", ""),
    "short": ("integer", "int32"),
    "byte": ("integer", "int8"),
    "float": ("number", "float"),
    "double": ("number", "double"),
    "bigDecimal": ("number", "decimal"),
    "boolean": ("boolean", ""),
    "timestamp": ("string", "date-time"),
    "blob": ("string", "binary"),
    "structure": ("object", ""),
    "map": ("object", ""),
    "list": ("array", ""),
}


def plain_documentation(documentation: Any, max_chars: int) -> str:
    """Return HTML documentation as plain text of at most ``max_chars`` characters, cut after a sentence."""
    if not isinstance(documentation, str) or not documentation:
        return ""
    documentation = documentation[: 20 * max_chars]  # the rest is cut later and need not be cleaned
    bare = html.unescape(_INLINE.sub("", _BLOCK.sub(" ", documentation)))
    return brief(" ".join(bare.split()), max_chars)


class Shapes:
    """The shapes of one service model."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._shapes = shapes
        self._known: dict[str, tuple[Member, ...]] = {}
        self._nested = NestedFields(
            members=self._members,
            element_type=self._element_type,
            max_depth=MAX_DEPTH - 1,
            max_fields=MAX_FIELDS,
            max_breadth=MAX_BREADTH,
        )

    def fields(self, name: str, *, inputs: bool = False) -> tuple[Parameter, ...]:
        """Return the fields of an operation's input or output; the limits cut nested fields before those of the first level.

        :param inputs: whether the fields keep their location and may be required.
        :raises DocumentError: when a shape is not defined.
        """
        members = self._members(name)
        if not inputs:
            members = tuple(Member(replace(field, location="", required=False), shape) for field, shape in members)
        return tuple(self._nested.flatten(members, frozenset({name})))

    def _shape(self, name: str) -> Mapping[str, Any]:
        shape = self._shapes.get(name)
        if not isinstance(shape, Mapping):
            problem = f"The shape {name!r} is not defined; define it in the model"
            raise DocumentError(problem, subject=name, reason="dangling-shape")
        return shape

    def _members(self, name: str) -> tuple[Member, ...]:
        if name not in self._known:
            shape = self._shape(name)
            required = shape.get("required") or ()
            self._known[name] = tuple(
                Member(self._parameter(key, member, key in required), str(member.get("shape")))
                for key, member in as_mapping(shape.get("members")).items()
                if isinstance(member, Mapping)
            )
        return self._known[name]

    def _parameter(self, name: str, member: Mapping[str, Any], required: bool) -> Parameter:
        shape = self._shape(str(member.get("shape")))
        type_, format_ = _TYPES.get(str(shape.get("type")), ("string", ""))
        if shape.get("document") is True:
            type_, format_ = "any", ""
        enum_shape = self._shape(str(shape["member"].get("shape"))) if _is_list(shape) else shape
        documentation = member.get("documentation") or shape.get("documentation")
        return Parameter(
            name=name,
            type=type_,
            description=plain_documentation(documentation, _MEMBER_CHARS),
            required=required,
            enum=tuple(map(str, as_list(enum_shape.get("enum")))),
            location=_LOCATIONS.get(str(member.get("location", "")), "body"),
            format=format_,
        )

    def _element_type(self, name: str) -> tuple[str, str] | None:
        path, seen = "", {name}
        while True:
            shape = self._shape(name)
            type_ = shape.get("type")
            element = shape.get("member") if _is_list(shape) else shape.get("value")
            if type_ not in {"list", "map"} or not isinstance(element, Mapping):
                return (path, name) if type_ == "structure" else None
            path += "[]" if type_ == "list" else ".*"
            name = str(element.get("shape"))
            if name in seen:
                return None
            seen.add(name)


def _is_list(shape: Mapping[str, Any]) -> bool:
    return shape.get("type") == "list" and isinstance(shape.get("member"), Mapping)
