"""A call over HTTP as a request of httpx; its ``repr`` and what it shows hide the credentials."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

import httpx

from egotools.call import Argument, Call
from egotools.calling.call_credentials import Credential, inject_credentials, is_settable
from egotools.calling.input_arguments import PlacedArgument, kind_of, resolved
from egotools.client_errors import ToolRequestError

_DECIMAL = r"-?\d+(\.\d+)?([eE][+-]?\d+)?"
_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(:\d\d(\.\d+)?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_PATTERNS: Mapping[str, str] = {
    **dict.fromkeys(("Edm.Byte", "Edm.SByte", "Edm.Int16", "Edm.Int32", "Edm.Int64"), r"-?\d+"),
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
# OData 2.0: how a value is written that stands in quotes, or has a letter after the number.
_FORMS_V2 = {
    "Edm.DateTime": "datetime'{}'",
    "Edm.DateTimeOffset": "datetimeoffset'{}'",
    "Edm.Time": "time'{}'",
    "Edm.Guid": "guid'{}'",
    "Edm.Int64": "{}L",
    "Edm.Decimal": "{}M",
    "Edm.Double": "{}d",
    "Edm.Single": "{}f",
}


def _is_edm_type(style: str) -> bool:
    """Whether the style of an argument is a type of OData (``Edm.String``, ``Sales.Color``) and not a style of HTTP."""
    return "." in style


def _odata_literal(placed: PlacedArgument, version: str, value: Any = None) -> str:
    """Return a value as a literal of OData ``v2`` or ``v4``, not yet percent-encoded.

    :param value: in the place of the argument's.
    :raises ToolRequestError: when it is none of the type; a qualified name other than ``Edm.…`` is that of an enumeration.
    """
    value, edm_type, name = placed.value if value is None else value, placed.argument.style, placed.argument.name
    wrong = ToolRequestError(f"the value is none of the type {edm_type}", name, "Give it in the form of that type.")
    if edm_type == "Edm.Binary":
        try:
            raw = base64.b64decode(value, validate=True) if isinstance(value, str) else value
        except ValueError:
            raise wrong from None
        if not isinstance(raw, bytes):
            raise wrong
        return f"X'{raw.hex()}'" if version == "v2" else f"binary'{base64.urlsafe_b64encode(raw).decode()}'"
    if not isinstance(value, str | int | float):
        problem = f"a value of the kind {kind_of(value)} is no literal of OData"
        raise ToolRequestError(problem, name, "Give a text or a number.")
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    quoted = "'" + text.replace("'", "''") + "'"
    if edm_type == "Edm.String" and isinstance(value, bool | float):
        raise wrong
    if edm_type in ("", "Edm.String"):
        return quoted if edm_type or isinstance(value, str) else text
    pattern = _PATTERNS.get(edm_type)
    if pattern is None:
        return f"{edm_type}{quoted}"
    if not re.fullmatch(pattern, text, re.ASCII):
        raise wrong
    if version != "v2":
        return f"duration'{text}'" if edm_type == "Edm.Duration" else text
    if edm_type == "Edm.DateTime" and "T" not in text:
        text += "T00:00:00"
    return _FORMS_V2.get(edm_type, "{}").format(text)


def _comparison(placed: PlacedArgument, version: str) -> str:
    """Return one comparison of ``$filter``: equality, or one of the values of a list."""
    values = placed.value if kind_of(placed.value) == "array" else [placed.value]
    if not values:
        raise ToolRequestError("the list is empty", placed.argument.name, "Give values to compare with.")
    either = [f"{placed.wire_name} eq {_odata_literal(placed, version, one)}" for one in values]
    return either[0] if len(either) == 1 else f"({' or '.join(either)})"


Encode = Callable[[str], str]

_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_PREFIXES = {"label": ".", "matrix": ";"}
# RFC 6570, reserved expansion, without the two characters that end a path: a value cannot add a query or a fragment.
_RESERVED = "/:@!$&'()*+,;=[]"
_ENCODED = re.compile(r"(%[0-9A-Fa-f]{2})")
_NOT_IN_HEADERS = re.compile(r"[^\t\x20-\x7e]")


def _plain_text(value: Any, name: str) -> str:
    """Return a single value as text: ``true``, ``7``, ``1.5``, the text itself."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value, allow_nan=False)
    problem = f"a value of the kind {kind_of(value)} cannot be written inside another value here"
    raise ToolRequestError(problem, name, "Give a text, a number or a boolean, or a list or object of these.")


