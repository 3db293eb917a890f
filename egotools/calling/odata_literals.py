"""Literals of OData: values in the keys and filters of a URL, as OData 2.0 and 4.0 write them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from egotools.calling.input_arguments import PlacedArgument
from egotools.calling.schema_kinds import kind_of
from egotools.client_errors import ToolRequestError

__all__ = ["filter_expression", "is_edm_type", "odata_literal"]

_INTEGERS = frozenset({"Edm.Byte", "Edm.SByte", "Edm.Int16", "Edm.Int32"})
_INTEGER, _DECIMAL = r"-?\d+", r"-?\d+(\.\d+)?([eE][+-]?\d+)?"
_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(:\d\d(\.\d+)?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_PATTERNS: Mapping[str, str] = {
    **dict.fromkeys((*_INTEGERS, "Edm.Int64"), _INTEGER),
    "Edm.Decimal": _DECIMAL,
    "Edm.Double": rf"{_DECIMAL}|-?INF|NaN",
    "Edm.Single": rf"{_DECIMAL}|-?INF|NaN",
    "Edm.Boolean": "true|false",
    "Edm.Guid": r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "Edm.Date": _DATE,
    "Edm.DateTime": rf"{_DATE}(T{_TIME})?",
    "Edm.DateTimeOffset": rf"{_DATE}T{_TIME}{_ZONE}",
    "Edm.TimeOfDay": _TIME,
    "Edm.Time": r"P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?",
    "Edm.Duration": r"-?P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?",
}
# OData 2.0: what stands before a value in quotes, and what stands after a number.
_QUOTED_V2 = {
    "Edm.DateTime": "datetime",
    "Edm.DateTimeOffset": "datetimeoffset",
    "Edm.Time": "time",
    "Edm.Guid": "guid",
}
_SUFFIXES_V2 = {"Edm.Int64": "L", "Edm.Decimal": "M", "Edm.Double": "d", "Edm.Single": "f"}


def is_edm_type(style: str) -> bool:
    """Return whether the style of an argument is a type of OData (``Edm.String``, ``Sales.Color``) and not a style of HTTP."""
    return "." in style


def odata_literal(value: Any, edm_type: str, *, version: str, name: str) -> str:
    """Return a value as a literal, not yet percent-encoded.

    :param edm_type: ``Edm.String``, …; another qualified name is that of an enumeration.
    :param version: ``v2`` or ``v4``.
    :param name: of the argument, for errors.
    :raises ToolRequestError: when the value is none of the type.
    """
    if edm_type in ("", "Edm.String"):
        if edm_type and not isinstance(value, str) and (isinstance(value, bool) or not isinstance(value, int)):
            raise _wrong(name, edm_type)
        return _text(value, name) if edm_type or isinstance(value, str) else _scalar(value, name)
    if edm_type == "Edm.Binary":
        return _binary(value, version, name)
    pattern = _PATTERNS.get(edm_type)
    if pattern is None:
        return f"{edm_type}{_text(value, name)}"
    text = _scalar(value, name)
    if not re.fullmatch(pattern, text, re.ASCII):
        raise _wrong(name, edm_type)
    if version != "v2":
        return f"duration'{text}'" if edm_type == "Edm.Duration" else text
    if edm_type == "Edm.DateTime" and "T" not in text:
        text += "T00:00:00"
    before = _QUOTED_V2.get(edm_type)
    return f"{before}'{text}'" if before else text + _SUFFIXES_V2.get(edm_type, "")


def filter_expression(placed: PlacedArgument, *, version: str) -> str:
    """Return one comparison of ``$filter``: equality, or one of the values of a list.

    :raises ToolRequestError: when a value is none of the type.
    """
    name, edm_type, value = placed.argument.name, placed.argument.style, placed.value
    values = value if kind_of(value) == "array" else [value]
    if not values:
        raise ToolRequestError("the list is empty", subject=name, remedy="Give values to compare with.")
    either = [f"{placed.wire_name} eq {odata_literal(one, edm_type, version=version, name=name)}" for one in values]
    return either[0] if len(either) == 1 else f"({' or '.join(either)})"


def _text(value: Any, name: str) -> str:
    return "'" + _scalar(value, name).replace("'", "''") + "'"


def _scalar(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ToolRequestError(
        f"a value of the kind {kind_of(value)} is no literal of OData", subject=name, remedy="Give a text or a number."
    )


def _binary(value: Any, version: str, name: str) -> str:
    if isinstance(value, str):
        try:
            value = base64.b64decode(value, validate=True)
        except ValueError:
            raise _wrong(name, "Edm.Binary") from None
    if not isinstance(value, bytes):
        raise _wrong(name, "Edm.Binary")
    return f"X'{value.hex()}'" if version == "v2" else f"binary'{base64.urlsafe_b64encode(value).decode()}'"


def _wrong(name: str, edm_type: str) -> ToolRequestError:
    return ToolRequestError(
        f"the value is none of the type {edm_type}", subject=name, remedy="Give it in the form of that type."
    )
