"""Shapes of an AWS service model as parameters."""

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

#: Levels of structures that are opened; ``A.B[].C`` is three deep.
MAX_DEPTH = 3
#: Members taken of one structure below the first level.
MAX_BREADTH = 30
#: Fields taken of one input or output.
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


def plain_documentation(documentation: Any, most: int) -> str:
    """HTML documentation as plain text of at most ``most`` characters, cut after a sentence."""
    if not isinstance(documentation, str) or not documentation:
        return ""
    documentation = documentation[: 20 * most]  # the rest is cut anyway and need not be cleaned
    bare = html.unescape(_INLINE.sub("", _BLOCK.sub(" ", documentation)))
    return brief(" ".join(bare.split()), most)


class Shapes:
    """The shapes of one service model."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._shapes = shapes
        self._known: dict[str, tuple[Member, ...]] = {}
        self._nested = NestedFields(
            members=self._members,
            core=self._core,
            max_depth=MAX_DEPTH - 1,
            max_fields=MAX_FIELDS,
            max_breadth=MAX_BREADTH,
        )

    def fields(self, name: str, *, inputs: bool = False) -> tuple[Parameter, ...]:
        """The fields of an operation's input or output; those of the first level come first within the limits.

        :param inputs: whether they carry a location and may be required.
        :raises DocumentError: when a shape is not defined.
        """
        tops = self._members(name)
        if not inputs:
            tops = tuple(Member(replace(top, location="", required=False), shape) for top, shape in tops)
        return tuple(self._nested.flatten(tops, frozenset({name})))

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
        valued = self._shape(str(shape["member"].get("shape"))) if _is_list(shape) else shape
        documentation = member.get("documentation") or shape.get("documentation")
        return Parameter(
            name=name,
            type=type_,
            description=plain_documentation(documentation, _MEMBER_CHARS),
            required=required,
            enum=tuple(map(str, as_list(valued.get("enum")))),
            location=_LOCATIONS.get(str(member.get("location", "")), "body"),
            format=format_,
        )

    def _core(self, name: str) -> tuple[str, str] | None:
        step, seen = "", {name}
        while True:
            shape = self._shape(name)
            type_ = shape.get("type")
            held = shape.get("member") if _is_list(shape) else shape.get("value")
            if type_ not in {"list", "map"} or not isinstance(held, Mapping):
                return (step, name) if type_ == "structure" else None
            step += "[]" if type_ == "list" else ".*"
            name = str(held.get("shape"))
            if name in seen:
                return None
            seen.add(name)


def _is_list(shape: Mapping[str, Any]) -> bool:
    return shape.get("type") == "list" and isinstance(shape.get("member"), Mapping)
