"""A call over HTTP as a request of httpx; its ``repr`` and what it shows hide the credentials.

Of OpenAPI's styles ``simple`` (path, header), ``form`` and ``deepObject`` (query, form), and JSON are written.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

import httpx

from egotools.call import Argument, Call
from egotools.calling.call_credentials import Credential, inject_credentials, is_settable
from egotools.calling.input_arguments import PlacedArgument, kind_of
from egotools.client_errors import ToolRequestError

HIDDEN = "***"
"""What stands for a credential where a request is shown."""
_BODIES = ("body", "form")
_LOCATIONS = frozenset({*_BODIES, "path", "query", "header", "filter"})
_STYLES = frozenset({"", "simple", "form", "deepObject", "json"})
_READS, _WITH_BODY = ("GET", "HEAD", "OPTIONS"), ("POST", "PUT", "PATCH")
# RFC 6570, reserved expansion, without the two characters that end a path: a value cannot add a query or a fragment.
_RESERVED = "/:@!$&'()*+,;=[]"
_ENCODED = re.compile(r"(%[0-9A-Fa-f]{2})")
_PLACE = re.compile(r"\{(\+?)([^{}]+)\}")
_NOT_IN_HEADERS = re.compile(r"[^\t\x20-\x7e]")
_JSON = re.compile(r"^(application/json|text/json|[^;]*\+json|application/\*|\*/\*)\s*(;|$)|^$", re.IGNORECASE)
_FORM, _MULTIPART, _BYTES = "application/x-www-form-urlencoded", "multipart/form-data", "application/octet-stream"
_OWN_CLIENT = "Send this request with a client of your own."
_BASE_URL = "Give the base URL of the API (server, on the command line --base-url)."
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
_FORMS_V4 = {"Edm.Duration": "duration'{}'"}
_PLAIN_LITERAL = re.compile(r"[\w.:+-]+", re.ASCII)  # of numbers, dates, times, ids: none of these ends a literal
_Part = tuple[str, tuple[str | None, bytes, str | None]]


class ToolHttpRequest(httpx.Request):
    """A request of httpx that knows which of its parts are credentials. Send it with any client of httpx."""

    public_url: str = ""  # its URL without credentials
    service_root: str = ""  # of OData: the URL of the service, where a change may need a token of it
    from_document: bool = False  # whether its server is that of the document: its address is checked before it is sent
    secret_headers: frozenset[str] = frozenset()  # names, in lower case, of the headers that hold credentials

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.method!r}, {self.public_url!r})>"

    def public_headers(self) -> list[tuple[str, str]]:
        """Return the headers in their order, with ``***`` for the values that are credentials."""
        items = self.headers.multi_items()
        return [(name, HIDDEN if name.lower() in self.secret_headers else value) for name, value in items]


def http_request(
    call: Call, placed: Sequence[PlacedArgument], *, server: str, credentials: Mapping[str, Credential]
) -> ToolHttpRequest:
    """Return the request of a call; ToolRequestError when it cannot be made."""
    for argument in (each.argument for each in placed):
        if argument.location not in _LOCATIONS:
            problem = f"its place in the request is not known: {argument.location!r}"
            raise ToolRequestError(problem, argument.name, "Use a newer egotools, or leave it out.")
        if argument.style not in _STYLES and not _is_edm_type(argument.style):
            problem = f"egotools does not write the style {argument.style!r} of parameters"
            raise ToolRequestError(problem, argument.name, f"Leave it out, if it is optional. {_OWN_CLIENT}")
    if not call.method:
        raise ToolRequestError("the source of the tool names no HTTP method", "tool", "Call it by other means.")
    url = _call_url(call, placed, server)
    injected = inject_credentials(call.security, credentials, server=server)
    cookies = "; ".join(f"{name}={quote(value, safe='*')}" for name, value in injected.cookies)
    secret = [*injected.headers, *([("Cookie", cookies)] if cookies else [])]
    in_body = [each for each in placed if each.argument.location in _BODIES]
    parts: list[_Part] = []
    media_type, content = "", None
    kind = call.media_type.partition(";")[0].strip().lower()
    if in_body and kind == _MULTIPART:  # its boundary is the client's to choose
        parts = [part for each in _members(in_body) for part in _parts(each)]
    else:
        media_type, content = _content(call, kind, in_body)
    accept = call.accept or ("application/json" if call.protocol == "odata" else "")
    headers = [("Accept", accept)] if accept else []
    for each in placed:
        if each.argument.location != "header":
            continue
        if not is_settable(each.wire_name):
            problem = f"the header {each.wire_name!r} is not the caller's to set"
            raise ToolRequestError(problem, each.argument.name, "Leave this argument out.")
        text = _simple(each, str)
        if _NOT_IN_HEADERS.search(text):
            problem = "a header takes printable ASCII only"
            raise ToolRequestError(problem, each.argument.name, "Leave other characters out.")
        headers.append((each.wire_name, text))
    headers += [*([("Content-Type", media_type)] if media_type else []), *secret]
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


def _with_query(url: str, fields: Sequence[tuple[str, str]]) -> str:
    added = "&".join(f"{quote(name, safe='')}={quote(value, safe='*')}" for name, value in fields)
    return url + (("&" if "?" in url else "?") + added if added else "")


def base_url(call: Call, server: str) -> str:
    """Return the base URL of a call without the slash at its end.

    :param server: takes the place of the call's; a relative one of the call is added where it stays below it.
    :raises ToolRequestError: when it is missing, relative, of another scheme than HTTP, or holds a password.
    """
    own = call.servers[0] if call.servers else ""
    try:
        relative, url = bool(own) and not urlsplit(own).netloc, server or own
        if server and relative:  # no document may leave the server that was given: else that stands alone
            joined = urljoin(f"{server.rstrip('/')}/", own)
            given, found = urlsplit(server), urlsplit(joined)
            path = _decoded(found.path)
            inside = f"{path.rstrip('/')}/".startswith(f"{_decoded(given.path).rstrip('/')}/")
            tricked = any(part in (".", "..") for part in path.split("/")) or not path.isprintable()
            if inside and not tricked and (found.scheme, found.netloc) == (given.scheme, given.netloc):
                url = joined
    except ValueError:  # one of the two is no URL
        relative, url = False, server or own
    if not url:
        raise ToolRequestError("the document names no server", "server", _BASE_URL)
    if variable := re.search(r"\{([^{}]*)\}", url):
        raise ToolRequestError(f"the server of the document has the variable {variable[1]!r}", "server", _BASE_URL)
    try:
        parts = urlsplit(url)
        host, user = parts.hostname, parts.username or parts.password
        parts.port  # noqa: B018 - raises for a port that is no number
    except ValueError:
        raise ToolRequestError("the base URL cannot be read", "server", _BASE_URL) from None
    if relative and not server:
        raise ToolRequestError(f"the server of the document is relative: {own[:200]}", "server", _BASE_URL)
    if parts.scheme not in ("http", "https") or not host:
        raise ToolRequestError("the base URL is no address of HTTP", "server", "Write https://host/path.")
    if user:
        problem = "the base URL holds a user name or a password"
        raise ToolRequestError(problem, "server", "Give them as credentials.")
    if parts.query or parts.fragment:
        raise ToolRequestError("the base URL has a query or a fragment", "server", "Leave it out.")
    return url.rstrip("/")


def _decoded(path: str) -> str:
    """The path without percent-encoding, however often a server may decode it, and with each backslash as a slash."""
    while (once := unquote(path)) != path:
        path = once
    return path.replace("\\", "/")


def _call_url(call: Call, placed: Sequence[PlacedArgument], server: str) -> str:
    # An optional parameter of a function of OData 4 stands in the parentheses of the path when it is given.
    v4 = call.protocol == "odata" and call.service == "v4" and call.path.endswith(")")
    inline = [each for each in placed if v4 and each.argument.location == "query" and _is_edm_type(each.argument.style)]
    own = urlsplit(call.path)  # a path template may have a query of its own
    path = _path(own.path, call, [each for each in placed if each.argument.location == "path"])
    for each in inline:
        text = _quoted(_odata_literal(each, call.service, each.value), "'")
        path = f"{path[:-1]}{'' if path.endswith('()') else ','}{quote(each.wire_name)}={text})"
    fields, comparisons = [own.query] if own.query else [], []
    for each in placed:
        if each.argument.location == "filter":
            values = each.value if kind_of(each.value) == "array" else [each.value]
            if not values:
                raise ToolRequestError("the list is empty", each.argument.name, "Give values to compare with.")
            either = [f"{each.wire_name} eq {_odata_literal(each, call.service, one)}" for one in values]
            comparisons.append(either[0] if len(either) == 1 else f"({' or '.join(either)})")
        elif each.argument.location != "query" or each in inline:
            continue
        elif call.protocol == "odata" and each.wire_name == "$filter" and isinstance(each.value, str):
            comparisons.append(f"({each.value})")
        else:
            named = _odata_option(call, each) if call.protocol == "odata" else _fields(each)
            fields += [f"{name}={text}" for name, text in named]
    if comparisons:  # one field
        text = comparisons[0] if len(comparisons) == 1 else " and ".join(comparisons)
        fields.append("$filter=" + _quoted(text, "'(),"))
    query = "&".join(fields)
    return base_url(call, server) + path + (f"?{query}" if query else "")


def _path(template: str, call: Call, placed: Sequence[PlacedArgument]) -> str:
    values = {each.wire_name: each for each in placed} | {each.argument.name: each for each in placed}

    def reserved(text: str) -> str:  # what is encoded already stays as it is
        parts = enumerate(_ENCODED.split(text))
        return "".join(part if index % 2 else _quoted(part, _RESERVED) for index, part in parts)

    def written(match: re.Match[str]) -> str:
        each = values.get(match[2])
        if each is None:
            raise ToolRequestError("no argument fills this variable of the path", match[2], "Give it.")
        if call.protocol == "odata" and (_is_edm_type(each.argument.style) or not each.argument.style):
            return _quoted(_odata_literal(each, call.service, each.value), "'")
        text = _simple(each, reserved if match[1] else _quoted)
        if not text:
            raise ToolRequestError("the value is empty", each.argument.name, "A part of the path needs a value.")
        _check_path(text, each.argument.name)
        return text

    path = _PLACE.sub(written, template)
    if "#" in path:
        raise ToolRequestError("the path of the document has a fragment", "path", "Correct the document.")
    _check_path(path, "path")
    return path if path.startswith("/") or not path else f"/{path}"


def _check_path(path: str, name: str) -> None:
    """Check that no part of a path leads to another one (``..``), also where it is percent-encoded."""
    if any(unquote(part) in (".", "..") for part in path.split("/")):
        problem = "the value has a part '.' or '..', which leads to another path"
        raise ToolRequestError(problem, name, "Give another value.")


def _simple(placed: PlacedArgument, encode: Callable[[str], str]) -> str:
    """A value in one text: a list with commas, an object as ``R,100`` or, exploded, as ``R=100``."""
    value, name = placed.value, placed.argument.name
    if placed.argument.style == "json":
        return encode(_json_text(value, name))
    if isinstance(value, Mapping):
        joint = "=" if placed.argument.explode else ","
        return ",".join(f"{encode(str(key))}{joint}{encode(_plain_text(each, name))}" for key, each in value.items())
    values = value if kind_of(value) == "array" else [value]
    return ",".join(encode(_plain_text(each, name)) for each in values)


def _fields(placed: PlacedArgument) -> Iterator[tuple[str, str]]:
    """Yield the fields of a value in a query or a form, name and value, percent-encoded."""
    name, style, value = placed.wire_name, placed.argument.style, placed.value
    is_plain = not isinstance(value, Mapping) and kind_of(value) != "array"
    if style == "json":
        fields = [(name, _json_text(value, placed.argument.name))]
    elif style == "deepObject" or (placed.argument.location == "form" and placed.argument.explode is not False):
        fields = list(_nested_fields(name, value, brackets=style == "deepObject"))
    elif is_plain:
        fields = [(name, _plain_text(value, placed.argument.name))]
    elif placed.argument.explode is False:
        if value:
            yield _quoted(name), _simple(placed, _quoted)
        return
    elif isinstance(value, Mapping):
        fields = [(str(key), _plain_text(each, placed.argument.name)) for key, each in value.items()]
    else:
        fields = [(name, _plain_text(each, placed.argument.name)) for each in value]
    yield from ((_quoted(key), _quoted(text)) for key, text in fields)


def _nested_fields(name: str, value: Any, *, brackets: bool) -> Iterator[tuple[str, str]]:
    """Yield the fields of a nested value: ``a[b]=1``, items of a list as ``a=1&a=2`` (with ``brackets`` as ``a[]=1``), objects as ``a[0][b]=1``."""
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


def _quoted(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="replace")


def _content(call: Call, kind: str, placed: Sequence[PlacedArgument]) -> tuple[str, bytes | None]:
    """Return media type and bytes of the body that the arguments of the locations ``body`` and ``form`` make."""
    media_type, is_json = call.media_type, _JSON.match(call.media_type)
    json_type = "application/json" if "*" in media_type or not media_type else media_type
    whole = next((each for each in placed if each.argument.whole_body), None)
    if not placed:  # an object whose members are all left out
        declared = any(each.location in _BODIES for each in call.arguments)
        return (json_type, b"{}") if declared and call.method in _WITH_BODY and is_json else ("", None)
    if kind.startswith("multipart/"):
        raise ToolRequestError(f"egotools writes no bodies of the type {kind}", "body", _OWN_CLIENT)
    if kind == _FORM:
        members = []
        for each in _members(placed):
            if isinstance(each.value, bytes) or kind_of(each.value) == "file":
                problem = "a form of this type carries no files"
                raise ToolRequestError(problem, each.argument.name, "Give a text, a number or a boolean.")
            members.append("&".join(f"{key}={text}" for key, text in _fields(each)))
        return media_type, "&".join(members).encode("ascii")
    subject = "body" if whole is None else whole.argument.name
    if whole is not None and isinstance(whole.value, bytes):
        return media_type or _BYTES, whole.value
    if is_json:
        value = whole.value if whole is not None else {each.wire_name: each.value for each in placed}
        return json_type, _json_text(value, subject).encode()
    if whole is not None and isinstance(whole.value, str):
        return media_type, whole.value.encode("utf-8", "replace")
    problem = f"the body has the media type {kind}, which egotools does not write from JSON values"
    raise ToolRequestError(problem, subject, _OWN_CLIENT if whole is None else "Give the body as text or bytes.")


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


def _parts(placed: PlacedArgument) -> Iterator[_Part]:
    """Yield the parts of one member of a form with files: each item of a list is a part of its own."""
    name, schema = placed.wire_name, placed.schema if isinstance(placed.schema, Mapping) else {}
    is_list = kind_of(placed.value) == "array"
    is_file = (schema.get("items", schema) if is_list else schema).get("format") == "binary"
    for value in placed.value if is_list else [placed.value]:
        if kind_of(value) == "file":
            yield name, (str(value[0]), value[1], value[2] or _BYTES)
        elif isinstance(value, bytes):
            yield name, (name, value, _BYTES)
        elif isinstance(value, Mapping | list):
            yield name, (None, _json_text(value, placed.argument.name).encode(), "application/json")
        else:
            content = _plain_text(value, placed.argument.name).encode("utf-8", "replace")
            yield name, (name, content, _BYTES) if is_file else (None, content, None)


def _is_edm_type(style: str) -> bool:
    """Whether the style of an argument is a type of OData (``Edm.String``, ``Sales.Color``) and not a style of HTTP."""
    return "." in style


def _odata_literal(placed: PlacedArgument, version: str, value: Any) -> str:
    """Return a value as a literal of OData ``v2`` or ``v4``, not yet percent-encoded; a qualified name other than ``Edm.…`` is an enumeration's."""
    edm_type, name = placed.argument.style, placed.argument.name
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
    if not edm_type and not isinstance(value, str):
        return text
    quoted = "'" + text.replace("'", "''") + "'"
    if edm_type in ("", "Edm.String"):
        return quoted
    if not edm_type.startswith("Edm."):
        return f"{edm_type}{quoted}"
    if not _PLAIN_LITERAL.fullmatch(text):
        raise wrong
    if version == "v2" and edm_type == "Edm.DateTime" and "T" not in text:
        text += "T00:00:00"
    return (_FORMS_V2 if version == "v2" else _FORMS_V4).get(edm_type, "{}").format(text)


def _odata_option(call: Call, placed: PlacedArgument) -> Iterator[tuple[str, str]]:
    """Yield a query option (``$top``, ``$select`` with commas), or a literal as an argument of a function."""
    name, value = quote(placed.wire_name, safe="$@"), placed.value
    if _is_edm_type(placed.argument.style):
        yield name, _quoted(_odata_literal(placed, call.service, value), "'")
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield name, ",".join(_quoted(one, "/") for one in value)
    else:
        yield from ((field.replace("%24", "$").replace("%40", "@"), text) for field, text in _fields(placed))
