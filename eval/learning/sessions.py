"""Sessions: a request of the past, with the tools that served it; from the log of outcomes or from a file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError
from ontology.files import read_bounded
from retrieval.query.request import MAX_QUERY_CHARS

__all__ = ["OutputUse", "Session", "known_sessions", "read_usage_log"]

_MAX_TOOLS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputUse:
    """An output that a tool was seen to return, and the input that took it, if one did; see :class:`egotools.ObservedOutput`."""

    tool: str
    name: str
    type: str
    taken_by: str = ""
    taken_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One request of the past.

    :param id: unique.
    :param tools: ids of the tools that served it, distinct, in order.
    :param time: seconds since 1970; None where it is not known.
    :param reporter: who reported it; empty for a line of a file that names none: then each line is of a reporter of its own.
    :param query: its text; empty where only ``terms`` are known.
    :param terms: its index terms, where the text is not known.
    """

    id: str
    tools: tuple[str, ...]
    time: float | None = None
    reporter: str = ""
    query: str = ""
    terms: tuple[str, ...] = ()
    outputs: tuple[OutputUse, ...] = ()

    @property
    def text(self) -> str:
        """What is asked when the session is held out: its text, else its words."""
        return self.query or " ".join(self.terms)

    @property
    def order(self) -> tuple[bool, float, str]:
        """Sorts by time; sessions without one come first, in an order that depends on nothing but their content."""
        digest = hashlib.sha256(f"{self.id}\n{self.text}".encode("utf-8", "backslashreplace")).hexdigest()
        return (self.time is not None, self.time or 0.0, digest)


def known_sessions(sessions: Iterable[Session], known: Collection[str]) -> list[Session]:
    """The sessions by time, without the tools that the catalogue no longer has; one without any tool is left out."""
    kept = []
    for session in sessions:
        tools = tuple(tool for tool in dict.fromkeys(session.tools) if tool in known)
        if tools:
            outputs = tuple(each for each in session.outputs if each.tool in tools and each.taken_by in ("", *tools))
            kept.append(replace(session, tools=tools, outputs=outputs))
    return sorted(kept, key=lambda session: session.order)


def read_usage_log(path: Path) -> list[Session]:
    """Read a file of JSON lines: ``query`` and ``tools``, and optionally ``id``, ``time`` (seconds since 1970), ``reporter`` and
    ``succeeded``; other keys and blank lines are ignored, and so are sessions that did not succeed.

    :raises DocumentError: when it cannot be read, naming the first line that is invalid.
    """
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DocumentError(f"the usage log cannot be read: {error}", subject=str(path)) from error
    sessions = list(_sessions(path, lines))
    if not sessions:
        raise DocumentError("the usage log has no session", subject=str(path))
    return sessions


def _sessions(path: Path, lines: Iterable[str]) -> Iterator[Session]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            session = _session(json.loads(line), number)
        except (ValueError, RecursionError) as error:
            raise DocumentError(
                f"this is no session: {error}",
                subject=f"{path}:{number}",
                remedy='Write {"query": "…", "tools": ["id", …]}, and perhaps "time" and "reporter"',
            ) from error
        if session is not None:
            yield session


def _session(row: Any, number: int) -> Session | None:
    """The session of a row; None for one that did not succeed. Raises ValueError for another form."""
    if not isinstance(row, dict):
        raise ValueError("no object")
    query, tools, when = row.get("query"), row.get("tools"), row.get("time")
    reporter, succeeded = row.get("reporter", ""), row.get("succeeded")
    if not isinstance(query, str) or len(query) > MAX_QUERY_CHARS or not any(map(str.isalnum, query)):
        raise ValueError(f"query must be a text of at most {MAX_QUERY_CHARS:,} characters with a letter or digit")
    if not isinstance(tools, list) or len(tools) > _MAX_TOOLS or not all(isinstance(tool, str) for tool in tools):
        raise ValueError(f"tools must be a list of at most {_MAX_TOOLS} ids")
    if when is not None and (isinstance(when, bool) or not isinstance(when, int | float) or not math.isfinite(when)):
        raise ValueError("time must be a number of seconds")
    if not isinstance(reporter, str) or succeeded not in (None, True, False):
        raise ValueError("reporter must be a text, and succeeded true or false")
    if succeeded is False:
        return None
    name = str(row.get("id", number))
    return Session(id=name, tools=tuple(dict.fromkeys(tools)), time=when, reporter=reporter, query=query)
