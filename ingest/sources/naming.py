"""Assign unique ids in the catalogue, ``namespace/id``, and update what refers to them: dependencies and MCP sessions."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from egotools.call import Call
from egotools.calling.call_credentials import host_of
from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord
from ingest.sources.sources_file import SourceEntry
from ontology.tool import PHRASES, Dependency, Tool


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
    """Take out of the tools of a document what it says of names that the operator gave, and its own everyday phrases; each is recorded once."""
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
        if (
            PHRASES in tool.metadata
        ):  # as the build writes them after its checks: a document's own would be ranked by unchecked
            ignored.add(PHRASES)
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


# Second file endings, removed from the namespace: ``orders.openapi.yaml`` has the namespace ``orders``.
_KINDS = (".openapi", ".swagger", ".odata", ".mcp", ".tools", ".functions")
_SELF_NAMED = ("http://", "https://", "mcp:", "mcp+http://", "mcp+https://")
_TITLES = ("api", "service")  # metadata of tools: the title of an OpenAPI document; of a server or service
_MAX_CHARS = 60


def assign_namespaces(documents: Sequence[Document], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of each document that has one before it is read; that of a named source is of no other document.

    Where several files share a stem, the parent folder is added, then the ending, then a number. A named source with one
    document has its own namespace, one with several ``NAMESPACE.STEM``.
    """
    forms = [_forms(document) for document in documents]
    chosen = [form[0] for form in forms]
    for depth in (1, 2):
        counts = Counter(chosen)
        chosen = [form[depth] if counts[name] > 1 else name for form, name in zip(forms, chosen, strict=True)]
    of_source = Counter(document.source.name for document in documents if document.source is not None)
    taken = {entry.namespace for entry in sources}
    modules: dict[str, str] = {}
    for document in documents:
        if document.source is not None and of_source[document.source.name] == 1:
            document.namespace = document.source.namespace
    for document, name in zip(documents, chosen, strict=True):
        if document.namespace or (_is_self_named(document) and document.source is None):
            continue
        name = f"{document.source.namespace}.{name}" if document.source is not None else name
        document.namespace = _free(name, taken)
        if document.address.startswith("python:"):  # all functions of one module have one namespace
            document.namespace = modules.setdefault(name, document.namespace)
        taken.add(document.namespace)


def name_live_documents(reads: Sequence[DocumentRead], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of each live document to the name that it gives itself, outside of those of others; several of one name get
    numbers.
    """
    taken = {read.document.namespace for read in reads if read.document.namespace}
    taken |= {entry.namespace for entry in sources}
    taken |= {start for name in taken for start in starts(name)}
    for read in reads:
        if not read.document.namespace:
            name = _own_name(read)
            if not taken.isdisjoint(starts(name)):
                name = name.replace(".", "-")
            read.document.namespace = _free(name, taken)
            taken.add(read.document.namespace)


def _is_self_named(document: Document) -> bool:
    return document.path is None and document.address.startswith(_SELF_NAMED)


def _own_name(read: DocumentRead) -> str:
    titles = (str(tool.metadata.get(key) or "") for tool in read.tools[:1] for key in _TITLES)
    title = next((title for title in titles if title), "")
    return _slug(title)[:_MAX_CHARS].strip("-.") if title else read.format.partition(".")[0] or "document"


def _free(name: str, taken: set[str]) -> str:
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _forms(document: Document) -> tuple[str, str, str]:
    if document.path is None:
        name = "" if _is_self_named(document) else _of_address(document.address)
        return name, name, name
    file = Path(document.path.name.removesuffix(".gz"))
    stem, suffix = file.stem, file.suffix.lstrip(".")
    stem = next((stem.removesuffix(kind) for kind in _KINDS if stem.lower().endswith(kind) and stem != kind), stem)
    parent = Path(os.path.abspath(document.path)).parent.name
    return _slug(stem), _slug(f"{parent}-{stem}"), _slug(f"{parent}-{stem}-{suffix}")


def _of_address(address: str) -> str:
    """The name of an installed service, discovery document or module."""
    scheme, _, rest = address.partition(":")
    return _slug(scheme if rest == "*" else rest.partition(":")[0])


def _slug(text: str) -> str:
    """Return the text in lower case; other characters than letters, digits, ``_`` and ``.`` become a hyphen."""
    return re.sub(r"[^\w.]+", "-", text.strip().lower()).strip("-.") or "document"
