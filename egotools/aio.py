"""The client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from egotools import requests, wire
from egotools.errors import ClientError, error_from_rpc
from egotools.results import Answer, Catalog, EgoGraph, Query, Tool
from egotools.v1 import egotools_pb2_grpc as pb_grpc

__all__ = ["AsyncClient"]

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class AsyncClient:
    """Asks an egotools server, in one event loop; the twin of :class:`egotools.Client`, method for method.

    Calls go round all addresses that the target names (``dns:///host:port``, ``ipv4:10.0.0.1:50051,10.0.0.2:50051``),
    and one that a replica could not take is tried on others, four times in all. Every call only reads, so that is safe.

    :param target: ``host:port``, or a gRPC target that names several addresses.
    :param tls: True for TLS with the system's roots, ``grpc.ssl_channel_credentials(...)`` for roots and certificates of
        your own, False for plain text.
    :param max_message_bytes: largest answer taken; raise it together with the server's.
    :param options: further gRPC channel arguments; they go before the client's own.
    """

    def __init__(
        self,
        target: str,
        *,
        tls: grpc.ChannelCredentials | bool = False,
        max_message_bytes: int = wire.DEFAULT_MAX_MESSAGE_BYTES,
        options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        credentials = wire.transport(tls)
        chosen = wire.channel_options(max_message_bytes, options)
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=chosen)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=chosen)
        self._stub = pb_grpc.ToolRetrievalStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; calls in flight are cancelled."""
        await self._channel.close()

    async def retrieve(
        self,
        query: str,
        k: int = 10,
        filters: Mapping[str, Sequence[str]] | None = None,
        preset: str = "",
        explain: bool = True,
        schema_format: str = "none",
        timeout_s: float = 10.0,
        auto_k: bool = False,
    ) -> Answer:
        """The tools that a request needs, best first.

        :param query: the request in plain words, 1 to 20,000 characters.
        :param k: how many tools at most, 1 to 1,000.
        :param filters: metadata key → allowed values; a tool must match every key.
        :param preset: name of the retriever; empty: the server's default.
        :param explain: whether each tool says why it is there.
        :param schema_format: ``openai``, ``anthropic``, ``mcp``, or ``none``: fills ``FoundTool.schema``.
        :param timeout_s: seconds for all tries together.
        :param auto_k: as few tools as are expected to be enough, at most ``k``; none where no tool fits.
        :raises ClientError: see :mod:`egotools.errors`.
        """
        message = requests.one_request(query, k, filters, preset, explain, schema_format, auto_k)
        return wire.answer(await _call(self._stub.Retrieve, message, timeout_s))

    async def retrieve_batch(
        self, queries: Sequence[Query | str], *, timeout_s: float = 30.0
    ) -> tuple[Answer | ClientError, ...]:
        """An answer, or the error that was met instead, for each of 1 to 64 requests, in their order.

        :param queries: a bare text is a :class:`Query` with its defaults.
        :param timeout_s: seconds for all of them together.
        :raises ClientError: when the call as a whole fails.
        """
        message = requests.batch_request(queries)
        return wire.batch_results(await _call(self._stub.RetrieveBatch, message, timeout_s))

    async def get_tool(self, tool_id: str, *, schema_format: str = "none", timeout_s: float = 10.0) -> Tool:
        """One tool in full.

        :raises NotFoundError: when the snapshot has no tool of that id.
        """
        message = requests.tool_request(tool_id, schema_format)
        return wire.tool(await _call(self._stub.GetTool, message, timeout_s))

    async def neighbors(
        self, node: str, *, predicates: Sequence[str] = (), limit: int = 100, timeout_s: float = 10.0
    ) -> EgoGraph:
        """The ego graph of a node.

        :param node: a node key (``business_object:purchase order``) or a tool id.
        :param predicates: only edges of these; empty: all.
        :param limit: how many edges at most, 1 to 1,000.
        :raises NotFoundError: when there is no such node.
        """
        message = requests.neighbors_request(node, predicates, limit)
        return wire.ego_graph(await _call(self._stub.Neighbors, message, timeout_s))

    async def catalog(self, *, page_size: int = 0, page_token: str = "", timeout_s: float = 10.0) -> Catalog:
        """What the server serves, with up to ``page_size`` (0 to 5,000) tool ids."""
        message = requests.catalog_request(page_size, page_token)
        return wire.catalog(await _call(self._stub.GetCatalog, message, timeout_s))

    async def tool_ids(self, *, page_size: int = 1_000, timeout_s: float = 10.0) -> AsyncIterator[str]:
        """Every tool id, in the snapshot's order.

        :param page_size: ids a call, 1 to 5,000.
        :param timeout_s: seconds for each call.
        :raises InvalidRequestError: when the snapshot changed in between; start again then.
        """
        token = ""
        while True:
            page = await self.catalog(page_size=page_size, page_token=token, timeout_s=timeout_s)
            for tool_id in page.tool_ids:
                yield tool_id
            token = page.next_page_token
            if not token:
                return


async def _call(
    method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Response], message: _Request, timeout_s: float
) -> _Response:
    try:
        return await method(message, timeout=timeout_s)
    except grpc.aio.AioRpcError as failure:
        raise error_from_rpc(failure) from None
