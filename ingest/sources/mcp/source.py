"""The source ``mcp.v1``: tools of the Model Context Protocol, from a saved ``tools/list`` or a live server (with the extra ``mcp``)."""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from egotools.call import Argument, Call
from egotools.calling.mcp_session import ServerOutput, first_cause, http_server, stdio_server
from ingest.sources.document import Document
from ingest.sources.fetch import run_async
from ingest.sources.json_schema.schema import local_lookup, view_of
from ingest.sources.operation import Operation, Output, Schemas
from ingest.sources.prose import plain
from ingest.sources.source import (
    LINE_SUFFIXES,
    RejectedRecord,
    Row,
    Source,
    as_mapping,
    as_text,
    listed_rows,
    sampled_rows,
)
from ingest.sources.sources_file import UNNAMED, SourceEntry
from ontology.errors import DocumentError, MissingExtraError
from ontology.redaction import redact, redacted_address, secrets_in
from ontology.tool import Tool

_SCHEMA = re.compile(r"""["']?inputSchema["']?\s*:""")
_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


class McpSource(Source):
    """Reader of saved answers to ``tools/list`` and of live MCP servers."""

    name = "mcp.v1"
    live_prefixes = ("mcp:", "mcp+http://", "mcp+https://")

    def accepts(self, document: Document) -> bool:
        """Whether it is JSON (YAML, JSONL) of tools with an ``inputSchema``, also inside JSON-RPC responses."""
        if document.suffix in LINE_SUFFIXES:
            return bool(_SCHEMA.search(document.head)) or '"jsonrpc"' in document.head
        rows = sampled_rows(document)
        # An empty list is of this format only inside a JSON-RPC response.
        return any("inputSchema" in as_mapping(row) for row in rows) or (
            not rows and "result" in as_mapping(document.data_or_none)
        )

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools in the server's order."""
        rows: Iterable[Row]
        service, schemas = "", Schemas()
        if document.has_content:
            rows = listed_rows(document)
        else:
            service, listed = list_tools(document.target, access=document.access)
            rows = [Row(f"{document.address}#{number}", row) for number, row in enumerate(listed, 1)]
        for location, row in rows:
            if isinstance(row, RejectedRecord):
                yield row
                continue
            stated = as_mapping(row)
            if name := as_text(stated.get("name")).strip():
                subject = f"{location.rpartition('#')[0] or location}#{name}"
                yield from schemas.tools(subject, partial(_operation, name, row, service))
            elif isinstance(error := stated.get("error"), Mapping):
                yield RejectedRecord(location, "rpc-error", f"The server answered: {error.get('message')}.")
            elif "inputSchema" in stated:
                yield RejectedRecord(location, "no-name", "The tool has no name; give it one.")
            elif "method" not in stated:  # requests and notifications in a recorded exchange
                detail = "It is neither a tool nor an answer to tools/list."
                yield RejectedRecord(location, "wrong-type", detail)


def _operation(name: str, row: Mapping[str, Any], service: str) -> Operation:
    schema, answer = row.get("inputSchema"), row.get("outputSchema")
    if not isinstance(schema, Mapping | None):
        raise _no_object("inputSchema")
    arguments = view_of(schema, local_lookup(schema)).properties if schema else ()  # those of all alternatives together
    output: Output | Exception | None = Output(answer) if answer else None
    return Operation(
        id=name,
        description=plain(as_text(row.get("description"))),
        inputs=schema or None,
        output=output if isinstance(answer, Mapping | None) else _no_object("outputSchema"),
        metadata=_metadata(row, service),
        call=Call(protocol="mcp", operation=name, arguments=tuple(Argument(name=key) for key in arguments)),
    )


def _no_object(key: str) -> DocumentError:
    return DocumentError(f"its {key} must be an object", subject=key, reason="wrong-type")


def _metadata(row: Mapping[str, Any], service: str) -> dict[str, Any]:
    """Return title and hints; a hint that is missing gets no default value."""
    annotations = as_mapping(row.get("annotations"))
    metadata: dict[str, Any] = {
        key: annotations[hint] for hint, key in _HINTS.items() if isinstance(annotations.get(hint), bool)
    }
    title = as_text(row.get("title")).strip() or as_text(annotations.get("title")).strip()
    metadata |= {key: text for key, text in (("title", title), ("service", service)) if text}
    # `_meta` has extensions of the server; its texts, numbers and booleans are metadata too.
    for key, value in as_mapping(row.get("_meta")).items():
        if isinstance(value, (str, int, float, bool)) and "/" not in str(key):
            metadata.setdefault(str(key), value)
    return metadata


