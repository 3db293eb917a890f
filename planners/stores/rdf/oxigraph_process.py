"""SPARQL in a process of its own: the library cannot stop a query, so what takes too long ends with its process.

Bounded are the seconds of each request, the address space of the process, and the characters of an answer. A process that
was ended is started again for the next request. It has no network, by a filter of system calls: should a text that leads to an
address pass the allow-list, no request follows. Where the machine takes no filter, a warning is logged, and the allow-list stands alone.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ontology.errors import IsolationError, MissingExtraError, StatementError
from planners.calls.syscall_filter import syscall_filter
from planners.stores.engine_process import EngineEndedError, EngineProcess
from planners.stores.rdf.rdf_terms import RdfTerm, Triple, change_text, triples_text
from planners.stores.rdf.sparql_tokens import sparql_fault

__all__ = ["EmbeddedEngine", "OxigraphProcess", "RdfAnswer", "engine_fault", "read_term"]

_SCRIPT = Path(__file__).with_name("oxigraph_child.py")
_OWN_S = 30.0
"""Seconds for requests that no model wrote: several hundred times what 522 nodes take."""
_LOG = logging.getLogger(__name__)
_PLACE = re.compile(r"^(?:SPARQL parse )?error at \d+:\d+: ")

RdfAnswer = tuple[tuple[str, ...], list[list[RdfTerm | None]]] | bool
"""Columns and rows of a SELECT, or the answer of an ASK."""


class OxigraphProcess:
    """A process with one graph in memory.

    :raises MissingExtraError: when pyoxigraph is not installed.
    """

    def __init__(self) -> None:
        if importlib.util.find_spec("pyoxigraph") is None:
            raise MissingExtraError("graphs of tasks as RDF", extra="rdf")
        self._process: EngineProcess | None = None
        self._lock = asyncio.Lock()

    async def ask(
        self, request: dict[str, Any], seconds: float, *, first: Callable[[], dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        """Send a request and return its answer. Requests wait for one another; the time runs from its own turn.

        :param first: gives what a new process is sent before it.
        :raises StatementError: when it fails, or takes too long; the process is then ended.
        :raises StorageError: when no process can be started.
        """
        async with self._lock:
            try:
                async with asyncio.timeout(seconds):
                    if self._process is None:
                        self._process = await _started(seconds)
                        if first is not None:
                            await self._process.ask(first(), seconds)
                    answer = await self._process.ask(request, seconds)
            except TimeoutError:
                self._process = None
                raise sparql_fault(
                    f"it takes longer than {seconds:g} s", "Ask for less, or join fewer patterns"
                ) from None
            except EngineEndedError as error:
                self._process = None
                raise _ended(error.signal_name) from None
            except BaseException:  # cancelled
                self._process = None
                raise
        if "fault" in answer:
            raise engine_fault(str(answer["fault"]))
        return answer

    async def updated(self, triples: set[Triple], text: str, seconds: float) -> set[Triple]:
        """Return the triples after an update; the graph of the process is not changed."""
        answer = await self.ask({"do": "update", "triples": triples_text(triples), "text": text}, seconds)
        return {(read_term(*s), read_term(*p), read_term(*o)) for s, p, o in answer["triples"]}

    async def close(self) -> None:
        """End the process."""
        async with self._lock:
            process, self._process = self._process, None
            if process is not None:
                await process.end()


async def _started(seconds: float) -> EngineProcess:
    """Start a process without a network."""
    try:
        program = syscall_filter(platform.machine())
    except IsolationError:  # a processor whose calls are not known
        program = b""
    process = await EngineProcess.start(_SCRIPT, "graphs as RDF", program.hex())
    answer = await process.ask({"do": "start"}, seconds)
    if not answer["filtered"]:
        _LOG.warning(
            "This machine takes no filter of system calls: the RDF engine is kept from the network by the allow-list alone"
        )
    return process


def _ended(signal_name: str) -> StatementError:
    """Return the error of an engine that has ended: it aborts where memory is refused."""
    if signal_name == "SIGABRT":
        return sparql_fault("it takes more memory than is allowed: the engine has ended by SIGABRT", "Ask for less")
    how = f"by {signal_name}" if signal_name else "or sent more than is allowed"
    return sparql_fault(f"the engine has ended while it ran this, {how}", "Ask for less; the graph is as before")


class EmbeddedEngine:
    """The graph of a task in a process of its own; the triples stand here too, so that a new process is given them."""

    def __init__(self, process: OxigraphProcess) -> None:
        self._process = process
        self._triples: set[Triple] = set()

    async def read(self) -> set[Triple]:
        """Return all triples."""
        return self._triples

    async def change(self, removed: set[Triple], added: set[Triple]) -> None:
        """Remove and add triples: both, or nothing."""
        if removed or added:
            request = {"do": "change", "text": change_text(removed, added)}
            await self._process.ask(request, _OWN_S, first=lambda: _load(self._triples))
            self._triples = (self._triples - removed) | added

    async def select(self, text: str, rows: int, seconds: float) -> RdfAnswer:
        """Run a query that was checked."""
        request = {"do": "query", "text": text, "rows": rows}
        answer = await self._process.ask(request, seconds, first=lambda: _load(self._triples))
        if "boolean" in answer:
            return bool(answer["boolean"])
        found = [[None if term is None else read_term(*term) for term in row] for row in answer["rows"]]
        return tuple(answer["columns"]), found

    async def close(self) -> None:
        """Forget the graph. The process is not ended here."""
        self._triples = set()


def read_term(kind: Any, value: str, datatype: str) -> RdfTerm:
    """Return a term of an answer; plain texts have no datatype, whether the engine names it or not."""
    return RdfTerm(kind, value, "" if datatype.endswith(("#string", "#langString")) else datatype)


def engine_fault(problem: str) -> StatementError:
    """Return the error of an engine. The places that its parser names are mostly the end of the text, so they are left out."""
    if place := _PLACE.match(problem):
        problem = f"this is no SPARQL 1.1: {problem[place.end() :].splitlines()[0][:200]}"
    return sparql_fault(problem.rstrip("."), "Correct it; the graph is as before")


def _load(triples: set[Triple]) -> dict[str, Any]:
    return {"do": "load", "triples": triples_text(triples)}
