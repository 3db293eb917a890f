"""The client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from egotools import requests
from egotools.call_metadata import CallMetadata, Token
from egotools.channel import DEFAULT_MAX_MESSAGE_BYTES, channel_options, check_request_size, credentials_of
from egotools.client_errors import ClientError
from egotools.codec import batch_results, error_from_rpc, read_response, read_result, read_value, wrong_answer
from egotools.tool_plan import ToolPlan
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from egotools.values import CatalogInfo, EgoGraph, ObservedOutput, Query, Response, Tool

__all__ = ["AsyncClient"]

_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")


class AsyncClient:
    """A client of an egotools server for one event loop: the methods of :class:`egotools.Client` as coroutines.

    The parameters are those of :class:`egotools.Client`.
    """

    def __init__(
        self,
        target: str,
        *,
        tls: grpc.ChannelCredentials | bool = False,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        options: Sequence[tuple[str, Any]] = (),
        attempt_timeout_s: float | None = None,
        token: Token = None,
        tenant: str = "",
        insecure_token: bool = False,
    ) -> None:
        credentials = credentials_of(tls)
        metadata = CallMetadata(
            target, token=token, tenant=tenant, is_private=credentials is not None or insecure_token
        )
        chosen = channel_options(max_message_bytes, options, attempt_timeout_s=attempt_timeout_s)
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=chosen)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=chosen)
        self._max_message_bytes = max_message_bytes
        self._stub = pb_grpc.ToolRetrievalStub(metadata.on(self._channel))

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
    ) -> Response:
        """See :meth:`egotools.Client.retrieve`."""
        asked = Query(
            query,
            k,
            filters or {},
            preset,
            explain,
            schema_format,
            auto_k,
            done,
            have or {},
            explanation=explanation,
            min_snapshot=min_snapshot,
            abstain=abstain,
            needs=needs,
        )
        message = requests.retrieve_request(asked)
        return read_response(await self._call(self._stub.Retrieve, message, timeout_s), asked)

    async def retrieve_batch(
        self, queries: Sequence[Query | str], *, timeout_s: float = 30.0
    ) -> tuple[Response | ClientError, ...]:
        """See :meth:`egotools.Client.retrieve_batch`."""
        asked = requests.as_queries(queries)
        message = requests.batch_request(asked)
        return batch_results(await self._call(self._stub.RetrieveBatch, message, timeout_s), asked)

    async def retrieve_each(
        self, queries: Sequence[Query | str], *, timeout_s: float = 60.0
    ) -> AsyncIterator[Response | ClientError]:
        """See :meth:`egotools.Client.retrieve_each`."""
        asked = requests.as_queries(queries)
        message = requests.batch_request(asked)
        check_request_size(message, self._max_message_bytes)
        stream = self._stub.RetrieveEach(message, timeout=timeout_s)
        count = 0
        try:
            async for result in stream:
                if count == len(asked):
                    raise wrong_answer("the answer has more results than requests")
                yield read_result(result, asked[count])
                count += 1
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from None
        finally:
            stream.cancel()
        if count < len(asked):
            raise wrong_answer("the answer has fewer results than requests")

    async def report_outcome(
        self,
        request_id: str,
        used: Sequence[str],
        *,
        succeeded: bool | None = None,
        query: str = "",
        outputs: Sequence[ObservedOutput] = (),
        timeout_s: float = 10.0,
    ) -> None:
        """See :meth:`egotools.Client.report_outcome`."""
        message = requests.outcome_request(request_id, used, succeeded, outputs, query)
        await self._call(self._stub.ReportOutcome, message, timeout_s)

    async def get_tool(
        self, tool_id: str, *, schema_format: str = "none", min_snapshot: str = "", timeout_s: float = 10.0
    ) -> Tool:
        """See :meth:`egotools.Client.get_tool`."""
        message = requests.tool_request(tool_id, schema_format, min_snapshot)
        reply = await self._call(self._stub.GetTool, message, timeout_s)
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
        """See :meth:`egotools.Client.neighbors`."""
        message = requests.neighbors_request(node, predicates, limit, min_snapshot)
        return read_value(EgoGraph, await self._call(self._stub.Neighbors, message, timeout_s))

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
        """See :meth:`egotools.Client.plan`."""
        message = requests.plan_request(goals, query, done, have or {}, preset, min_snapshot, abstain, needs)
        return read_value(ToolPlan, await self._call(self._stub.Plan, message, timeout_s))

    async def catalog(self, *, page_size: int = 0, page_token: str = "", timeout_s: float = 10.0) -> CatalogInfo:
        """See :meth:`egotools.Client.catalog`."""
        message = requests.catalog_request(page_size, page_token)
        return read_value(CatalogInfo, await self._call(self._stub.GetCatalog, message, timeout_s))

    async def tool_ids(self, *, page_size: int = 1_000, timeout_s: float = 10.0) -> AsyncIterator[str]:
        """See :meth:`egotools.Client.tool_ids`."""
        token = ""
        while True:
            page = await self.catalog(page_size=page_size, page_token=token, timeout_s=timeout_s)
            for tool_id in page.tool_ids:
                yield tool_id
            token = page.next_page_token
            if not token:
                return

    async def _call(
        self, method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Reply], message: _Request, timeout_s: float
    ) -> _Reply:
        check_request_size(message, self._max_message_bytes)
        try:
            return await method(message, timeout=timeout_s)
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from None
