"""Assign unique ids in the catalogue, ``namespace/id``, and update what refers to them: dependencies and MCP sessions."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from egotools.call import Call
from egotools.calling.call_credentials import host_of
from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord
from ingest.sources.sources_file import SourceEntry
from ontology.tool import PHRASES, Dependency, Tool

_NAMED, _CHARS = 5, 100  # how many inputs or outputs a fault of a dependency names, and characters of their names


@dataclass(slots=True, kw_only=True)
class DocumentRead:
    """The tools and the rejected records of one document."""

    document: Document
    format: str = ""  # name of the reader, or empty for an unknown format
    keeps_ids: bool = False  # whether the tools' ids are final; else they get the document's namespace
    counted: bool = True  # whether the report lists the document; False for a part of another document
    left_out: int = 0  # number of tools that its source leaves out
    # (key, pattern) of its source that match none of its tools; None where it has no tools or no source.
    unmatched: frozenset[tuple[str, str]] | None = None
    secrets: list[str] = field(default_factory=list)  # where a secret was taken out of a tool, ``tool id: field``
    seconds: float = 0.0  # how long it took to read
    tools: list[Tool] = field(default_factory=list)
    rejected: list[RejectedRecord] = field(default_factory=list)


def assign_ids(reads: Sequence[DocumentRead]) -> list[tuple[str, str]]:
    """Set the id of each tool in the catalogue, in place: one that several documents have gets the namespace until it
    is unique. Returns ``(original id, id in the catalogue)`` of each tool whose id several documents have."""
    for read in reads:
        kept: dict[str, Tool] = {}
        for tool in read.tools:
            if tool.id in kept:
                detail = f"The id {tool.id!r} is already taken by an earlier tool of this document."
                read.rejected.append(RejectedRecord(f"{read.document.address}#{tool.id}", "duplicate-id", detail))
            else:
                kept[tool.id] = tool
        read.tools = list(kept.values())
    given = [
        [tool.id if read.keeps_ids else f"{read.document.namespace}/{tool.id}" for tool in read.tools] for read in reads
    ]
    counts = Counter(chain.from_iterable(given))
    known = {id_ for id_, count in counts.items() if count == 1}
    final: list[list[str]] = []
    for read, ids in zip(reads, given, strict=True):
        final.append([])
        for id_ in ids:
            if counts[id_] > 1:
                id_ = f"{read.document.namespace}/{id_}"
                while id_ in known:
                    id_ = f"{read.document.namespace}/{id_}"
                known.add(id_)
            final[-1].append(id_)
    for read, ids in zip(reads, final, strict=True):
        read.tools = _renamed(read, ids, known)
    of_read = {tool.id: read for read in reads for tool in read.tools}
    for fault in _faults_of_dependencies({tool.id: tool for read in reads for tool in read.tools}):
        of_read[fault.subject].rejected.append(fault)
    pairs = zip(chain.from_iterable(given), chain.from_iterable(final), strict=True)
    return [(before, after) for before, after in pairs if before != after]


def _renamed(read: DocumentRead, ids: Sequence[str], known: set[str]) -> list[Tool]:
    """Return the tools with their final ids and dependencies; a dependency on an unknown tool is rejected."""
    by_local = {tool.id: id_ for tool, id_ in zip(read.tools, ids, strict=True)}
    by_name: dict[str, str] = {}
    for tool, id_ in zip(read.tools, ids, strict=True):
        by_name.setdefault(tool.name, id_)
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
        metadata = {**tool.metadata}
        metadata.setdefault("format", read.format)
        call = tool.call
        # By name: the address of a server may have credentials in it. A stored tool has the name of its own namespace already.
        if call is not None and call.protocol == "mcp" and call.session != tool.namespace:
            call = replace(call, session=read.document.namespace)
        renamed.append(replace(tool, id=id_, depends_on=tuple(dependencies), metadata=metadata, call=call))
    return renamed


def _faults_of_dependencies(tools: Mapping[str, Tool]) -> Iterator[RejectedRecord]:
    """The inputs and outputs that dependencies name and no tool has. Outputs that a document does not list are not known."""
    outputs = dict[str, dict[str, None]]()  # of suppliers, in their order
    for tool in tools.values():
        inputs = dict.fromkeys(each.name for each in tool.parameters) if tool.depends_on else {}
        for each in tool.depends_on:
            if each.output and each.tool not in outputs:
                outputs[each.tool] = dict.fromkeys(output.name for output in tools[each.tool].returns)
            given = outputs.get(each.tool, {})
            for name, own, of in (
                (each.parameter, inputs, f"{tool.id} takes"),
                (each.output, given, f"{each.tool} gives"),
            ):
                if name and name not in own and (own or own is inputs):
                    known = ", ".join(islice(own, _NAMED))[:_CHARS] or "nothing"
                    detail = (
                        f"Its dependency on {each.tool!r} names {name[:_CHARS]!r}, but {of} {known}; the tool is kept."
                    )
                    yield RejectedRecord(tool.id, "unknown-dependency", detail)


# The reason of a record of tools that are rejected, because they ask for the namespace of another source
FOREIGN_NAMESPACE: Final = "foreign-namespace"
# The reason of a record that is a warning: the tools are kept, under the names that the operator gave
HINT_IGNORED: Final = "hint-ignored"

_SHOWN = 3  # names in one record
_REMEDY = "Take the name out of the document, or, to keep its tools under a name of yours, build it as NAME=ADDRESS."
_REMEDY_OF_IDS = "Give these tools other ids."


def settle_names(reads: Sequence[DocumentRead], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of every tool, take out what documents say of names that the operator gave, and bind
    credentials to servers. What is decided does not depend on the order of the documents. ``sources`` are the named
    ones, also those of which nothing was read."""
    for read in reads:
        _take_hints_out(read, sources)
    named = {entry.namespace: f"the source {entry.name}" for entry in sources}
    owners = {read.document.namespace: _owner(read) for read in reads} | named
    inside: defaultdict[str, set[str]] = defaultdict(set)  # namespace → who has one that lies in it
    for name, owner in owners.items():
        for start in _starts(name):
            inside[start].add(owner)
    asking: defaultdict[str, set[str]] = defaultdict(set)  # namespace → whose tools ask for it
    for read in reads:
        for name in {tool.namespace for tool in read.tools} - {"", read.document.namespace}:
            asking[name].add(_owner(read))

    def other_owner(name: str, around: Iterable[str], others: set[str], own: str) -> str:
        """Who else has a namespace or one around it, or is among the others; empty for nobody, and where it is the document's own."""
        owner = next((owners[each] for each in (name, *around) if each in owners), "")
        if owner:
            return owner if owner != own else ""
        return ", ".join(sorted((others | asking.get(name, set())) - {own})[:_SHOWN])

    for read in reads:
        own, kept = _owner(read), list[Tool]()
        rejected: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
        for tool in read.tools:
            asked = tool.namespace or read.document.namespace
            prefix = tool.id.partition("/")[0] if read.keeps_ids and "/" in tool.id else asked
            if owner := other_owner(asked, _starts(asked), inside.get(asked, set()), own):
                rejected[f"names the namespace {asked!r}", owner, _REMEDY].append(tool.name)
            elif owner := other_owner(prefix, filter(named.__contains__, _starts(prefix)), set(), own):
                rejected[f"has ids in the namespace {prefix!r}", owner, _REMEDY_OF_IDS].append(tool.name)
            else:
                kept.append(replace(tool, metadata={**tool.metadata, "namespace": asked}))
        read.tools = kept
        for (what, owner, remedy), tools in rejected.items():
            more = f" and {len(tools) - _SHOWN} more" if len(tools) > _SHOWN else ""
            listed = f"{len(tools)} tools ({', '.join(tools[:_SHOWN])}{more})" if tools[1:] else f"the tool {tools[0]}"
            detail = f"It {what}, which {owner} has or asks for: {listed} rejected. {remedy}"
            read.rejected.append(RejectedRecord(read.document.address, FOREIGN_NAMESPACE, detail))
    _bind_credentials(reads)


