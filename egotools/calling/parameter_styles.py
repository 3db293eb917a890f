"""Values as text in a URL and in headers, by the styles of OpenAPI: ``form``, ``simple``, ``deepObject`` and the others.

The delimiters of a style stand as they are, and every value is percent-encoded (RFC 3986), so that a value never becomes a part of the
request's structure. In queries the delimiters of ``spaceDelimited``, ``pipeDelimited`` and ``tabDelimited`` are encoded, as
OpenAPI writes them: an item with such a character could not be told from two items, and is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from egotools.calling.input_arguments import PlacedArgument
from egotools.calling.schema_kinds import kind_of
from egotools.client_errors import ToolRequestError

__all__ = ["check_path", "header_text", "json_text", "nested_fields", "path_text", "plain_text", "query_fields"]

Encode = Callable[[str], str]

_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_PREFIXES = {"label": ".", "matrix": ";"}
# RFC 6570, reserved expansion, without the two characters that end a path: a value cannot add a query or a fragment.
_RESERVED = "/:@!$&'()*+,;=[]"
_ENCODED = re.compile(r"(%[0-9A-Fa-f]{2})")
_NOT_IN_HEADERS = re.compile(r"[^\t\x20-\x7e]")


def plain_text(value: Any, name: str) -> str:
    """Return a single value as text: ``true``, ``7``, ``1.5``, the text itself.

    :raises ToolRequestError: for a list, an object, bytes and ``null``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value, allow_nan=False)
    raise ToolRequestError(
        f"a value of the kind {kind_of(value)} cannot be written inside another value here",
        subject=name,
        remedy="Give a text, a number or a boolean, or a list or object of these.",
    )


def json_text(value: Any, name: str) -> str:
    """Return a value as JSON in one line.

    :raises ToolRequestError: when a part of it is no JSON value.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        raise ToolRequestError(
            "a part of the value is no JSON value",
            subject=name,
            remedy="Give text, numbers, booleans, lists and objects.",
        ) from None
    return text


def path_text(placed: PlacedArgument, *, reserved: bool = False) -> str:
    """Return the value of a path argument, for the place of its ``{name}``.

    :param reserved: for ``{+name}``: slashes and other reserved characters stay, except ``?`` and ``#``.
    :raises ToolRequestError: when the value would be empty or lead to another path (``..``).
    """
    name, style = placed.argument.name, placed.argument.style
    encode: Encode = _reserved if reserved else _quoted
    if style == "json":
        text = encode(json_text(placed.value, name))
    else:
        text = _simple(placed, encode, "," if style not in _PREFIXES else _prefixed_delimiter(placed))
    if not text:
        raise ToolRequestError("the value is empty", subject=name, remedy="A part of the path needs a value.")
    if style == "matrix":
        text = _matrix(placed, text)
    elif style == "label":
        text = f".{text}"
    check_path(text, name)
    return text


def check_path(path: str, name: str) -> None:
    """Check that no part of a path leads to another one.

    :raises ToolRequestError: for a part ``.`` or ``..``, also where it is percent-encoded.
    """
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        problem = "the value has a part '.' or '..', which leads to another path"
        raise ToolRequestError(problem, subject=name, remedy="Give another value.")


def header_text(placed: PlacedArgument) -> str:
    """Return the value of a header.

    :raises ToolRequestError: when it has characters that a header cannot carry.
    """
    name = placed.argument.name
    text = json_text(placed.value, name) if placed.argument.style == "json" else _simple(placed, str, ",")
    if _NOT_IN_HEADERS.search(text):
        raise ToolRequestError(
            "a header takes printable ASCII only", subject=name, remedy="Leave other characters out."
        )
    return text


def query_fields(placed: PlacedArgument) -> Iterator[tuple[str, str]]:
    """Yield the fields of a query, name and value, percent-encoded.

    :raises ToolRequestError: when the style cannot carry the value.
    """
    name, style, value = placed.wire_name, placed.argument.style or "form", placed.value
    explode = placed.argument.explode if placed.argument.explode is not None else style == "form"
    if style == "json":
        yield _quoted(name), _quoted(json_text(value, placed.argument.name))
    elif style == "deepObject":
        yield from ((_quoted(key), _quoted(text)) for key, text in nested_fields(name, value, brackets=True))
    elif isinstance(value, Mapping):
        members = [(str(key), plain_text(inner, placed.argument.name)) for key, inner in value.items()]
        if explode:
            yield from ((_quoted(key), _quoted(text)) for key, text in members)
        elif members:
            yield _quoted(name), _delimited([text for member in members for text in member], style, placed)
    elif kind_of(value) == "array":
        texts = [plain_text(inner, placed.argument.name) for inner in value]
        if explode:
            yield from ((_quoted(name), _quoted(text)) for text in texts)
        elif texts:
            yield _quoted(name), _delimited(texts, style, placed)
    else:
        yield _quoted(name), _quoted(plain_text(value, placed.argument.name))


def nested_fields(name: str, value: Any, *, brackets: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the fields of a nested value: ``a[b]=1``, items of a list as ``a=1&a=2``, objects in a list as ``a[0][b]=1``.

    :param brackets: whether a list of single values is ``a[]=1&a[]=2``.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from nested_fields(f"{name}[{key}]", inner, brackets=brackets)
    elif kind_of(value) == "array":
        for index, inner in enumerate(value):
            if isinstance(inner, Mapping) or kind_of(inner) == "array":
                yield from nested_fields(f"{name}[{index}]", inner, brackets=brackets)
            else:
                yield (f"{name}[]" if brackets else name), plain_text(inner, name)
    else:
        yield name, "" if value is None else plain_text(value, name)


def _simple(placed: PlacedArgument, encode: Encode, delimiter: str) -> str:
    value, name = placed.value, placed.argument.name
    if isinstance(value, Mapping):
        joint = "=" if placed.argument.explode else delimiter
        members = [(str(key), plain_text(inner, name)) for key, inner in value.items()]
        return delimiter.join(f"{encode(key)}{joint}{encode(text)}" for key, text in members)
    if kind_of(value) == "array":
        return delimiter.join(encode(plain_text(inner, name)) for inner in value)
    return encode(plain_text(value, name))


def _prefixed_delimiter(placed: PlacedArgument) -> str:
    if not placed.argument.explode:
        return ","
    if placed.argument.style == "matrix" and kind_of(placed.value) == "array":
        return f";{_quoted(placed.wire_name)}="
    return _PREFIXES[placed.argument.style]


def _matrix(placed: PlacedArgument, text: str) -> str:
    """Return ``;name=`` before the value; the members of an exploded object have names of their own."""
    if placed.argument.explode and isinstance(placed.value, Mapping):
        return f";{text}"
    return f";{_quoted(placed.wire_name)}={text}"


def _delimited(texts: Sequence[str], style: str, placed: PlacedArgument) -> str:
    delimiter = _DELIMITERS.get(style)
    if delimiter is None:
        return ",".join(map(_quoted, texts))
    if any(delimiter in text for text in texts):
        raise ToolRequestError(
            f"an item has the character {delimiter!r}, which separates items here",
            subject=placed.argument.name,
            remedy="Leave that character out, or make several calls.",
        )
    return _quoted(delimiter.join(texts))


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _reserved(text: str) -> str:
    """Encode by reserved expansion: what is encoded already stays as it is."""
    parts = _ENCODED.split(text)
    return "".join(
        part if index % 2 else quote(part, safe=_RESERVED, errors="replace") for index, part in enumerate(parts)
    )