#: Timeout in seconds to start a server and to list all its tools.
TIMEOUT_S = 60.0
#: Maximum number of pages; a server with more is assumed to repeat its pages without end.
MAX_PAGES = 1_000
_NO_SUCH_METHOD = -32601  # of JSON-RPC


class ListedTools(NamedTuple):
    """The name of a server, or empty, and its tools in the JSON form of the protocol."""

    server: str
    tools: list[dict[str, Any]]


def list_tools(address: str, *, timeout_s: float = TIMEOUT_S, access: SourceEntry = UNNAMED) -> ListedTools:
    """Return the tools of the server at ``mcp:COMMAND …`` or ``mcp+http(s)://…``.

    :param timeout_s: seconds for the whole exchange.
    :param access: environment variables, headers and references in the address.
    :raises DocumentError: when the server cannot be started or reached, fails, is too slow, gives no valid answer, or
        writes more than :data:`egotools.calling.mcp_session.MAX_ANSWER_BYTES`.
    :raises MissingExtraError: when the SDK is not installed, or is older than the high-level client.
    """
    try:
        from mcp import Client  # noqa: F401 - to check that it is installed
    except ImportError as error:
        raise MissingExtraError(redacted_address(address), extra="mcp") from error
    for library in ("httpx", "httpx2"):
        logging.getLogger(library).setLevel(logging.WARNING)  # at INFO it logs each address with its credentials
    output = ServerOutput()
    try:
        return run_async(_list(address, output, timeout_s, access))
    except DocumentError:
        raise
    except Exception as error:  # the SDK, its HTTP client and the process raise errors of different classes
        raise _failure(address, error, output, timeout_s, access) from error


async def _list(address: str, output: ServerOutput, timeout_s: float, access: SourceEntry) -> ListedTools:
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    tools: list[dict[str, Any]] = []
    seen: set[str] = set()
    cursor: str | None = None
    server = _server(address, output, access)
    async with asyncio.timeout(timeout_s), Client(server, read_timeout_seconds=timeout_s) as client:
        name = client.server_info.name if client.server_info is not None else ""
        for _ in range(MAX_PAGES):
            try:
                page = await client.list_tools(cursor=cursor)
            except MCPError as error:
                if client.server_capabilities.tools is None and error.code == _NO_SUCH_METHOD:
                    return ListedTools(name, [])  # it says that it offers none, only resources or prompts
                raise
            tools += (tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools)
            cursor = page.next_cursor
            if not cursor:
                return ListedTools(name, tools)
            if cursor in seen:
                break
            seen.add(cursor)
    problem, subject = f"the list of tools has no end (page after {cursor!r})", redacted_address(address)
    raise DocumentError(problem, subject=subject, remedy="Correct the server's paging")


def _server(address: str, output: ServerOutput, access: SourceEntry) -> Any:
    if address.startswith(("mcp+http://", "mcp+https://")):
        return http_server(access.expand(address.removeprefix("mcp+")), access.resolved_headers(), output)
    try:
        words = shlex.split(address.removeprefix("mcp:"))
    except ValueError as error:
        problem, subject = f"the command cannot be read ({error})", redacted_address(address)
        raise DocumentError(problem, subject=subject, remedy="Write mcp:COMMAND ARGUMENTS") from error
    if not words:
        raise DocumentError("no command is named", subject=address, remedy="Write mcp:COMMAND ARGUMENTS")
    return stdio_server([access.expand(word) for word in words], access.resolved_env(), output)


def _failure(
    address: str, error: Exception, output: ServerOutput, timeout_s: float, access: SourceEntry
) -> DocumentError:
    cause = first_cause(error)
    server_output = f"; it wrote: {output.last_line[:300]}" if output.last_line else ""
    if isinstance(cause, DocumentError):
        problem = cause.problem
    elif output.too_large:
        problem = f"the MCP server wrote more than {output.max_bytes} bytes"
    elif output.compressed:
        problem = "the MCP server compresses its answers, although it is asked not to"
    elif output.refused:
        problem = f"the MCP server refuses the request ({output.refused}): give its token in a sources file"
    elif isinstance(cause, TimeoutError):
        problem = f"the MCP server did not list its tools within {timeout_s:g} s{server_output}"
    elif isinstance(cause, FileNotFoundError):
        problem = "the MCP server cannot be started: there is no such command"
    else:
        said = " ".join(str(cause).split())[:300] or type(cause).__name__
        problem = f"the MCP server cannot list its tools: {said}{server_output}"
    return DocumentError(
        redact(problem, (*secrets_in(address), *access.secrets())),
        subject=redacted_address(address),
        remedy="Start it by hand and read its output",
        reason=cause.reason if isinstance(cause, DocumentError) else "",
    )
