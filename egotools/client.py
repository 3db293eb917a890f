"""The clients: one for asyncio, and one that blocks, which runs the methods of the first over a blocking channel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import grpc

from egotools.channel import (
    DEFAULT_MAX_MESSAGE_BYTES,
    CallMetadata,
    Token,
    channel_options,
    check_request_size,
    open_channel,
)
from egotools.client_errors import ClientError
from egotools.codec import batch_results, error_from_rpc, read_response, read_value, request_message
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from egotools.values import CatalogInfo, EgoGraph, Query, Response, Tool, ToolPlan

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncClient:
    """A client of an egotools server for one event loop.

    Calls are distributed round-robin over all addresses of the target (``dns:///host:port``,
    ``ipv4:10.0.0.1:50051,10.0.0.2:50051``). A call that ends with UNAVAILABLE is retried on other replicas, up to four
    attempts in all; so is one that an overloaded server refuses, when the server says. This is safe because every call only
    reads. A replica that is dead or cut off is left after 2.5 s. Every method raises :class:`ClientError`, see
    :mod:`egotools.client_errors`; its ``timeout_s`` are seconds for all attempts together.

    :param target: ``host:port``, or a gRPC target with several addresses.
    :param tls: True for TLS with the system's root certificates, ``grpc.ssl_channel_credentials(...)`` for your own
        certificates, False for plain text.
    :param max_message_bytes: maximum size of a request and of a response; raise it together with the server's limit.
    :param options: further gRPC channel arguments, appended to the client's own.
    :param token: bearer token that each call has, or a function that returns the one to use now and does not wait.
    :param tenant: the catalogue; empty: that of the token, or the only one of the server.
    :param insecure_token: whether a token may be sent in plain text to another machine.
    :raises InvalidRequestError: when a token would be, and may not.
    """

    _grpc: Any = grpc.aio

    def __init__(
        self,
        target: str,
        *,
        tls: grpc.ChannelCredentials | bool = False,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        options: Sequence[tuple[str, Any]] = (),
        token: Token = None,
        tenant: str = "",
        insecure_token: bool = False,
    ) -> None:
        private = tls is not False or insecure_token
        self._metadata = CallMetadata(target, token=token, tenant=tenant, is_private=private)
        self._channel = open_channel(self._grpc, target, tls, channel_options(max_message_bytes, options))
        self._max_message_bytes = max_message_bytes
        self._stub: Any = pb_grpc.ToolRetrievalStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; calls in flight are cancelled."""
        await self._channel.close()

    async def retrieve(
        self,
        query: str = "",
        k: int = 10,
        filters: Mapping[str, Sequence[str]] | None = None,
        preset: str = "",
        explain: bool = True,
        schema_format: str = "none",
        timeout_s: float = 10.0,
        auto_k: bool = False,
        done: Sequence[str] = (),
        have: Mapping[str, str] | None = None,
        explanation: bool = False,
        min_snapshot: str = "",
        abstain: bool = False,
        needs: Sequence[str] = (),
        budget_tokens: int = 0,
    ) -> Response:
        """Return the tools that a request needs, best first. The parameters are those of :class:`egotools.Query`."""
        known = (auto_k, done, have or {}, explanation, min_snapshot, abstain, needs, budget_tokens)
        asked = Query(query, k, filters or {}, preset, explain, schema_format, *known)
        return read_response(await self._call("Retrieve", _message(asked), timeout_s), asked)

    async def retrieve_batch(
        self, queries: Sequence[Query | str], *, timeout_s: float = 30.0
    ) -> tuple[Response | ClientError, ...]:
        """Return for each of 1 to 64 requests a response or an error, in their order.

        :param queries: a string means a :class:`Query` with the defaults.
        """
        asked = [query if isinstance(query, Query) else Query(query) for query in queries]
        message = pb.RetrieveBatchRequest(requests=map(_message, asked))
        return batch_results(await self._call("RetrieveBatch", message, timeout_s), asked)

    async def report_outcome(
        self,
        request_id: str,
        used: Sequence[str],
        *,
        succeeded: bool | None = None,
        query: str = "",
        timeout_s: float = 10.0,
    ) -> None:
        """Report which tools were used for a request, so that the catalogue can learn from it. A repeated report counts once.

        :param request_id: :attr:`Response.request_id`.
        :param used: ids of the tools that were called, in order, at most 100.
        :param succeeded: whether the task succeeded; None where that is not known.
        :param query: the text of the request, unchanged: without it later requests cannot be compared with this one. The server's
            operator chooses what is kept of it; by default its words that the tools' documents have too.
        :raises InvalidRequestError: for what is no id of a request.
        :raises NotFoundError: naming a tool that the catalogue does not have.
        :raises PreconditionError: when the server keeps no outcomes.
        """
        known = {} if succeeded is None else {"succeeded": succeeded}
        given = {"request_id": request_id, "used": used, "query": query, **known}
        await self._call("ReportOutcome", request_message(pb.ReportOutcomeRequest, given), timeout_s)

    async def get_tool(
        self, tool_id: str, *, schema_format: str = "none", min_snapshot: str = "", timeout_s: float = 10.0
    ) -> Tool:
        """Return all fields of one tool.

        :raises NotFoundError: when the snapshot has no tool with this id.
        """
        given = {"id": tool_id, "schema_format": schema_format, "min_snapshot": min_snapshot}
        reply = await self._call("GetTool", request_message(pb.GetToolRequest, given), timeout_s)
        return read_value(Tool, reply.tool, schema_json=reply.schema_json, snapshot_id=reply.snapshot_id)

    async def neighbors(
        self,
        node: str,
        *,
        predicates: Sequence[str] = (),
        limit: int = 100,
        min_snapshot: str = "",
        timeout_s: float = 10.0,
    ) -> EgoGraph:
        """Return the ego graph of a node.

        :param node: a node key (``business_object:purchase order``) or a tool id.
        :param predicates: only edges with these predicates; empty: all.
        :param limit: maximum number of edges, 1 to 1,000.
        :raises NotFoundError: for an unknown node.
        """
        given = {"node": node, "predicates": predicates, "limit": limit, "min_snapshot": min_snapshot}
        message = request_message(pb.NeighborsRequest, given)
        return read_value(EgoGraph, await self._call("Neighbors", message, timeout_s))

    async def plan(
        self,
        goals: Sequence[str] = (),
        *,
        query: str = "",
        done: Sequence[str] = (),
        have: Mapping[str, str] | None = None,
        preset: str = "",
        abstain: bool = False,
        needs: Sequence[str] = (),
        min_snapshot: str = "",
        timeout_s: float = 10.0,
    ) -> ToolPlan:
        """Return the calls that lead to goal tools, in order, with the step, the value or the question that fills each input.

        :param goals: ids of the tools to be called in the end, at most 20; empty: the best tool of each need, or
            else the best tools for ``query``.
        :param query: the request in plain words, whose values fill inputs; needed without ``goals`` and ``needs``.
        :param abstain: plan nothing where the query is unanswerable and there are no goals, nor for a need that nothing fits.
        :param done: as for :class:`egotools.Query`, like the other parameters.
        :raises NotFoundError: naming a goal that the snapshot does not have.
        """
        given = {"goals": goals, "query": query, "done": done, "have": have or {}, "preset": preset, "abstain": abstain}
        given |= {"needs": needs, "min_snapshot": min_snapshot}
        return read_value(ToolPlan, await self._call("Plan", request_message(pb.PlanRequest, given), timeout_s))

    async def catalog(self, *, page_size: int = 0, page_token: str = "", timeout_s: float = 10.0) -> CatalogInfo:
        """Return the description of the served snapshot, with up to ``page_size`` (0 to 5,000) tool ids."""
        message = request_message(pb.GetCatalogRequest, {"page_size": page_size, "page_token": page_token})
        return read_value(CatalogInfo, await self._call("GetCatalog", message, timeout_s))

    async def tool_ids(self, *, page_size: int = 1_000, timeout_s: float = 10.0) -> AsyncIterator[str]:
        """Yield every tool id, in the snapshot's order.

        :param page_size: ids for each call, 1 to 5,000.
        :param timeout_s: seconds for each call.
        :raises InvalidRequestError: when the snapshot changed between two calls; start again then.
        """
        page = await self.catalog(page_size=page_size, timeout_s=timeout_s)
        while True:
            for tool_id in page.tool_ids:
                yield tool_id
            if not page.next_page_token:
                return
            page = await self.catalog(page_size=page_size, page_token=page.next_page_token, timeout_s=timeout_s)

    async def _call(self, method: str, message: Any, timeout_s: float) -> Any:
        check_request_size(message, self._max_message_bytes)
        try:
            call = getattr(self._stub, method)(message, timeout=timeout_s, metadata=self._metadata.pairs())
            return await self._reply(call)
        except grpc.RpcError as failure:
            raise error_from_rpc(failure) from None

    async def _reply(self, call: Any) -> Any:
        return await call


