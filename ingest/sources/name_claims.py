"""Whose namespace, source and owner a tool has: the operator's. What a document says of itself is a hint.

A namespace belongs to a named source, or to the file or address whose name it is; with ``hr`` goes all below it, ``hr.payroll``. A
document of no named source may give its tools another namespace where that belongs to nobody, and no second document asks for it. A
tool that asks for a namespace of others, or whose id lies in one, is rejected: policies, credentials and filters go by these names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from egotools.call import Call
from egotools.calling.call_credentials import host_of
from ingest.sources.naming import DocumentRead
from ingest.sources.source import RejectedRecord
from ingest.sources.source_entry import SourceEntry
from ontology.tool import Tool

__all__ = ["FOREIGN_NAMESPACE", "HINT_IGNORED", "settle_names", "starts"]

FOREIGN_NAMESPACE: Final = "foreign-namespace"
"""The reason of a record of tools that are rejected, because they ask for the namespace of another source."""
HINT_IGNORED: Final = "hint-ignored"
"""The reason of a record that is a warning: the tools are kept, under the names that the operator gave."""

_SHOWN = 3  # names in one record
_NAMED = "the source {}"
_REMEDY = "Take the name out of the document, or, to keep its tools under a name of yours, build it as NAME=ADDRESS."
_REMEDY_OF_IDS = "Give these tools other ids."


def settle_names(reads: Sequence[DocumentRead], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of every tool, take out what documents say of names that the operator gave, and bind credentials to servers.

    What is decided does not depend on the order of the documents. Tools are rejected, and what is ignored is recorded, in place.

    :param sources: the named sources, also those of which nothing was read.
    """
    for read in reads:
        _take_hints_out(read, sources)
    names = _Names(reads, sources)
    for read in reads:
        names.admit(read)
    _bind_credentials(reads)


class _Names:
    """Which source a namespace belongs to. A source is a named one, or a file or an address by itself."""

    def __init__(self, reads: Sequence[DocumentRead], sources: Sequence[SourceEntry]) -> None:
        self._named = {entry.namespace: _NAMED.format(entry.name) for entry in sources}
        self._owners = {read.document.namespace: _source(read) for read in reads} | self._named
        self._inside: defaultdict[str, set[str]] = defaultdict(set)  # namespace → who has one that lies in it
        for name, owner in self._owners.items():
            for start in starts(name):
                self._inside[start].add(owner)
        self._asking: defaultdict[str, set[str]] = defaultdict(set)
        for read in reads:
            for name in {tool.namespace for tool in read.tools} - {"", read.document.namespace}:
                self._asking[name].add(_source(read))

    def admit(self, read: DocumentRead) -> None:
        """Give the tools of a document their namespaces; those with names of others are rejected."""
        own, kept = _source(read), list[Tool]()
        rejected: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
        for tool in read.tools:
            asked = tool.namespace or read.document.namespace
            prefix = tool.id.partition("/")[0] if read.keeps_ids and "/" in tool.id else asked
            if owner := self._other_owner(asked, starts(asked), self._inside, own):
                rejected[f"names the namespace {asked!r}", owner, _REMEDY].append(tool.name)
            elif owner := self._other_owner(prefix, [each for each in starts(prefix) if each in self._named], {}, own):
                rejected[f"has ids in the namespace {prefix!r}", owner, _REMEDY_OF_IDS].append(tool.name)
            else:
                kept.append(replace(tool, metadata={**tool.metadata, "namespace": asked}))
        read.tools = kept
        for (what, owner, remedy), tools in rejected.items():
            detail = f"It {what}, which {owner} has or asks for: {_listed(tools)} rejected. {remedy}"
            read.rejected.append(RejectedRecord(read.document.address, FOREIGN_NAMESPACE, detail))

    def _other_owner(self, name: str, around: Iterable[str], inside: Mapping[str, set[str]], own: str) -> str:
        """Return who else has a namespace or asks for it; empty for nobody, and where it is the document's own.

        :param around: namespaces that it lies in.
        :param inside: namespace → who has one that lies in it.
        """
        owner = next((self._owners[each] for each in (name, *around) if each in self._owners), "")
        if owner:
            return owner if owner != own else ""
        others = (inside.get(name, set()) | self._asking.get(name, set())) - {own}
        return ", ".join(sorted(others)[:_SHOWN])


