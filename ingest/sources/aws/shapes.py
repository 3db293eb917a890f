"""Shapes of an AWS service model as parameters."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from ingest.sources.brief import brief
from ontology.tool import Parameter

__all__ = ["MAX_BREADTH", "MAX_DEPTH", "MAX_FIELDS", "DanglingShapeError", "ShapeBook", "text"]

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


class DanglingShapeError(Exception):
    """A shape that is named and defined nowhere; the message is its name."""


def text(documentation: Any, most: int) -> str:
    """HTML documentation as plain text of at most ``most`` characters, cut after a sentence."""
    if not isinstance(documentation, str) or not documentation:
        return ""
    documentation = documentation[: 20 * most]  # what lies far beyond is cut anyway, and need not be cleaned
    bare = html.unescape(_INLINE.sub("", _BLOCK.sub(" ", documentation)))
    return brief(" ".join(bare.split()), most)


class ShapeBook:
    """The shapes of one service model."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self.shapes = shapes
        self._inner: dict[tuple[str, int, frozenset[str]], tuple[Parameter, ...]] = {}
        self._tops: dict[str, tuple[tuple[Parameter, str], ...]] = {}

    def fields(self, name: str, *, inputs: bool = False) -> tuple[Parameter, ...]:
        """The fields of an operation's input or output, members of the first level first in line for the limits.

        :param inputs: whether they carry a location and may be required.
        :raises DanglingShapeError: when a shape is defined nowhere.
        """
        tops = self._members(name)[:MAX_FIELDS]
        room = MAX_FIELDS - len(tops)
        found: list[Parameter] = []
        for top, shape in tops:
            inner = self._inside(shape, 2, frozenset({name}))[: max(0, room)]
            room -= len(inner)
            found.append(top if inputs else replace(top, location="", required=False))
            where = top.location if inputs else ""
            found += (replace(p, name=f"{top.name}{p.name}", location=where) for p in inner)
        return tuple(found)

    def _shape(self, name: str) -> Mapping[str, Any]:
        shape = self.shapes.get(name)
        if not isinstance(shape, Mapping):
            raise DanglingShapeError(name)
        return shape

    def _members(self, name: str) -> tuple[tuple[Parameter, str], ...]:
        """The members of a structure, each with the name of its shape."""
        if name not in self._tops:
            shape = self._shape(name)
            members = shape.get("members")
            required = shape.get("required") or ()
            self._tops[name] = tuple(
                (self._parameter(key, member, key in required), str(member.get("shape")))
                for key, member in (members.items() if isinstance(members, Mapping) else ())
                if isinstance(member, Mapping)
            )
        return self._tops[name]

    def _parameter(self, name: str, member: Mapping[str, Any], required: bool) -> Parameter:
        shape = self._shape(str(member.get("shape")))
        kind = str(shape.get("type"))
        type_, format_ = ("any", "") if shape.get("document") is True else _TYPES.get(kind, ("string", ""))
        valued = self._shape(str(shape["member"].get("shape"))) if self._is_list(shape) else shape
        enum = valued.get("enum")
        return Parameter(
            name=name,
            type=type_,
            description=text(member.get("documentation") or shape.get("documentation"), _MEMBER_CHARS),
            required=required,
            enum=tuple(map(str, enum)) if isinstance(enum, list) else (),
            location=_LOCATIONS.get(str(member.get("location", "")), "body"),
            format=format_,
        )

    @staticmethod
    def _is_list(shape: Mapping[str, Any]) -> bool:
        return shape.get("type") == "list" and isinstance(shape.get("member"), Mapping)

    def _inside(self, name: str, depth: int, open_: frozenset[str]) -> tuple[Parameter, ...]:
        """The fields inside a value of a shape, their names beginning with ``.``, ``[]`` or ``.*``."""
        step, name = self._core(name)
        shape = self._shape(name)
        if shape.get("type") != "structure" or name in open_ or depth > MAX_DEPTH:
            return ()
        key = (f"{step}{name}", depth, open_)
        if key not in self._inner:
            self._inner[key] = tuple(islice(self._walk(name, step, depth, open_ | {name}), MAX_FIELDS))
        return self._inner[key]

    def _core(self, name: str) -> tuple[str, str]:
        """Through lists and maps to what they hold, with the path there: ``[]``, ``.*``, ``[][]``."""
        step, seen = "", {name}
        while True:
            shape = self._shape(name)
            held = shape.get("member") if self._is_list(shape) else shape.get("value")
            if shape.get("type") not in {"list", "map"} or not isinstance(held, Mapping):
                return step, name
            step += "[]" if shape.get("type") == "list" else ".*"
            name = str(held.get("shape"))
            if name in seen:
                return step, name
            seen.add(name)

    def _walk(self, name: str, step: str, depth: int, open_: frozenset[str]) -> Iterator[Parameter]:
        for top, shape in self._members(name)[:MAX_BREADTH]:
            at = f"{step}.{top.name}"
            yield replace(top, name=at, location="", required=False)
            for inner in self._inside(shape, depth + 1, open_):
                yield replace(inner, name=f"{at}{inner.name}")
