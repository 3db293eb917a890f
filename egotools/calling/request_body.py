"""The body of a request: JSON, a form, a form with files, text or bytes, by its media type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlencode

from egotools.calling.input_arguments import PlacedArgument
from egotools.calling.parameter_styles import json_text, nested_fields, plain_text, query_fields
from egotools.calling.schema_kinds import kind_of, resolved
from egotools.client_errors import ToolRequestError

__all__ = ["Body", "Part", "make_body"]

Part: TypeAlias = tuple[str, tuple[str | None, bytes, str | None]]
"""One part of a form with files: its name; its file name or None, its bytes, its media type or None."""

_JSON = re.compile(r"^(application/json|text/json|[^;]*\+json|application/\*|\*/\*)\s*(;|$)|^$", re.IGNORECASE)
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_BYTES = "application/octet-stream"
_WITH_BODY = ("POST", "PUT", "PATCH")
_MEDIA_TYPE = re.compile(r"^[\w!#$&^.+*-]+/[\w!#$&^.+*-]+(\s*;[\x20-\x7e]*)?\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of a request: its content, or the parts of a form with files; both are empty without a body.

    :param media_type: value of the header ``Content-Type``; empty for a form with files, whose boundary the client chooses.
    """

    media_type: str = ""
    content: bytes | None = None
    parts: tuple[Part, ...] = ()


def make_body(media_type: str, placed: Sequence[PlacedArgument], *, method: str, root: Any, declared: bool) -> Body:
    """Return the body of the arguments of the locations ``body`` and ``form``.

    :param root: the JSON Schema of all arguments, which local references point into.
    :param declared: whether the call has members of a body at all, given or not.
    :raises ToolRequestError: when the arguments cannot be written in this media type.
    """
    kind = media_type.partition(";")[0].strip().lower()
    whole = next((each for each in placed if each.argument.whole_body), None)
    if not placed:  # an object whose members are all left out
        empty = declared and method in _WITH_BODY and _JSON.match(media_type)
        return Body(media_type=_json_type(media_type), content=b"{}") if empty else Body()
    if kind == _MULTIPART:
        return Body(parts=tuple(part for each in _members(placed, whole) for part in _parts(each, root)))
    if kind.startswith("multipart/"):
        raise ToolRequestError(
            f"egotools writes no bodies of the type {kind}",
            subject="body",
            remedy="Send this request with a client of your own.",
        )
    if kind == _FORM:
        fields = [field for each in _members(placed, whole) for field in _form_fields(each)]
        return Body(media_type=media_type, content="&".join(fields).encode("ascii"))
    if whole is not None and isinstance(whole.value, bytes):
        return Body(media_type=media_type or _BYTES, content=whole.value)
    if whole is not None and kind_of(whole.value) == "file":
        return Body(media_type=_checked_type(whole.value[2] or media_type, whole.argument.name), content=whole.value[1])
    if _JSON.match(media_type):
        value = whole.value if whole is not None else {each.wire_name: each.value for each in placed}
        text = json_text(value, whole.argument.name if whole is not None else "body")
        return Body(media_type=_json_type(media_type), content=text.encode())
    if whole is not None and isinstance(whole.value, str):
        return Body(media_type=media_type, content=whole.value.encode("utf-8", "replace"))
    raise ToolRequestError(
        f"the body has the media type {kind}, which egotools does not write from JSON values",
        subject="body" if whole is None else whole.argument.name,
        remedy="Give the body as text or bytes."
        if whole is not None
        else "Send this request with a client of your own.",
    )


def _json_type(media_type: str) -> str:
    return "application/json" if "*" in media_type or not media_type else media_type


def _members(placed: Sequence[PlacedArgument], whole: PlacedArgument | None) -> Iterator[PlacedArgument]:
    """Yield the fields of a form; a whole body that is an object is taken apart."""
    if whole is None:
        yield from placed
    elif isinstance(whole.value, Mapping):
        for name, value in whole.value.items():
            place = type(whole.argument)(name=str(name), location="form")
            yield PlacedArgument(argument=place, value=value)
    else:
        raise ToolRequestError(
            "a form needs an object", subject=whole.argument.name, remedy="Give an object of fields and values."
        )


def _form_fields(placed: PlacedArgument) -> Iterator[str]:
    """Yield the fields of one member, encoded as forms are: a space is ``+``."""
    style, value = placed.argument.style, placed.value
    if isinstance(value, bytes) or kind_of(value) == "file":
        raise ToolRequestError(
            "a form of this type carries no files",
            subject=placed.argument.name,
            remedy="Give a text, a number or a boolean.",
        )
    if style == "json":
        yield urlencode([(placed.wire_name, json_text(value, placed.argument.name))])
    elif style in ("", "deepObject") and placed.argument.explode is not False:
        yield from (
            urlencode([field], errors="replace")
            for field in nested_fields(placed.wire_name, value, brackets=style == "deepObject")
        )
    else:
        yield from (f"{name}={text}" for name, text in query_fields(placed))


def _parts(placed: PlacedArgument, root: Any) -> Iterator[Part]:
    """Yield the parts of one member: each item of a list is a part of its own."""
    value, schema = placed.value, resolved(placed.schema, root)
    items = schema.get("items") if kind_of(value) == "array" else None
    values = value if kind_of(value) == "array" else [value]
    for one in values:
        yield placed.wire_name, _part(one, placed, resolved(items, root) if items is not None else schema)


def _part(value: Any, placed: PlacedArgument, schema: Mapping[str, Any]) -> tuple[str | None, bytes, str | None]:
    name = placed.argument.name
    if kind_of(value) == "file":
        return str(value[0]), value[1], _checked_type(value[2] or _BYTES, name)
    if isinstance(value, bytes):
        return placed.wire_name, value, _BYTES
    if isinstance(value, Mapping | list) or placed.argument.style == "json":
        return None, json_text(value, name).encode(), "application/json"
    content = plain_text(value, name).encode("utf-8", "replace")
    if schema.get("format") == "binary":
        return placed.wire_name, content, _BYTES
    return None, content, None


def _checked_type(media_type: str, name: str) -> str:
    if not isinstance(media_type, str) or not _MEDIA_TYPE.match(media_type):
        raise ToolRequestError("the file has no valid media type", subject=name, remedy="For example: image/png.")
    return media_type
