"""Ids for the whole catalogue: ``namespace/id``, two tools never under one id, dependencies following along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord
from ontology.tool import Dependency, Tool

__all__ = ["Read", "give_ids"]


@dataclass(slots=True, kw_only=True)
class Read:
    """What a reader took from one document.

    :param format: name of the reader, or empty where none knew the document.
    :param keeps_ids: whether the tools' ids are final, not local to the document.
    :param forgiven: whether it counts as part of another document that refers to it.
    """

    document: Document
    format: str = ""
    keeps_ids: bool = False
    forgiven: bool = False
    tools: list[Tool] = field(default_factory=list)
    rejected: list[RejectedRecord] = field(default_factory=list)


def give_ids(reads: list[Read]) -> tuple[list[list[Tool]], list[list[RejectedRecord]], list[tuple[str, str]]]:
    """The tools of each document under their final ids, the rejected records of each, and what was renamed."""
    rejected: list[list[RejectedRecord]] = [[] for _ in reads]
    kept = [_first_of_each_id(read, rejected[index]) for index, read in enumerate(reads)]
    first = [
        [tool.id if read.keeps_ids else f"{read.document.namespace}/{tool.id}" for tool in tools]
        for read, tools in zip(reads, kept, strict=True)
    ]
    final = _apart(first, [read.document.namespace for read in reads])
    renamed = [
        (before, after)
        for befores, afters in zip(first, final, strict=True)
        for before, after in zip(befores, afters, strict=True)
        if before != after
    ]
    known = {id_ for ids in final for id_ in ids}
    named = [
        _with_ids(read, tools, ids, known, late)
        for read, tools, ids, late in zip(reads, kept, final, rejected, strict=True)
    ]
    return named, rejected, renamed


def _first_of_each_id(read: Read, rejected: list[RejectedRecord]) -> list[Tool]:
    seen: set[str] = set()
    kept: list[Tool] = []
    for tool in read.tools:
        if tool.id in seen:
            detail = f"The id {tool.id!r} is already taken by an earlier tool of this document."
            rejected.append(
                RejectedRecord(subject=f"{read.document.address}#{tool.id}", reason="duplicate-id", detail=detail)
            )
        else:
            seen.add(tool.id)
            kept.append(tool)
    return kept


def _apart(ids: list[list[str]], namespaces: list[str]) -> list[list[str]]:
    """Put the namespace before every id that two documents share, as often as it takes to be the only one."""
    counts = Counter(id_ for group in ids for id_ in group)
    taken = {id_ for id_, count in counts.items() if count == 1}
    apart: list[list[str]] = []
    for namespace, group in zip(namespaces, ids, strict=True):
        final: list[str] = []
        for id_ in group:
            if counts[id_] > 1:
                id_ = f"{namespace}/{id_}"
                while id_ in taken:
                    id_ = f"{namespace}/{id_}"
                taken.add(id_)
            final.append(id_)
        apart.append(final)
    return apart


def _with_ids(
    read: Read, tools: list[Tool], ids: list[str], known: set[str], rejected: list[RejectedRecord]
) -> list[Tool]:
    by_local = {tool.id: id_ for tool, id_ in zip(tools, ids, strict=True)}
    by_name = {tool.name: id_ for tool, id_ in reversed(list(zip(tools, ids, strict=True)))}
    named: list[Tool] = []
    for tool, id_ in zip(tools, ids, strict=True):
        metadata = dict(tool.metadata)
        metadata.setdefault("namespace", read.document.namespace)
        metadata.setdefault("format", read.format)
        needs: list[Dependency] = []
        for need in tool.depends_on:
            target = by_local.get(need.tool) or (need.tool if need.tool in known else by_name.get(need.tool))
            if target is None:
                detail = f"It depends on {need.tool!r}, which is not in the catalogue; the tool is kept without it."
                rejected.append(RejectedRecord(subject=id_, reason="unknown-dependency", detail=detail))
            else:
                needs.append(replace(need, tool=target))
        named.append(replace(tool, id=id_, depends_on=_without_repeats(needs), metadata=metadata))
    return named


def _without_repeats(needs: Iterable[Dependency]) -> tuple[Dependency, ...]:
    return tuple(dict.fromkeys(needs))
