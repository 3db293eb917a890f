"""The source ``mcp.v1``: tools of the Model Context Protocol, from a saved ``tools/list`` or a live server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from egotools.call import Argument, Call
from ingest.sources.document import Document
from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.json_schema.schema import Fields, flatten, local_lookup, view_of
from ingest.sources.json_schema.self_contained import SelfContained, self_contained
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

__all__ = ["McpSource"]

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
        rows = _page(data, None).tools
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
        for location, page in pages:
            if isinstance(page, RejectedRecord):
                yield page
                continue
            rows, cursor = _page(page, cursor)
            if rows is None:
                yield _unusable(location, page)
            for index, row in enumerate(rows or ()):
                yield from _tool(row, f"{location}#{index + 1}", service)
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


class _Page(NamedTuple):
    """The tools of a page (None when it is no page of tools) and the cursor of the next page."""

    tools: list[Any] | None
    cursor: Any


def _page(page: Any, cursor: Any) -> _Page:
    """Parse a page, or a list of pages (a JSON-RPC batch)."""
    if isinstance(page, list):
        if not any(isinstance(part, Mapping) and ("result" in part or "tools" in part) for part in page):
            return _Page(page, cursor)
        rows: list[Any] = []
        for part in page:
            found, cursor = _page(part, cursor)
            rows += found or ()
        return _Page(rows, cursor)
    if not isinstance(page, Mapping):
        return _Page(None, cursor)
    if isinstance(page.get("result"), Mapping):
        return _page(page["result"], cursor)
    if isinstance(page.get("tools"), list):
        return _Page(page["tools"], page.get("nextCursor"))
    if "inputSchema" in page:
        return _Page([page], cursor)
    return _Page([] if "method" in page else None, cursor)  # requests and notifications in a recorded exchange


def _unusable(location: str, page: Any) -> RejectedRecord:
    error = as_mapping(page).get("error")
    if isinstance(error, Mapping):
        return RejectedRecord(location, "rpc-error", f"The server answered: {error.get('message')}.")
    return RejectedRecord(location, "wrong-type", "It is neither a tool nor an answer to tools/list.")


def _tool(row: Any, location: str, service: str) -> Iterator[Tool | RejectedRecord]:
    """Yield the tool of a row. One whose answer cannot be read has no outputs, and a record says so."""
    name = as_text(as_mapping(row).get("name")).strip()
    if not name:
        is_tool = isinstance(row, Mapping)
        yield RejectedRecord(
            location,
            "no-name" if is_tool else "wrong-type",
            "The tool has no name; give it one." if is_tool else "A tool must be an object.",
        )
        return
    location = f"{location.rpartition('#')[0]}#{name}"
    try:
        inputs = _read_schema(row, "inputSchema", output=False)
    except Exception as error:  # whatever is wrong with one, the others are read
        yield RejectedRecord.of_error(location, error)
        return
    outputs = _ReadSchema()
    try:
        outputs = _read_schema(row, "outputSchema", output=True)
    except Exception as error:
        yield RejectedRecord.of_error(location, error, "The tool is kept without its outputs.")
    yield Tool(
        id=name,
        name=name,
        description=plain(as_text(row.get("description"))),
        parameters=inputs.fields.parameters,
        returns=outputs.fields.parameters,
        metadata=_metadata(row, service)
        | cut_parts(
            parameters=inputs.fields, returns=outputs.fields, input_schema=inputs.whole, output_schema=outputs.whole
        ),
        input_schema=inputs.whole.schema if inputs.whole else None,
        output_schema=outputs.whole.schema if outputs.whole else None,
        call=Call(protocol="mcp", operation=name, arguments=tuple(Argument(name=key) for key in inputs.names)),
    )


class _ReadSchema(NamedTuple):
    """A schema as flat view and as a whole, and the names of its properties, those of all alternatives together."""

    fields: Fields = Fields()
    whole: SelfContained | None = None
    names: tuple[str, ...] = ()


def _read_schema(row: Mapping[str, Any], key: str, *, output: bool) -> _ReadSchema:
    schema = row.get(key)
    if not isinstance(schema, Mapping | None):
        raise DocumentError(f"its {key} must be an object", subject=key, reason="wrong-type")
    if not schema:
        return _ReadSchema()
    lookup = local_lookup(schema)
    return _ReadSchema(
        flatten(schema, output=output),
        self_contained(schema, lookup, output=output),
        tuple(view_of(schema, lookup).properties),
    )


def _metadata(row: Mapping[str, Any], service: str) -> dict[str, Any]:
    """Return title and hints; a hint that is missing gets no default value."""
    annotations = as_mapping(row.get("annotations"))
    metadata: dict[str, Any] = {
        key: annotations[hint] for hint, key in _HINTS.items() if isinstance(annotations.get(hint), bool)
    }
    title = as_text(row.get("title")).strip() or as_text(annotations.get("title")).strip()
    if title:
        metadata["title"] = title
    if service:
        metadata["service"] = service
    # `_meta` has extensions of the server; its texts, numbers and booleans are metadata too.
    for key, value in as_mapping(row.get("_meta")).items():
        if isinstance(value, (str, int, float, bool)) and "/" not in str(key):
            metadata.setdefault(str(key), value)
    return metadata
