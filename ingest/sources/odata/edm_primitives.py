"""The primitive types of OData (``Edm.…``) as JSON Schema: as JSON in bodies and answers, and as literals in URLs.

OData 2.0 and 4.0 write some types differently: version 2 has 64-bit integers and decimals as texts and times as
``/Date(1356998400000)/``, version 4 has numbers and times of RFC 3339.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ingest.sources.odata.csdl import Property

__all__ = ["flags_pattern", "primitive_schema"]

_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(:\d\d(\.\d+)?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_TICKS = r"/Date\(-?\d+([+-]\d+)?\)/"
_TEXT: Mapping[str, Any] = {"type": "string"}
_DURATION: Mapping[str, Any] = {"type": "string", "format": "duration"}
_BYTES: Mapping[str, Any] = {"type": "string", "contentEncoding": "base64"}
_INTEGERS = {"Byte": (0, 255), "SByte": (-128, 127), "Int16": (-(2**15), 2**15 - 1), "Int32": (-(2**31), 2**31 - 1)}
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"type": "integer", "minimum": low, "maximum": high} for name, (low, high) in _INTEGERS.items()},
    "Boolean": {"type": "boolean"},
    "Int64": {"type": "integer", "format": "int64"},
    "Single": {"type": "number", "format": "float"},
    "Double": {"type": "number", "format": "double"},
    "Float": {"type": "number", "format": "double"},
    "Decimal": {"type": "number"},
    "String": _TEXT,
    "Guid": {"type": "string", "format": "uuid"},
    "DateTimeOffset": {"type": "string", "format": "date-time"},
    "Date": {"type": "string", "format": "date"},
    "TimeOfDay": {"type": "string", "pattern": f"^{_TIME}$"},
    "Duration": _DURATION,
    "Time": _DURATION,
    "DateTime": {"type": "string", "pattern": f"^{_DATE}(T{_TIME})?$"},
    "Binary": _BYTES,
    "Stream": _BYTES,
}
# What version 2 writes otherwise in JSON; in URLs it writes the values as above, with marks that the request adds.
_JSON_V2: Mapping[str, Mapping[str, Any]] = {
    "Int64": {"type": "string", "pattern": r"^-?\d+$"},
    "Single": {"type": ["number", "string"]},
    "Double": {"type": ["number", "string"]},
    "Decimal": {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"},
    "DateTime": {"type": "string", "pattern": f"^({_TICKS}|{_DATE}T{_TIME})$"},
    "DateTimeOffset": {"type": "string", "pattern": f"^({_TICKS}|{_DATE}T{_TIME}{_ZONE})$"},
}
#: Powers of ten up to this one are exact as floating-point numbers.
_MAX_EXACT = 22


def primitive_schema(edm_type: str, facets: Property, *, version: str, literal: bool = False) -> dict[str, Any]:
    """The JSON Schema of a value of ``Edm.…``; of an unknown primitive type any value is accepted.

    :param facets: its limits.
    :param literal: whether it is part of a URL (a key, a filter, a parameter of a function), not of a JSON text.
    """
    name = edm_type.rpartition(".")[2]
    is_v2_json = version == "v2" and not literal
    schema = dict((_JSON_V2.get(name) if is_v2_json else None) or _SCHEMAS.get(name) or _other(name, literal))
    if name == "String" and facets.max_length is not None:
        schema["maxLength"] = facets.max_length
    if name == "String" and facets.pattern:
        schema["pattern"] = facets.pattern
    if name == "String" and facets.example:
        schema["examples"] = [facets.example]
    if name == "Decimal" and facets.precision is not None and facets.scale is not None:
        schema |= _decimal(facets.precision, facets.scale, text=schema["type"] == "string")
    return schema


def _other(name: str, literal: bool) -> dict[str, Any]:
    if name.startswith(("Geography", "Geometry")) and not literal:
        return {"type": "object", "format": name.lower()}
    return {"type": "string", "format": name.lower()} if literal else {}


def _decimal(precision: int, scale: int, *, text: bool) -> dict[str, Any]:
    """The limits of a decimal. A number with a fraction gets no ``multipleOf``: 0.07 is no multiple of 0.01 in binary."""
    whole = max(precision - scale, 0)
    if text:
        fraction = rf"(\.\d{{1,{scale}}})?" if scale else ""
        return {"pattern": rf"^-?\d{{1,{max(whole, 1)}}}{fraction}$"}
    limits: dict[str, Any] = {}
    if whole <= _MAX_EXACT:
        limits |= {"exclusiveMinimum": -(10**whole), "exclusiveMaximum": 10**whole}
    return {**limits, **({"multipleOf": 1} if scale == 0 else {})}


def flags_pattern(members: tuple[str, ...]) -> str:
    """The regular expression of a combination of members of an enumeration, separated by commas."""
    either = "|".join(map(re.escape, members))
    return f"^({either})(, ?({either}))*$"
