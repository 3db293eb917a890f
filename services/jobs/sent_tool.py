"""A tool as a caller sends it: a row of a table, a function definition or a tool of an MCP server, with an id and a namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ontology.errors import DocumentError
from ontology.tool import Tool

__all__ = ["NAMESPACE", "SentTool", "documents_of", "sent_tool"]

NAMESPACE = "tools"
"""The namespace of a tool that is sent without one."""
_WRAPPED = ("function", "toolSpec")
_SCHEMAS = ("parameters", "input_schema", "args_schema", "args")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTool:
    """One object of a call.

    :param row: what its reader gets: without id and namespace, which only tables have, and without dependencies: one on a tool that
        is not among these is no fault, as the catalogue may have it.
    :param form: ``table``, ``function`` or ``mcp``: the rows of a document have one form.
    :param key: what no other row of its document may have: the name, in a table the id.
    :param id: as sent; empty for none; ``namespace`` likewise.
    """

    row: Mapping[str, object]
    form: str
    key: str
    id: str
    namespace: str

    def named(self, tool: Tool) -> Tool:
        """Return the tool that was read of the row, with its id and namespace."""
        namespace = self.namespace or _namespace_in(self.id, tool.name)
        id_ = self.id or (f"{namespace}/{tool.name}" if namespace else tool.id)
        if not namespace:
            return replace(tool, id=id_)
        call = tool.call
        if call is not None and call.protocol == "mcp" and call.session == NAMESPACE:
            call = replace(call, session=namespace)  # the reader has put the namespace of its document there
        return replace(tool, id=id_, metadata={**tool.metadata, "namespace": namespace}, call=call)


def sent_tool(row: Mapping[str, object]) -> SentTool:
    """Take id and namespace of a row; a nested definition may have them inside or beside it.

    :raises DocumentError: when one of them is no text.
    """
    inner = next((key for key in _WRAPPED if isinstance(row.get(key), Mapping)), "")
    wrapped = row.get(inner)
    body = {**row, **wrapped} if isinstance(wrapped, Mapping) else row
    metadata = body.get("metadata")
    id_, namespace = _text(body, "id"), _text(body, "namespace")
    if not namespace and isinstance(metadata, Mapping):
        namespace = _text(metadata, "namespace")
    form = _form(row, body)
    taken = {"depends_on", "id", "namespace"}
    bare = {key: value for key, value in row.items() if key not in taken}
    if isinstance(wrapped, Mapping):
        bare[inner] = {key: value for key, value in wrapped.items() if key not in taken}
    name = str(body.get("name") or body.get("title") or "").strip()
    key = name
    if form == "table":
        key = id_ or f"{namespace or NAMESPACE}/{name}"
        bare |= {"id": key} if name else {}
    return SentTool(row=bare, form=form, key=key, id=id_, namespace=namespace)


def documents_of(sent: Sequence[SentTool]) -> list[list[int]]:
    """Group the rows, by number, so that each group is a document that one reader reads: of one form, no key twice.

    A table's key is the id of its tool: what is there twice is a fault, which the reader reports.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    seen: dict[tuple[str, str], int] = {}
    for number, each in enumerate(sent):
        before = 0 if each.form == "table" else seen.get((each.form, each.key), 0)
        seen[each.form, each.key] = before + 1
        groups.setdefault((each.form, before), []).append(number)
    return list(groups.values())


def _form(row: Mapping[str, object], body: Mapping[str, object]) -> str:
    if isinstance(body.get("parameters"), list):
        return "table"
    if "inputSchema" in row:
        return "mcp"
    wrapped = body is not row or row.get("type") == "function"
    return "function" if wrapped or any(isinstance(body.get(key), Mapping) for key in _SCHEMAS) else "table"


def _namespace_in(id_: str, name: str) -> str:
    """The namespace of an id ``namespace/name``; empty for an id of another form."""
    return id_.removesuffix(f"/{name}") if id_.endswith(f"/{name}") else ""


def _text(row: Mapping[str, object], key: str) -> str:
    value = row.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DocumentError(f"{key} must be text, not {type(value).__name__}", subject=key, remedy="Send a string")
    return value.strip()
