"""Assign unique ids in the catalogue, ``namespace/id``, and update what refers to them: dependencies and MCP sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord
from ontology.tool import Dependency, Tool

__all__ = ["DocumentRead", "assign_ids"]


@dataclass(slots=True, kw_only=True)
class DocumentRead:
    """The tools and the rejected records of one document.

    :param format: name of the reader, or empty for an unknown format.
    :param keeps_ids: whether the tools' ids are final; else they get the document's namespace.
    :param counted: whether the report lists the document; False for a part of another document.
    :param left_out: number of tools that its source leaves out.
    :param unmatched: (key, pattern) of its source that match none of its tools; None where it has no tools or no source.
    :param secrets: where a key or a password was taken out of a tool, ``tool id: field``.
    :param seconds: how long it took to read.
    """

    document: Document
    format: str = ""
    keeps_ids: bool = False
    counted: bool = True
    left_out: int = 0
    unmatched: frozenset[tuple[str, str]] | None = None
    secrets: list[str] = field(default_factory=list)
    seconds: float = 0.0
    tools: list[Tool] = field(default_factory=list)
    rejected: list[RejectedRecord] = field(default_factory=list)


def assign_ids(reads: Sequence[DocumentRead]) -> list[tuple[str, str]]:
    """Set the id of each tool in the catalogue, in place.

    :returns: ``(original id, id in the catalogue)`` of each tool whose id several documents have.
    """
    for read in reads:
        _drop_repeated_ids(read)
    given = [
        [tool.id if read.keeps_ids else f"{read.document.namespace}/{tool.id}" for tool in read.tools] for read in reads
    ]
    final = _distinct(given, [read.document.namespace for read in reads])
    known = {id_ for ids in final for id_ in ids}
    for read, ids in zip(reads, final, strict=True):
        read.tools = _renamed(read, ids, known)
    pairs = zip((id_ for ids in given for id_ in ids), (id_ for ids in final for id_ in ids), strict=True)
    return [(before, after) for before, after in pairs if before != after]


def _drop_repeated_ids(read: DocumentRead) -> None:
    kept: dict[str, Tool] = {}
    for tool in read.tools:
        if tool.id in kept:
            detail = f"The id {tool.id!r} is already taken by an earlier tool of this document."
            read.rejected.append(RejectedRecord(f"{read.document.address}#{tool.id}", "duplicate-id", detail))
        else:
            kept[tool.id] = tool
    read.tools = list(kept.values())


def _distinct(ids: Sequence[Sequence[str]], namespaces: Sequence[str]) -> list[list[str]]:
    """Prefix each id that several documents have with the namespace, repeatedly until it is unique."""
    counts = Counter(id_ for group in ids for id_ in group)
    taken = {id_ for id_, count in counts.items() if count == 1}
    distinct: list[list[str]] = []
    for namespace, group in zip(namespaces, ids, strict=True):
        final: list[str] = []
        for id_ in group:
            if counts[id_] > 1:
                id_ = f"{namespace}/{id_}"
                while id_ in taken:
                    id_ = f"{namespace}/{id_}"
                taken.add(id_)
            final.append(id_)
        distinct.append(final)
    return distinct


def _renamed(read: DocumentRead, ids: Sequence[str], known: set[str]) -> list[Tool]:
    """Return the tools with their final ids and dependencies; a dependency on an unknown tool is rejected."""
    by_local = {tool.id: id_ for tool, id_ in zip(read.tools, ids, strict=True)}
    by_name = {tool.name: id_ for tool, id_ in reversed(list(zip(read.tools, ids, strict=True)))}
    renamed: list[Tool] = []
    for tool, id_ in zip(read.tools, ids, strict=True):
        dependencies: dict[Dependency, None] = {}
        for dependency in tool.depends_on:
            named = dependency.tool
            target = by_local.get(named) or (named if named in known else by_name.get(named))
            if target is None:
                detail = f"It depends on {named!r}, which is not in the catalogue; the tool is kept without it."
                read.rejected.append(RejectedRecord(id_, "unknown-dependency", detail))
            else:
                dependencies[replace(dependency, tool=target)] = None
        metadata = dict(tool.metadata)
        metadata.setdefault("format", read.format)
        call = tool.call
        # By name: the address of a server may have credentials in it. A stored tool has the name of its own namespace already.
        if call is not None and call.protocol == "mcp" and call.session != tool.namespace:
            call = replace(call, session=read.document.namespace)
        renamed.append(replace(tool, id=id_, depends_on=tuple(dependencies), metadata=metadata, call=call))
    return renamed