def _owner(read: DocumentRead) -> str:
    """What a document belongs to, as it is said: a named source, or itself; all functions of one module are one."""
    source, address = read.document.source, read.document.address
    if source is not None:
        return f"the source {source.name}"
    return f"python:{read.document.namespace}" if address.startswith("python:") else address


def _starts(name: str) -> Iterator[str]:
    """Yield the namespaces in which one lies, the longest first: for ``a.b.c`` ``a.b`` and ``a``."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _take_hints_out(read: DocumentRead, sources: Sequence[SourceEntry]) -> None:
    """Take out of the tools what they say of names that the operator gave, and their own everyday phrases; each is recorded once."""
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
        # The build writes them after its checks: a document's own would be ranked by unchecked.
        if PHRASES in tool.metadata:
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
    values = value if isinstance(value, (list, tuple)) else (value,)
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values]


def _bind_credentials(reads: Sequence[DocumentRead]) -> None:
    """Write the host into the keys of the schemes of a tool whose server is not that of more than half of the tools of
    its namespace. So a credential of the namespace does not go there: that needs one for this host, see
    :func:`egotools.calling.call_credentials.bound_credentials`."""
    origins: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tool in chain.from_iterable(read.tools for read in reads):
        if tool.call is not None and tool.call.protocol in ("http", "odata"):
            origins[tool.namespace][_origin(tool.call)[0]] += 1
    for read in reads:
        for number, tool in enumerate(read.tools):
            if tool.call is None or not tool.call.security:
                continue
            (origin, host), counts = _origin(tool.call), origins[tool.namespace]
            if host and 2 * counts[origin] <= counts.total():
                security = tuple(
                    replace(
                        each,
                        schemes=tuple(replace(one, key=f"{one.key.partition('@')[0]}@{host}") for one in each.schemes),
                    )
                    for each in tool.call.security
                )
                read.tools[number] = replace(tool, call=replace(tool.call, security=security))


def _origin(call: Call) -> tuple[str, str]:
    """Return scheme and host of the server that a call goes to, and the host; empty for none of its own."""
    url = next(iter(call.servers), "")
    host = host_of(url)
    return (f"{urlsplit(url).scheme.lower()}://{host}", host) if host else ("", "")


# Second file endings, removed from the namespace: ``orders.openapi.yaml`` has the namespace ``orders``.
_KINDS = (".openapi", ".swagger", ".odata", ".mcp", ".tools", ".functions")
_SELF_NAMED = ("http://", "https://", "mcp:", "mcp+http://", "mcp+https://")
_MAX_CHARS = 60


def assign_namespaces(documents: Sequence[Document], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of each document that has one before it is read; that of a named source is of no other
    document. Where several files share a stem, the parent folder is added, then the ending, then a number. A named
    source with one document has its own namespace, one with several ``NAMESPACE.STEM``."""
    forms = [_forms(document) for document in documents]
    chosen = [form[0] for form in forms]
    for depth in (1, 2):
        counts = Counter(chosen)
        chosen = [form[depth] if counts[name] > 1 else name for form, name in zip(forms, chosen, strict=True)]
    of_source = Counter(document.source.name for document in documents if document.source is not None)
    taken = {entry.namespace for entry in sources}
    modules: dict[str, str] = {}
    for document, name in zip(documents, chosen, strict=True):
        source = document.source
        if source is not None and of_source[source.name] == 1:
            document.namespace = source.namespace
        if document.namespace or (source is None and _names_itself(document)):
            continue
        name = f"{source.namespace}.{name}" if source is not None else name
        document.namespace = _free(name, taken)
        if document.address.startswith("python:"):  # all functions of one module have one namespace
            document.namespace = modules.setdefault(name, document.namespace)
        taken.add(document.namespace)


