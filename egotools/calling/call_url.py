"""The URL of a call: base URL, path and query, with every value encoded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote, unquote, urljoin, urlsplit

from egotools.call import Call
from egotools.calling.input_arguments import PlacedArgument
from egotools.calling.odata_literals import filter_expression, is_edm_type, odata_literal
from egotools.calling.parameter_styles import check_path, path_text, query_fields
from egotools.client_errors import ToolRequestError

__all__ = ["base_url", "call_url"]

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
