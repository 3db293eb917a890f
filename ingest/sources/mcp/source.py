"""The source ``mcp.v1``: tools of the Model Context Protocol, from a saved ``tools/list`` or a live server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ingest.sources.document import Document
from ingest.sources.json_schema.schema import flatten
from ingest.sources.parsing import parse_json
from ingest.sources.prose import plain
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Parameter, Tool

__all__ = ["LIVE", "McpSource"]

#: How the address of a live server starts.
LIVE = ("mcp:", "mcp+http://", "mcp+https://")

_LINES = frozenset({".jsonl", ".ndjson"})
_DOCUMENTS = frozenset({".json", ".yaml", ".yml", ""})
_SCHEMA = re.compile(r"""["']?inputSchema["']?\s*:""")
_MAYBE = re.compile(r"""["']?(?:tools|jsonrpc|name)["']?\s*:""")
_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


class McpSource:
    """Reader of saved answers to ``tools/list`` and of live MCP servers."""

    name = "mcp.v1"

    def accepts(self, document: Document) -> bool:
        """A live address, or JSON (YAML, JSONL) with tools that have an ``inputSchema``, also wrapped in JSON-RPC answers."""
        if document.address.startswith(LIVE):
            return True
        if not document.has_content or document.suffix not in _LINES | _DOCUMENTS:
            return False
        head = document.head
        if document.suffix in _LINES:
            return bool(_SCHEMA.search(head)) or '"jsonrpc"' in head
        if not _MAYBE.search(head):
            return False
        try:
            return _looks_like_tools(document.data)
        except DocumentError:
            return False

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the tools, in the server's order.

        :raises DocumentError: when the file cannot be parsed, or the server is not there, dies or is too slow.
        :raises MissingExtraError: for a live server without the extra ``mcp``.
        """
        if document.address.startswith(LIVE):
            from ingest.sources.mcp.live import list_tools

            service, listed = list_tools(document.address)
            pages: Iterable[tuple[str, Any]] = [(document.address, {"tools": listed})]
        elif document.suffix in _LINES:
            service, pages = "", _lines(document)
        else:
            service, pages = "", [(document.address, document.data)]
        cursor: Any = None
        for place, page in pages:
            if isinstance(page, RejectedRecord):
                yield page
                continue
            rows, cursor = _page(page, cursor)
            if rows is None:
                yield _unusable(place, page)
            for index, row in enumerate(rows or ()):
                yield _tool(row, f"{place}#{index + 1}", service)
        if cursor:
            detail = "The list goes on after its last page (nextCursor); save the following pages too."
            yield RejectedRecord(subject=document.address, reason="missing-page", detail=detail)


def _lines(document: Document) -> Iterator[tuple[str, Any]]:
    for number, line in document.lines():
        place = f"{document.address}:{number}"
        if not line.strip():
            continue
        try:
            yield place, parse_json(line, subject=document.address, line=number)
        except DocumentError as error:
            yield place, RejectedRecord(subject=place, reason="invalid-json", detail=f"{error.problem}.")


def _looks_like_tools(data: Any) -> bool:
    rows, _ = _page(data, None)
    if rows is None:
        return False
    if not rows:  # an empty list says nothing of its format unless its envelope does
        return isinstance(data, Mapping) and "result" in data
    return any(isinstance(row, Mapping) and "inputSchema" in row for row in rows)


def _page(page: Any, cursor: Any) -> tuple[list[Any] | None, Any]:
    """The tools of a page (None when it has no place for them) and the cursor of the page after it.

    A page may also be a list of pages, as JSON-RPC batches them.
    """
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
    return ([], cursor) if "method" in page else (None, cursor)  # requests and notices in a recorded exchange


def _unusable(place: str, page: Any) -> RejectedRecord:
    error = page.get("error") if isinstance(page, Mapping) else None
    if isinstance(error, Mapping):
        return RejectedRecord(subject=place, reason="rpc-error", detail=f"The server answered: {error.get('message')}.")
    return RejectedRecord(
        subject=place, reason="wrong-type", detail="It is neither a tool nor an answer to tools/list."
    )


def _tool(row: Any, place: str, service: str) -> Tool | RejectedRecord:
    if not isinstance(row, Mapping):
        return RejectedRecord(subject=place, reason="wrong-type", detail="A tool must be an object.")
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        return RejectedRecord(subject=place, reason="no-name", detail="The tool has no name; give it one.")
    name = name.strip()
    place = f"{place.rpartition('#')[0]}#{name}"
    for key in ("inputSchema", "outputSchema"):
        if not isinstance(row.get(key, {}), (Mapping, type(None))):
            return RejectedRecord(subject=place, reason="wrong-type", detail=f"Its {key} must be an object.")
    try:
        parameters, cut_inputs = _fields(row.get("inputSchema"))
        returns, cut_outputs = _fields(row.get("outputSchema"), output=True)
    except DocumentError as error:
        reason = "dangling-ref" if error.problem.startswith("the reference") else "wrong-type"
        return RejectedRecord(subject=place, reason=reason, detail=f"{error.problem}.")
    description = row.get("description")
    cut = [field for field, was_cut in (("parameters", cut_inputs), ("returns", cut_outputs)) if was_cut]
    return Tool(
        id=name,
        name=name,
        description=plain(description) if isinstance(description, str) else "",
        parameters=parameters,
        returns=returns,
        metadata={**_metadata(row, service), **({"cut": cut} if cut else {})},
    )


def _fields(schema: Mapping[str, Any] | None, *, output: bool = False) -> tuple[tuple[Parameter, ...], bool]:
    if not schema:
        return (), False
    fields = flatten(schema, output=output)
    return fields.parameters, fields.cut


def _metadata(row: Mapping[str, Any], service: str) -> dict[str, Any]:
    """Title and hints; a hint that is not said is not guessed."""
    annotations = row.get("annotations")
    annotations = annotations if isinstance(annotations, Mapping) else {}
    titles = (row.get("title"), annotations.get("title"))
    metadata: dict[str, Any] = {
        word: annotations[hint] for hint, word in _HINTS.items() if isinstance(annotations.get(hint), bool)
    }
    title = next((text.strip() for text in titles if isinstance(text, str) and text.strip()), "")
    if title:
        metadata["title"] = title
    if service:
        metadata["service"] = service
    # `_meta` is the protocol's place for what a server adds: its plain values are metadata like any other.
    said = row.get("_meta")
    for key, value in said.items() if isinstance(said, Mapping) else ():
        if isinstance(value, (str, int, float, bool)) and "/" not in str(key):
            metadata.setdefault(str(key), value)
    return metadata
