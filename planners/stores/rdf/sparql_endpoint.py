"""The graph of a task as a named graph of a SPARQL 1.1 endpoint that the operator configured.

Each task has a named graph with a new IRI. Queries have it as their whole dataset, by the parameter ``default-graph-uri`` of
the protocol; so no text of a model leads to another. The graph is dropped at the end of the task.

Updates of a model are evaluated here, and reach the endpoint as triples. Queries are evaluated there: the allow-list keeps SERVICE out of
them, and the operator runs the endpoint without federation, or without a way to other hosts, so that this does not hang on one check.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from egotools.calling.content_encoding import IDENTITY, is_encoded
from inference.bounded_answers import MOST_ANSWER_BYTES
from ontology.errors import StorageError
from ontology.redaction import redacted_url
from ontology.urls import check_http_url
from planners.stores.rdf.oxigraph_process import RdfAnswer, engine_fault, read_term
from planners.stores.rdf.rdf_terms import RdfTerm, Triple, change_text
from planners.stores.rdf.sparql_tokens import sparql_fault

if TYPE_CHECKING:
    import httpx

__all__ = ["EndpointEngine"]

_OWN_S = 30.0
"""Seconds for requests that no model wrote."""
_RESULTS = "application/sparql-results+json"
_ALL = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
_KINDS = {"uri": "iri", "literal": "literal", "typed-literal": "literal", "bnode": "blank"}


class EndpointEngine:
    """A named graph of an endpoint.

    Bounded are the seconds and bytes of each answer. That the endpoint stops a query nobody waits for any more is its own
    setting (``oxigraph serve --timeout-s``).

    :param url: the address under which ``query`` and ``update`` stand: ``http://user:password@127.0.0.1:7878``.
    :raises InvalidArgumentError: when it is no http or https address.
    """

    def __init__(self, url: str) -> None:
        import httpx

        parts = urlsplit(check_http_url(url, subject="rdf"))
        self.address = redacted_url(url).rstrip("/")
        auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
        self._graph = f"urn:egotools:graph:{uuid.uuid4().hex}"
        self._client = httpx.AsyncClient(auth=auth, headers=IDENTITY, timeout=_OWN_S, follow_redirects=False)

    def __repr__(self) -> str:
        return f"EndpointEngine({self.address!r})"

    async def read(self) -> set[Triple]:
        """Return all triples."""
        answer = _answer(await self._ask("query", _ALL, _OWN_S, of_model=False))
        rows = [] if isinstance(answer, bool) else answer[1]
        return {(s, p, o) for s, p, o in rows if s is not None and p is not None and o is not None}

    async def change(self, removed: set[Triple], added: set[Triple]) -> None:
        """Remove and add triples, in one request: both, or nothing."""
        if removed or added:
            await self._ask("update", change_text(removed, added, self._graph), _OWN_S, of_model=False)

    async def select(self, text: str, rows: int, seconds: float) -> RdfAnswer:
        """Run a query that was checked and limited."""
        return _answer(await self._ask("query", text, seconds, of_model=True))

    async def close(self) -> None:
        """Drop the named graph and close the connections."""
        try:
            await self._ask("update", f"DROP SILENT GRAPH <{self._graph}>", _OWN_S, of_model=False)
        finally:
            await self._client.aclose()

    async def _ask(self, kind: str, text: str, seconds: float, *, of_model: bool) -> bytes:
        """Send a query or an update, and return the answer.

        :param of_model: whether a model wrote it: its faults are then those of its text.
        """
        import httpx

        form = {kind: text} | ({"default-graph-uri": self._graph} if kind == "query" else {})
        try:
            async with asyncio.timeout(seconds):
                status, body = await self._sent(f"{self.address}/{kind}", form)
        except TimeoutError:
            if of_model:
                raise sparql_fault(
                    f"it takes longer than {seconds:g} s", "Ask for less, or join fewer patterns"
                ) from None
            raise self._failure("does not answer in time") from None
        except httpx.HTTPError as error:  # `from None`: these hold the whole request with its headers
            raise self._failure(f"cannot be reached ({type(error).__name__})") from None
        if 200 <= status < 300:
            return body
        if of_model and status in (400, 408, 500, 503):
            raise engine_fault(body.decode(errors="replace").strip() or f"the endpoint answers HTTP {status}")
        raise self._failure(f"answers HTTP {status}")

    async def _sent(self, url: str, form: dict[str, str]) -> tuple[int, bytes]:
        async with self._client.stream("POST", url, data=form, headers={"Accept": _RESULTS}) as response:
            if is_encoded(response.headers):  # a few kilobytes may unpack to gigabytes
                raise self._failure("sends a compressed answer")
            return response.status_code, await self._body(response)

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > MOST_ANSWER_BYTES:
                raise sparql_fault(f"the answer has more than {MOST_ANSWER_BYTES:,} bytes", "Ask for less")
        return bytes(body)

    def _failure(self, problem: str) -> StorageError:
        return StorageError(
            f"the SPARQL endpoint {problem}",
            subject=self.address,
            remedy="Check that it runs, that query and update stand under this address, and that the user may write",
        )


def _answer(body: bytes) -> RdfAnswer:
    """Return the answer that stands in SPARQL results as JSON.

    :raises StatementError: when these are none.
    """
    try:
        found: Any = json.loads(body)
        if "boolean" in found:
            return bool(found["boolean"])
        columns = tuple(str(name) for name in found["head"]["vars"])
        rows = [[_term(row.get(name)) for name in columns] for row in found["results"]["bindings"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise sparql_fault("the endpoint's answer is no result of SPARQL as JSON", "Ask another way") from None
    return columns, rows


def _term(term: dict[str, str] | None) -> RdfTerm | None:
    return None if term is None else read_term(_KINDS[term["type"]], term["value"], term.get("datatype", ""))