def _message(query: Query) -> pb.RetrieveRequest:
    return request_message(pb.RetrieveRequest, {name: getattr(query, name) for name in Query.__slots__})


class _Blocking(AsyncClient):
    """The same over a blocking channel: its coroutines never wait for a loop, so one step runs them to their end."""

    _grpc: Any = grpc

    async def close(self) -> None:
        self._channel.close()

    async def _reply(self, call: Any) -> Any:
        return call


def _ended(work: Coroutine[Any, Any, _T]) -> _T:
    try:
        work.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    raise RuntimeError("a blocking call waited for an event loop")


def _blocking(
    method: Callable[Concatenate[AsyncClient, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Client, _P], _T]:
    @wraps(method)
    def call(self: Client, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return _ended(method(self._client, *args, **kwargs))

    return call


class Client:
    """The methods of :class:`AsyncClient`, blocking. Thread-safe; one client is enough for a process.

    The parameters are those of :class:`AsyncClient`.
    """

    def __init__(
        self,
        target: str,
        *,
        tls: grpc.ChannelCredentials | bool = False,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        options: Sequence[tuple[str, Any]] = (),
        token: Token = None,
        tenant: str = "",
        insecure_token: bool = False,
    ) -> None:
        self._client = _Blocking(
            target,
            tls=tls,
            max_message_bytes=max_message_bytes,
            options=options,
            token=token,
            tenant=tenant,
            insecure_token=insecure_token,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; calls in flight are cancelled."""
        _ended(self._client.close())

    retrieve = _blocking(AsyncClient.retrieve)
    retrieve_batch = _blocking(AsyncClient.retrieve_batch)
    report_outcome = _blocking(AsyncClient.report_outcome)
    get_tool = _blocking(AsyncClient.get_tool)
    neighbors = _blocking(AsyncClient.neighbors)
    plan = _blocking(AsyncClient.plan)
    catalog = _blocking(AsyncClient.catalog)

    def tool_ids(self, *, page_size: int = 1_000, timeout_s: float = 10.0) -> Iterator[str]:
        """As :meth:`AsyncClient.tool_ids`."""
        page = self.catalog(page_size=page_size, timeout_s=timeout_s)
        yield from page.tool_ids
        while page.next_page_token:
            page = self.catalog(page_size=page_size, page_token=page.next_page_token, timeout_s=timeout_s)
            yield from page.tool_ids