def _source(read: DocumentRead) -> str:
    """What a document belongs to, as it is said: a named source, or itself; all functions of one module are one."""
    source, address = read.document.source, read.document.address
    if source is not None:
        return _NAMED.format(source.name)
    return f"python:{read.document.namespace}" if address.startswith("python:") else address


def starts(name: str) -> Iterator[str]:
    """Yield the namespaces in which one lies, the longest first: for ``a.b.c`` ``a.b`` and ``a``."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _take_hints_out(read: DocumentRead, sources: Sequence[SourceEntry]) -> None:
    """Take out of the tools of a document what it says of names that the operator gave; what is taken out is recorded once."""
    document, entry = read.document, read.document.source
    others = [each for each in sources if each != entry]
    taken = {
        "source": {each.name for each in others},
        "owner": {each.owner for each in others} - {"", entry.owner if entry is not None else ""},
    }
    said: dict[str, None] = {}
    for number, tool in enumerate(read.tools):
        ignored = {key for key, names in taken.items() if names.intersection(_texts(tool.metadata.get(key)))}
        asked = tool.metadata.get("namespace")
        if asked is not None and asked != document.namespace and (entry is not None or not tool.namespace):
            ignored.add("namespace")
        if ignored:
            said |= {f"{key} {str(tool.metadata[key])[:100]!r}": None for key in sorted(ignored)}
            metadata = {key: value for key, value in tool.metadata.items() if key not in ignored}
            read.tools[number] = replace(tool, metadata=metadata)
    for what in said:
        detail = f"It says {what}, which is the operator's to say: left out, the tools are kept. Take it out of the document."
        read.rejected.append(RejectedRecord(document.address, HINT_IGNORED, detail))


def _texts(value: Any) -> list[str]:
    """The values as a filter reads them."""
    return [
        str(each).lower() if isinstance(each, bool) else str(each)
        for each in (value if isinstance(value, (list, tuple)) else (value,))
    ]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)} tools ({', '.join(names[:_SHOWN])}{more})" if len(names) > 1 else f"the tool {names[0]}"


def _bind_credentials(reads: Sequence[DocumentRead]) -> None:
    """Write the host into the keys of the schemes of a tool whose server is not that of more than half of the tools of its namespace.

    So a credential of the namespace does not go there: that needs one for this host, see
    :func:`egotools.calling.call_credentials.bound_credentials`.
    """
    origins: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for read in reads:
        for tool in read.tools:
            if tool.call is not None and tool.call.protocol in ("http", "odata"):
                origins[tool.namespace][_origin(tool.call)[0]] += 1
    usual = {
        namespace: origin
        for namespace, counts in origins.items()
        for origin, count in counts.items()
        if 2 * count > counts.total()
    }
    for read in reads:
        read.tools = [_bound(tool, usual.get(tool.namespace)) for tool in read.tools]


def _bound(tool: Tool, usual: str | None) -> Tool:
    if tool.call is None or not tool.call.security:
        return tool
    origin, host = _origin(tool.call)
    if not host or origin == usual:
        return tool
    security = tuple(
        replace(each, schemes=tuple(replace(one, key=f"{one.key.partition('@')[0]}@{host}") for one in each.schemes))
        for each in tool.call.security
    )
    return replace(tool, call=replace(tool.call, security=security))


def _origin(call: Call) -> tuple[str, str]:
    """Return scheme and host of the server that a call goes to, and the host; empty for none of its own."""
    url = next(iter(call.servers), "")
    host = host_of(url)
    return (f"{urlsplit(url).scheme.lower()}://{host}", host) if host else ("", "")
