"""The source ``mcp.v1``: tools of the Model Context Protocol, from a saved ``tools/list`` or a live server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from egotools.call import Argument, Call
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import local_lookup, view_of
from ingest.sources.operation import Operation, Output, Schemas
from ingest.sources.prose import plain
from ingest.sources.source import (
    DATA_SUFFIXES,
    LINE_SUFFIXES,
    RejectedRecord,
    Row,
    Source,
    as_mapping,
    as_text,
    json_lines,
)
from ontology.errors import DocumentError
from ontology.tool import Tool

_SCHEMA = re.compile(r"""["']?inputSchema["']?\s*:""")
_POSSIBLE_KEY = re.compile(r"""["']?(?:tools|jsonrpc|name)["']?\s*:""")
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
        """Whether it is a live address, or JSON (YAML, JSONL) of tools with an ``inputSchema``, also inside JSON-RPC responses."""
        if not document.has_content:
            return document.address.startswith(self.live_prefixes)
        if document.suffix in LINE_SUFFIXES:
            return bool(_SCHEMA.search(document.head)) or '"jsonrpc"' in document.head
        if document.suffix not in DATA_SUFFIXES or not _POSSIBLE_KEY.search(document.head):
            return False
        data = document.data_or_none
        rows, _ = _page(data, None)
        if not rows:  # an empty list is of this format only inside a JSON-RPC response
            return rows is not None and isinstance(data, Mapping) and "result" in data
        return any(isinstance(row, Mapping) and "inputSchema" in row for row in rows)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools in the server's order.

        :raises DocumentError: when the file cannot be parsed, or the server cannot be started or reached, fails or is too slow.
        :raises MissingExtraError: for a live server when the SDK is not installed.
        """
        service, pages = _pages(document)
        cursor: Any = None
        schemas = Schemas()
        for location, page in pages:
            if isinstance(page, RejectedRecord):
                yield page
                continue
            rows, cursor = _page(page, cursor)
            if rows is None and isinstance(error := as_mapping(page).get("error"), Mapping):
                yield RejectedRecord(location, "rpc-error", f"The server answered: {error.get('message')}.")
            elif rows is None:
                yield RejectedRecord(location, "wrong-type", "It is neither a tool nor an answer to tools/list.")
            for number, row in enumerate(rows or (), 1):
                name = as_text(as_mapping(row).get("name")).strip()
                if name:
                    yield from schemas.tools(f"{location}#{name}", partial(_operation, name, row, service))
                elif isinstance(row, Mapping):
                    yield RejectedRecord(f"{location}#{number}", "no-name", "The tool has no name; give it one.")
                else:
                    yield RejectedRecord(f"{location}#{number}", "wrong-type", "A tool must be an object.")
        if cursor:
            detail = "The list goes on after its last page (nextCursor); save the following pages too."
            yield RejectedRecord(document.address, "missing-page", detail)


def _pages(document: Document) -> tuple[str, Iterable[Row]]:
    """Return the name of the server, or empty, and the responses to ``tools/list``."""
    if not document.has_content:
        from ingest.sources.mcp.live import list_tools

        service, listed = list_tools(document.target, access=document.access)
        return service, [Row(document.address, {"tools": listed})]
    if document.suffix in LINE_SUFFIXES:
        return "", json_lines(document)
    return "", [Row(document.address, document.data)]


def _page(page: Any, cursor: Any) -> tuple[list[Any] | None, Any]:
    """The tools of a page, or of a list of pages (a JSON-RPC batch), None where it is none; and the cursor of the next page."""
    if isinstance(page, list):
        if not any(isinstance(part, Mapping) and ("result" in part or "tools" in part) for part in page):
            return page, cursor
        rows: list[Any] = []
        for part in page:
            found, cursor = _page(part, cursor)
            rows += found or ()
        return rows, cursor
    if not isinstance(page, Mapping):
        return None, cursor
    if isinstance(page.get("result"), Mapping):
        return _page(page["result"], cursor)
    if isinstance(page.get("tools"), list):
        return page["tools"], page.get("nextCursor")
    if "inputSchema" in page:
        return [page], cursor
    return [] if "method" in page else None, cursor  # requests and notifications in a recorded exchange


def _operation(name: str, row: Mapping[str, Any], service: str) -> Operation:
    """The tool of a row."""
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