def name_live_documents(reads: Sequence[DocumentRead], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of each live document to the name that it gives itself, outside of those of others; with a number where it is taken."""
    taken = {read.document.namespace for read in reads if read.document.namespace}
    taken |= {entry.namespace for entry in sources}
    taken |= {start for name in taken for start in _starts(name)}
    for read in reads:
        if not read.document.namespace:
            metadata = read.tools[0].metadata if read.tools else {}
            # The title of an OpenAPI document, or that of a server or service.
            title = str(metadata.get("api") or "") or str(metadata.get("service") or "")
            name = _slug(title)[:_MAX_CHARS].strip("-.") if title else read.format.partition(".")[0] or "document"
            if not taken.isdisjoint(_starts(name)):
                name = name.replace(".", "-")
            read.document.namespace = _free(name, taken)
            taken.add(read.document.namespace)


def _names_itself(document: Document) -> bool:
    return document.path is None and document.address.startswith(_SELF_NAMED)


def _free(name: str, taken: set[str]) -> str:
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _forms(document: Document) -> tuple[str, str, str]:
    """The names that a document may have, each where several have the one before it."""
    if document.path is None:  # the name of an installed service or of a module
        rest = document.address.partition(":")[2]
        name = "" if _names_itself(document) else _slug(rest.partition(":")[0])
        return name, name, name
    file = Path(document.path.name.removesuffix(".gz"))
    stem, suffix = file.stem, file.suffix.lstrip(".")
    stem = next((stem.removesuffix(kind) for kind in _KINDS if stem.lower().endswith(kind) and stem != kind), stem)
    parent = Path(os.path.abspath(document.path)).parent.name
    return _slug(stem), _slug(f"{parent}-{stem}"), _slug(f"{parent}-{stem}-{suffix}")


def _slug(text: str) -> str:
    """Return the text in lower case; other characters than letters, digits, ``_`` and ``.`` become a hyphen."""
    return re.sub(r"[^\w.]+", "-", text.strip().lower()).strip("-.") or "document"