def _json_text(value: Any, name: str) -> str:
    """Return a value as JSON in one line."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        remedy = "Give text, numbers, booleans, lists and objects."
        raise ToolRequestError("a part of the value is no JSON value", name, remedy) from None
    return text


def _members_of(value: Mapping[Any, Any], name: str) -> list[tuple[str, str]]:
    return [(str(key), _plain_text(inner, name)) for key, inner in value.items()]


def _path_text(placed: PlacedArgument, encode: Encode) -> str:
    """Return the value of a path argument, for the place of its ``{name}``."""
    name, style, explode = placed.argument.name, placed.argument.style, placed.argument.explode
    if style == "json":
        text = encode(_json_text(placed.value, name))
    elif not explode or style not in _PREFIXES:
        text = _simple(placed, encode, ",")
    elif style == "matrix" and kind_of(placed.value) == "array":
        text = _simple(placed, encode, f";{_quoted(placed.wire_name)}=")
    else:
        text = _simple(placed, encode, _PREFIXES[style])
    if not text:
        raise ToolRequestError("the value is empty", name, "A part of the path needs a value.")
    if style == "matrix":  # the members of an exploded object have names of their own
        text = f";{text}" if explode and isinstance(placed.value, Mapping) else f";{_quoted(placed.wire_name)}={text}"
    elif style == "label":
        text = f".{text}"
    _check_path(text, name)
    return text


def _check_path(path: str, name: str) -> None:
    """Check that no part of a path leads to another one (``..``), also where it is percent-encoded."""
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        problem = "the value has a part '.' or '..', which leads to another path"
        raise ToolRequestError(problem, name, "Give another value.")


def _header_text(placed: PlacedArgument) -> str:
    name = placed.argument.name
    text = _json_text(placed.value, name) if placed.argument.style == "json" else _simple(placed, str, ",")
    if _NOT_IN_HEADERS.search(text):
        raise ToolRequestError("a header takes printable ASCII only", name, "Leave other characters out.")
    return text


def _query_fields(placed: PlacedArgument) -> Iterator[tuple[str, str]]:
    """Yield the fields of a query, name and value, percent-encoded."""
    name, style, value = placed.wire_name, placed.argument.style or "form", placed.value
    explode = placed.argument.explode if placed.argument.explode is not None else style == "form"
    if style == "json":
        fields = [(name, _json_text(value, placed.argument.name))]
    elif style == "deepObject":
        fields = list(_nested_fields(name, value, brackets=True))
    elif isinstance(value, Mapping) or kind_of(value) == "array":
        if isinstance(value, Mapping):
            members = _members_of(value, placed.argument.name)
        else:
            members = [(name, _plain_text(inner, placed.argument.name)) for inner in value]
        if not explode and members:
            texts = [text for member in members for text in (member if isinstance(value, Mapping) else member[1:])]
            yield _quoted(name), _delimited(texts, style, placed)
        fields = members if explode else []
    else:
        fields = [(name, _plain_text(value, placed.argument.name))]
    yield from ((_quoted(key), _quoted(text)) for key, text in fields)


def _nested_fields(name: str, value: Any, *, brackets: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the fields of a nested value: ``a[b]=1``, items of a list as ``a=1&a=2``, objects in a list as ``a[0][b]=1``.

    :param brackets: whether a list of single values is ``a[]=1&a[]=2``.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nested_fields(f"{name}[{key}]", inner, brackets=brackets)
    elif kind_of(value) == "array":
        for index, inner in enumerate(value):
            if isinstance(inner, Mapping) or kind_of(inner) == "array":
                yield from _nested_fields(f"{name}[{index}]", inner, brackets=brackets)
            else:
                yield (f"{name}[]" if brackets else name), _plain_text(inner, name)
    else:
        yield name, "" if value is None else _plain_text(value, name)


def _simple(placed: PlacedArgument, encode: Encode, delimiter: str) -> str:
    value, name = placed.value, placed.argument.name
    if isinstance(value, Mapping):
        joint = "=" if placed.argument.explode else delimiter
        return delimiter.join(f"{encode(key)}{joint}{encode(text)}" for key, text in _members_of(value, name))
    values = value if kind_of(value) == "array" else [value]
    return delimiter.join(encode(_plain_text(inner, name)) for inner in values)


def _delimited(texts: Sequence[str], style: str, placed: PlacedArgument) -> str:
    delimiter = _DELIMITERS.get(style)
    if delimiter is None:
        return ",".join(map(_quoted, texts))
    if any(delimiter in text for text in texts):
        problem = f"an item has the character {delimiter!r}, which separates items here"
        raise ToolRequestError(problem, placed.argument.name, "Leave that character out, or make several calls.")
    return _quoted(delimiter.join(texts))


def _quoted(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="replace")


def _reserved(text: str) -> str:
    """Encode by reserved expansion: what is encoded already stays as it is."""
    parts = _ENCODED.split(text)
    return "".join(part if index % 2 else _quoted(part, _RESERVED) for index, part in enumerate(parts))


_Part = tuple[str, tuple[str | None, bytes, str | None]]
"""One part of a form with files: its name; its file name or None, its bytes, its media type or None."""
_JSON = re.compile(r"^(application/json|text/json|[^;]*\+json|application/\*|\*/\*)\s*(;|$)|^$", re.IGNORECASE)
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_BYTES = "application/octet-stream"
_WITH_BODY = ("POST", "PUT", "PATCH")
_MEDIA_TYPE = re.compile(r"^[\w!#$&^.+*-]+/[\w!#$&^.+*-]+(\s*;[\x20-\x7e]*)?\Z", re.ASCII)
_OWN_CLIENT = "Send this request with a client of your own."


def _content(call: Call, placed: Sequence[PlacedArgument]) -> tuple[str, bytes | None]:
    """Return media type and bytes of the body that the arguments of the locations ``body`` and ``form`` make."""
    media_type, kind = call.media_type, _kind(call)
    whole = next((each for each in placed if each.argument.whole_body), None)
    json_type = "application/json" if "*" in media_type or not media_type else media_type
    if not placed:  # an object whose members are all left out
        declared = any(each.location in _BODIES for each in call.arguments)
        empty = declared and call.method in _WITH_BODY and _JSON.match(media_type)
        return (json_type, b"{}") if empty else ("", None)
    if kind.startswith("multipart/"):
        raise ToolRequestError(f"egotools writes no bodies of the type {kind}", "body", _OWN_CLIENT)
    if kind == _FORM:
        return media_type, "&".join(field for each in _members(placed) for field in _form_fields(each)).encode("ascii")
    if whole is not None and isinstance(whole.value, bytes):
        return media_type or _BYTES, whole.value
    if whole is not None and kind_of(whole.value) == "file":
        return _checked_type(whole.value[2] or media_type, whole.argument.name), whole.value[1]
    subject = "body" if whole is None else whole.argument.name
    if _JSON.match(media_type):
        value = whole.value if whole is not None else {each.wire_name: each.value for each in placed}
        return json_type, _json_text(value, subject).encode()
    if whole is not None and isinstance(whole.value, str):
        return media_type, whole.value.encode("utf-8", "replace")
    problem = f"the body has the media type {kind}, which egotools does not write from JSON values"
    raise ToolRequestError(problem, subject, _OWN_CLIENT if whole is None else "Give the body as text or bytes.")


def _kind(call: Call) -> str:
    return call.media_type.partition(";")[0].strip().lower()


def _members(placed: Sequence[PlacedArgument]) -> Iterator[PlacedArgument]:
    """Yield the fields of a form; a whole body that is an object is taken apart."""
    whole = next((each for each in placed if each.argument.whole_body), None)
    if whole is None:
        yield from placed
    elif isinstance(whole.value, Mapping):
        for name, value in whole.value.items():
            yield PlacedArgument(argument=Argument(name=str(name), location="form"), value=value)
    else:
        raise ToolRequestError("a form needs an object", whole.argument.name, "Give an object of fields and values.")


def _form_fields(placed: PlacedArgument) -> Iterator[str]:
    """Yield the fields of one member, encoded as forms are: a space is ``+``."""
    style, value, name = placed.argument.style, placed.value, placed.argument.name
    if isinstance(value, bytes) or kind_of(value) == "file":
        raise ToolRequestError("a form of this type carries no files", name, "Give a text, a number or a boolean.")
    if style == "json":
        yield urlencode([(placed.wire_name, _json_text(value, name))])
    elif style in ("", "deepObject") and placed.argument.explode is not False:
        fields = _nested_fields(placed.wire_name, value, brackets=style == "deepObject")
        yield from (urlencode([field], errors="replace") for field in fields)
    else:
        yield from (f"{key}={text}" for key, text in _query_fields(placed))


def _parts(placed: PlacedArgument, root: Any) -> Iterator[_Part]:
    """Yield the parts of one member of a form with files: each item of a list is a part of its own."""
    schema = resolved(placed.schema, root)
    is_list = kind_of(placed.value) == "array"
    if is_list and "items" in schema:
        schema = resolved(schema["items"], root)
    for one in placed.value if is_list else [placed.value]:
        yield placed.wire_name, _part(one, placed, schema)


def _part(value: Any, placed: PlacedArgument, schema: Mapping[str, Any]) -> tuple[str | None, bytes, str | None]:
    name = placed.argument.name
    if kind_of(value) == "file":
        return str(value[0]), value[1], _checked_type(value[2] or _BYTES, name)
    if isinstance(value, bytes):
        return placed.wire_name, value, _BYTES
    if isinstance(value, Mapping | list) or placed.argument.style == "json":
        return None, _json_text(value, name).encode(), "application/json"
    content = _plain_text(value, name).encode("utf-8", "replace")
    return (placed.wire_name, content, _BYTES) if schema.get("format") == "binary" else (None, content, None)


def _checked_type(media_type: str, name: str) -> str:
    if not isinstance(media_type, str) or not _MEDIA_TYPE.match(media_type):
        raise ToolRequestError("the file has no valid media type", name, "For example: image/png.")
    return media_type


_PLACE = re.compile(r"\{(\+?)([^{}]+)\}")
_REMEDY = "Give the base URL of the API (server, on the command line --base-url)."


def _call_url(call: Call, placed: Sequence[PlacedArgument], server: str) -> str:
    # An optional parameter of a function of OData 4 stands in the parentheses of the path when it is given.
    v4 = call.protocol == "odata" and call.service == "v4" and call.path.endswith(")")
    inline = [each for each in placed if v4 and each.argument.location == "query" and _is_edm_type(each.argument.style)]
    query = "&".join(f"{name}={text}" for name, text in _query(call, [each for each in placed if each not in inline]))
    own = urlsplit(call.path)  # a path template may have a query of its own
    path = _path(own.path, call, [each for each in placed if each.argument.location == "path"])
    for each in inline:
        text = _quoted(_odata_literal(each, call.service), "'")
        path = f"{path[:-1]}{'' if path.endswith('()') else ','}{quote(each.wire_name)}={text})"
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
        raise ToolRequestError("the document names no server", "server", _REMEDY)
    if variable := re.search(r"\{([^{}]*)\}", url):
        raise ToolRequestError(f"the server of the document has the variable {variable[1]!r}", "server", _REMEDY)
    try:
        parts = urlsplit(url)
        host, user = parts.hostname, parts.username or parts.password
        parts.port  # noqa: B018 - raises for a port that is no number
    except ValueError:
        raise ToolRequestError("the base URL cannot be read", "server", _REMEDY) from None
    if relative and not server:
        raise ToolRequestError(f"the server of the document is relative: {own[:200]}", "server", _REMEDY)
    if parts.scheme not in ("http", "https") or not host:
        raise ToolRequestError("the base URL is no address of HTTP", "server", "Write https://host/path.")
    if user:
        problem = "the base URL holds a user name or a password"
        raise ToolRequestError(problem, "server", "Give them as credentials.")
    if parts.query or parts.fragment:
        raise ToolRequestError("the base URL has a query or a fragment", "server", "Leave it out.")
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
            raise ToolRequestError("no argument fills this variable of the path", match[2], "Give it.")
        if call.protocol == "odata" and (_is_edm_type(each.argument.style) or not each.argument.style):
            return _quoted(_odata_literal(each, call.service), "'")
        return _path_text(each, _reserved if match[1] else _quoted)

    path = _PLACE.sub(written, template)
    if "#" in path:
        raise ToolRequestError("the path of the document has a fragment", "path", "Correct the document.")
    _check_path(path, "path")
    return path if path.startswith("/") or not path else f"/{path}"


def _query(call: Call, placed: Sequence[PlacedArgument]) -> Iterator[tuple[str, str]]:
    """Yield the fields of the query; the comparisons of ``$filter`` are one field, joined by ``and``."""
    comparisons = []
    is_odata = call.protocol == "odata"
    for each in placed:
        in_query = each.argument.location == "query"
        if each.argument.location == "filter":
            comparisons.append(_comparison(each, call.service))
        elif is_odata and in_query and each.wire_name == "$filter" and isinstance(each.value, str):
            comparisons.append(f"({each.value})")
        elif in_query:
            yield from _odata_query(call, each) if is_odata else _query_fields(each)
    if comparisons:
        text = comparisons[0] if len(comparisons) == 1 else " and ".join(comparisons)
        yield "$filter", _quoted(text, "'(),")


def _odata_query(call: Call, placed: PlacedArgument) -> Iterator[tuple[str, str]]:
    """Yield a query option (``$top``, ``$select`` with commas), or a literal as an argument of a function."""
    name, value = quote(placed.wire_name, safe="$@"), placed.value
    if _is_edm_type(placed.argument.style):
        yield name, _quoted(_odata_literal(placed, call.service), "'")
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield name, ",".join(_quoted(one, "/") for one in value)
    else:
        for field, text in _query_fields(placed):
            yield field.replace("%24", "$").replace("%40", "@"), text


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
        raise ToolRequestError(problem, unknown.argument.name, "Use a newer egotools, or leave it out.")
    if not call.method:
        raise ToolRequestError("the source of the tool names no HTTP method", "tool", "Call it by other means.")
    url = _call_url(call, placed, server)
    injected = inject_credentials(call.security, credentials, server=server)
    cookies = "; ".join(f"{name}={quote(value, safe='*')}" for name, value in injected.cookies)
    secret = [*injected.headers, *([("Cookie", cookies)] if cookies else [])]
    in_body = [each for each in placed if each.argument.location in _BODIES]
    parts: list[_Part] = []
    media_type, content = "", None
    if _kind(call) == _MULTIPART and in_body:  # its boundary is the client's to choose
        parts = [part for each in _members(in_body) for part in _parts(each, root)]
    else:
        media_type, content = _content(call, in_body)
    headers = [*_headers(call, placed), *([("Content-Type", media_type)] if media_type else []), *secret]
    try:
        request = ToolHttpRequest(
            call.method, _with_query(url, injected.query), headers=headers, content=content, files=parts or None
        )
    except (httpx.InvalidURL, ValueError, TypeError):
        problem = "the URL or a header of the request is not valid"
        raise ToolRequestError(problem, "server", "Correct the base URL or the document.") from None
    request.read()  # the parts of a form with files are in memory: the request can be shown, and sent again
    request.from_document = not server
    request.public_url = _with_query(url, [(name, HIDDEN) for name, _ in injected.query])
    if call.protocol == "odata" and call.method not in _READS:
        request.service_root = _with_query(f"{base_url(call, server)}/", injected.query)
    request.secret_headers = frozenset(name.lower() for name, _ in secret)
    return request


def _headers(call: Call, placed: Sequence[PlacedArgument]) -> list[tuple[str, str]]:
    accept = call.accept or ("application/json" if call.protocol == "odata" else "")
    headers = [("Accept", accept)] if accept else []
    for each in placed:
        if each.argument.location == "header":
            if not is_settable(each.wire_name):
                problem = f"the header {each.wire_name!r} is not the caller's to set"
                raise ToolRequestError(problem, each.argument.name, "Leave this argument out.")
            headers.append((each.wire_name, _header_text(each)))
    return headers


def _with_query(url: str, fields: Sequence[tuple[str, str]]) -> str:
    added = "&".join(f"{quote(name, safe='')}={quote(value, safe='*')}" for name, value in fields)
    return url + (("&" if "?" in url else "?") + added if added else "")
