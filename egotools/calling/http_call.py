"""A call over HTTP as a request of httpx; its ``repr`` and what it shows hide the credentials."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

import httpx

from egotools.call import Call
from egotools.calling.call_credentials import Credential, Injected, inject_credentials, is_settable
from egotools.calling.input_arguments import PlacedArgument, kind_of, resolved
from egotools.client_errors import ToolRequestError

__all__ = ["ToolHttpRequest", "base_url", "http_request"]

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


_PLACE = re.compile(r"\{(\+?)([^{}]+)\}")
_SCHEMES = ("http", "https")
_REMEDY = "Give the base URL of the API (server, on the command line --base-url)."


def call_url(call: Call, placed: Sequence[PlacedArgument], *, server: str) -> str:
    """Return the URL of a call.

    :param server: the base URL; empty for that of the call.
    :raises ToolRequestError: when there is no base URL, or a value cannot be written.
    """
    inline = [each for each in placed if _is_inline(call, each)]
    query = "&".join(f"{name}={text}" for name, text in _query(call, [each for each in placed if each not in inline]))
    own = urlsplit(call.path)  # a path template may have a query of its own
    path = _path(own.path, call, [each for each in placed if each.argument.location == "path"])
    path = _with_inline(call, path, inline)
    query = "&".join(part for part in (own.query, query) if part)
    return base_url(call, server) + path + (f"?{query}" if query else "")


def base_url(call: Call, server: str) -> str:
    """Return the base URL of a call without the slash at its end.

    :param server: takes the place of the call's; a relative one of the call is added where it stays below it.
    :raises ToolRequestError: when it is missing, relative, of another scheme than HTTP, or holds a password.
    """
    own = call.servers[0] if call.servers else ""
    try:
        relative = bool(own) and not urlsplit(own).netloc
        url = _below(server, own) if server and relative else server or own
    except ValueError:  # one of the two is no URL
        relative, url = False, server or own
    if not url:
        raise ToolRequestError("the document names no server", subject="server", remedy=_REMEDY)
    if variable := re.search(r"\{([^{}]*)\}", url):
        problem = f"the server of the document has the variable {variable[1]!r}"
        raise ToolRequestError(problem, subject="server", remedy=_REMEDY)
    try:
        parts = urlsplit(url)
        host, user = parts.hostname, parts.username or parts.password
        parts.port  # noqa: B018 - raises for a port that is no number
    except ValueError:
        raise ToolRequestError("the base URL cannot be read", subject="server", remedy=_REMEDY) from None
    if relative and not server:
        raise ToolRequestError(f"the server of the document is relative: {own[:200]}", subject="server", remedy=_REMEDY)
    if parts.scheme not in _SCHEMES or not host:
        raise ToolRequestError(
            "the base URL is no address of HTTP", subject="server", remedy="Write https://host/path."
        )
    if user:
        remedy = "Give them as credentials."
        raise ToolRequestError("the base URL holds a user name or a password", subject="server", remedy=remedy)
    if parts.query or parts.fragment:
        raise ToolRequestError("the base URL has a query or a fragment", subject="server", remedy="Leave it out.")
    return url.rstrip("/")


def _below(server: str, own: str) -> str:
    """Resolve a relative server of a document against the one that was given, which no document may leave: else it stands alone."""
    url = urljoin(f"{server.rstrip('/')}/", own)
    given, found = urlsplit(server), urlsplit(url)
    path = _decoded(found.path)
    if any(part in (".", "..") for part in path.split("/")) or not path.isprintable():
        return server
    inside = f"{path.rstrip('/')}/".startswith(f"{_decoded(given.path).rstrip('/')}/")
    return url if inside and (found.scheme, found.netloc) == (given.scheme, given.netloc) else server


def _decoded(path: str) -> str:
    """The path without percent-encoding, however often a server may decode it, and with each backslash as a slash."""
    while (once := unquote(path)) != path:
        path = once
    return path.replace("\\", "/")


def _path(template: str, call: Call, placed: Sequence[PlacedArgument]) -> str:
    values = {each.wire_name: each for each in placed} | {each.argument.name: each for each in placed}

    def written(match: re.Match[str]) -> str:
        each = values.get(match[2])
        if each is None:
            raise ToolRequestError("no argument fills this variable of the path", subject=match[2], remedy="Give it.")
        if call.protocol == "odata" and (is_edm_type(each.argument.style) or not each.argument.style):
            style = each.argument.style
            literal = odata_literal(each.value, style, version=call.service, name=each.argument.name)
            return quote(literal, safe="'", errors="replace")
        return path_text(each, reserved=bool(match[1]))

    path = _PLACE.sub(written, template)
    if "#" in path:
        raise ToolRequestError(
            "the path of the document has a fragment", subject="path", remedy="Correct the document."
        )
    check_path(path, "path")
    return path if path.startswith("/") or not path else f"/{path}"


def _is_inline(call: Call, placed: PlacedArgument) -> bool:
    """Whether it is an optional parameter of a function of OData 4: it stands in the parentheses of the path when it is given."""
    is_v4 = call.protocol == "odata" and call.service == "v4" and call.path.endswith(")")
    return is_v4 and placed.argument.location == "query" and is_edm_type(placed.argument.style)


def _with_inline(call: Call, path: str, inline: Sequence[PlacedArgument]) -> str:
    for each in inline:
        literal = odata_literal(each.value, each.argument.style, version=call.service, name=each.argument.name)
        text = quote(literal, safe="'", errors="replace")
        path = f"{path[:-1]}{'' if path.endswith('()') else ','}{quote(each.wire_name)}={text})"
    return path


def _query(call: Call, placed: Sequence[PlacedArgument]) -> Iterator[tuple[str, str]]:
    """Yield the fields of the query; the comparisons of ``$filter`` are one field, joined by ``and``."""
    comparisons = []
    for each in placed:
        is_filter = call.protocol == "odata" and each.argument.location == "query" and each.wire_name == "$filter"
        if each.argument.location == "filter":
            comparisons.append(filter_expression(each, version=call.service))
        elif is_filter and isinstance(each.value, str):
            comparisons.append(f"({each.value})")
        elif each.argument.location == "query":
            yield from _odata_query(call, each) if call.protocol == "odata" else query_fields(each)
    if comparisons:
        text = comparisons[0] if len(comparisons) == 1 else " and ".join(comparisons)
        yield "$filter", quote(text, safe="'(),", errors="replace")


def _odata_query(call: Call, placed: PlacedArgument) -> Iterator[tuple[str, str]]:
    """Yield a query option (``$top``, ``$select`` with commas), or a literal as an argument of a function."""
    style = placed.argument.style
    if is_edm_type(style):
        literal = odata_literal(placed.value, style, version=call.service, name=placed.argument.name)
        yield quote(placed.wire_name, safe="$@"), quote(literal, safe="'", errors="replace")
        return
    values = placed.value if isinstance(placed.value, list) else None
    if values is not None and all(isinstance(value, str) for value in values):
        yield quote(placed.wire_name, safe="$@"), ",".join(quote(value, safe="/", errors="replace") for value in values)
        return
    for name, text in query_fields(placed):
        yield name.replace("%24", "$").replace("%40", "@"), text


HIDDEN = "***"
"""What stands for a credential where a request is shown."""
_BODIES = ("body", "form")
_READS = ("GET", "HEAD", "OPTIONS")
_LOCATIONS = frozenset({*_BODIES, "path", "query", "header", "filter"})


class ToolHttpRequest(httpx.Request):
    """A request of httpx that knows which of its parts are credentials. Send it with any client of httpx.

    :param public_url: its URL without credentials.
    :param from_document: whether its server is that of the document: its address is checked before it is sent.
    :param secret_headers: names, in lower case, of the headers that hold credentials.
    :param service_root: of OData: the URL of the service, where a request that changes something may need a token of it.
    """

    public_url: str = ""
    service_root: str = ""
    from_document: bool = False
    secret_headers: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.method!r}, {self.public_url!r})>"

    def public_headers(self) -> list[tuple[str, str]]:
        """Return the headers in their order, with ``***`` for the values that are credentials."""
        items = self.headers.multi_items()
        return [(name, HIDDEN if name.lower() in self.secret_headers else value) for name, value in items]


def http_request(
    call: Call,
    placed: Sequence[PlacedArgument],
    *,
    root: Any,
    server: str,
    credentials: Mapping[str, Credential],
) -> ToolHttpRequest:
    """Return the request of a call.

    :param root: the JSON Schema of all arguments.
    :raises ToolRequestError: when it cannot be made.
    """
    unknown = next((each for each in placed if each.argument.location not in _LOCATIONS), None)
    if unknown is not None:
        problem = f"its place in the request is not known: {unknown.argument.location!r}"
        raise ToolRequestError(problem, subject=unknown.argument.name, remedy="Use a newer egotools, or leave it out.")
    if not call.method:
        raise ToolRequestError(
            "the source of the tool names no HTTP method", subject="tool", remedy="Call it by other means."
        )
    url = call_url(call, placed, server=server)
    injected = inject_credentials(call.security, credentials, server=server)
    body = make_body(
        call.media_type,
        [each for each in placed if each.argument.location in _BODIES],
        method=call.method,
        root=root,
        declared=any(each.location in _BODIES for each in call.arguments),
    )
    headers = [*_headers(call, placed)]
    if body.media_type:
        headers.append(("Content-Type", body.media_type))
    try:
        request = ToolHttpRequest(
            call.method,
            _with_query(url, injected.query),
            headers=[*headers, *injected.headers, *_cookies(injected)],
            content=body.content,
            files=list(body.parts) or None,
        )
    except (httpx.InvalidURL, ValueError, TypeError):
        problem = "the URL or a header of the request is not valid"
        raise ToolRequestError(problem, subject="server", remedy="Correct the base URL or the document.") from None
    request.read()  # the parts of a form with files are in memory: the request can be shown, and sent again
    request.from_document = not server
    request.public_url = _with_query(url, [(name, HIDDEN) for name, _ in injected.query])
    if call.protocol == "odata" and call.method not in _READS:
        request.service_root = _with_query(f"{base_url(call, server)}/", injected.query)
    request.secret_headers = frozenset(name.lower() for name, _ in (*injected.headers, *_cookies(injected)))
    return request


def _headers(call: Call, placed: Sequence[PlacedArgument]) -> list[tuple[str, str]]:
    accept = call.accept or ("application/json" if call.protocol == "odata" else "")
    headers = [("Accept", accept)] if accept else []
    for each in placed:
        if each.argument.location != "header":
            continue
        if not is_settable(each.wire_name):
            problem = f"the header {each.wire_name!r} is not the caller's to set"
            raise ToolRequestError(problem, subject=each.argument.name, remedy="Leave this argument out.")
        headers.append((each.wire_name, header_text(each)))
    return headers


def _with_query(url: str, fields: Sequence[tuple[str, str]]) -> str:
    added = "&".join(f"{quote(name, safe='')}={quote(value, safe='*')}" for name, value in fields)
    return url + (("&" if "?" in url else "?") + added if added else "")


def _cookies(injected: Injected) -> list[tuple[str, str]]:
    cookies = "; ".join(f"{name}={quote(value, safe='*')}" for name, value in injected.cookies)
    return [("Cookie", cookies)] if cookies else []
