"""The tools that a request names: by id, by name as its source writes it, or by the name by which a model calls it.

A name is written as one: in pieces (``get_order``, ``getOrder``, ``users.messages.list``, ``crm/get_order``), in backticks, or in quotation
marks beside a word such as "tool". A plain word that happens to be a tool's name names none, nor does a name that is ruled out ("not with
get_order"). The look-up is that of ids and names in the snapshot, so a tool that the caller may not see has no name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ontology.tool import Tool
from retrieval.index.analysis import terms
from retrieval.snapshot.reader import Snapshot

__all__ = ["named_tools", "tool_names"]

_MOST_NAMES = 20  # of one request
# Tools that are compared with a name: those whose names fit its words best. Chosen by hand, not fitted to data. Checked, with 3
# tools of a name first, on the tools of BFCL, a public benchmark, where many share a name (docs/asked.md).
_LOOKED_AT = 16

_NAME = re.compile(
    r"(?<!`)`(?P<code>[^`\n]{1,200})`(?!`)|(?<!\w)[\"'“‘](?P<quoted>[^\"'“”‘’\n]{1,200})[\"'”’](?!\w)|(?P<plain>\w[\w./:#-]{0,198}\w)"
)
_CALL = re.compile(r"\(.{0,200}\)\Z")
_IN_PIECES = re.compile(r"[a-z\d][A-Z]|\w[_./:#]+\w|\w-\w")
_ENGLISH = re.compile(  # a hyphen alone makes no name: check-in, e-mail, follow-up
    r"(?:\w-\w+|\w+-(?:up|in|out|on|off|over|down|back|by|to|through|free|only|based))\Z", re.IGNORECASE
)
_KINDS = r"(?:tool|function|operation|endpoint|method|command)"
_BEFORE_NAME = re.compile(rf"\b(?:{_KINDS}|call|use|run|invoke)(?:\s+(?:the|named|called))?\s*\Z", re.IGNORECASE)
_AFTER_NAME = re.compile(rf"\s*{_KINDS}\b", re.IGNORECASE)
_RULED_OUT = re.compile(
    r"(?:\b(?:not|without|avoid|never|except|excluding|instead of|rather than|other than)|n[o'’]t)(?!\s+only\b)"
    rf"(?:\s+(?:use|using|call|calling|run|running|invoke|with|by|via|through|the|a|any|{_KINDS}))*\s*[`\"'“‘]?\Z",
    re.IGNORECASE,
)
_ALSO_RULED_OUT = re.compile(
    r"[`\"'”’]?\s*(?:,\s*)?(?:or|nor)\s+(?:the\s+)?[`\"'“‘]?\Z|[`\"'”’]?,\s*[`\"'“‘]?\Z", re.IGNORECASE
)
_DIGEST = re.compile(r"_([0-9a-f]{6})\Z")


def named_tools(snapshot: Snapshot, text: str, allowed: NDArray[np.bool_] | None) -> tuple[tuple[int, ...], ...]:
    """Return for each name in a request that some tool has the tools that have it, ascending.

    :param allowed: the nodes that the request may see, bool [nodes]; None allows all.
    """
    found: dict[tuple[int, ...], None] = {}
    for name in tool_names(text):
        tools = tuple(sorted({tool for tool in _having(snapshot, name, allowed) if allowed is None or allowed[tool]}))
        if tools:
            found[tools] = None
    return tuple(found)


def tool_names(text: str) -> tuple[str, ...]:
    """Return what is written as a name of a tool in a request, in its order, without repeats and without what is ruled out."""
    names: dict[str, None] = {}
    ruled_out_to = -1
    for match in _NAME.finditer(text):
        before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 20]
        name = _CALL.sub("", match[str(match.lastgroup)]).strip()
        if not _is_name(name, str(match.lastgroup), before, after):
            continue
        also = 0 <= ruled_out_to and _ALSO_RULED_OUT.fullmatch(text[ruled_out_to : match.start()])
        if also or _RULED_OUT.search(before):
            ruled_out_to = match.end()
        else:
            names[name] = None
        if len(names) == _MOST_NAMES:
            break
    return tuple(names)


def _is_name(name: str, written: str, before: str, after: str) -> bool:
    if not name or written == "code":
        return bool(name)
    if _IN_PIECES.search(name) and not _ENGLISH.match(name):
        return True
    return written == "quoted" and bool(_BEFORE_NAME.search(before) or _AFTER_NAME.match(after))


def _having(snapshot: Snapshot, name: str, allowed: NDArray[np.bool_] | None) -> Iterator[int]:
    """Yield the tools with an id, name or call name: by the table of ids, else by the index of names."""
    by_id = [number for id_ in _ids(name) if (number := snapshot.find_node(f"tool:{id_}")) is not None]
    if by_id:
        yield from by_id
        return
    words = dict.fromkeys(terms(_DIGEST.sub("", name)), 1.0)
    near = snapshot.names_index.best(words, _LOOKED_AT, allowed=allowed) if words else ()
    yield from (int(number) for number in near if _is_called(snapshot.tool(int(number)), name))


def _ids(name: str) -> Iterator[str]:
    """Yield the ids that a name may be: itself, that of a call name, and with the namespace before a point."""
    yield name
    yield name.replace("__", "/").replace("--", ".")
    parts = name.split(".")
    yield from (".".join(parts[:place]) + "/" + ".".join(parts[place:]) for place in range(1, min(len(parts), 6)))


def _is_called(tool: Tool, name: str) -> bool:
    folded, digest = name.casefold(), _DIGEST.search(name)
    if folded in (tool.name.casefold(), tool.id.casefold(), f"{tool.namespace}.{tool.name}".casefold()):
        return True
    # a call name that was shortened ends in digits of the hash of the id
    return digest is not None and hashlib.sha256(tool.id.encode("utf-8", "replace")).hexdigest().startswith(digest[1])
