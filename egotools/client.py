"""The synchronous client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

__all__ = ["Client"]

_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")


class Client:
    """A client of an egotools server. Thread-safe; one client is enough for a process.

    Calls are distributed round-robin over all addresses of the target (``dns:///host:port``,
    ``ipv4:10.0.0.1:50051,10.0.0.2:50051``). A call that ends with UNAVAILABLE is retried on other replicas, up to four
    attempts in all; so is one that an overloaded server refuses, when the server says. This is safe because every call only
    reads.

    :param target: ``host:port``, or a gRPC target with several addresses.
    :param tls: True for TLS with the system's root certificates, ``grpc.ssl_channel_credentials(...)`` for your own
        certificates, False for plain text.
    :param max_message_bytes: maximum size of a request and of a response; raise it together with the server's limit.
    :param options: further gRPC channel arguments, appended to the client's own.
    :param attempt_timeout_s: seconds without an answer after which an attempt is given up for the next one, of four; None:
        only ``timeout_s`` of the call ends it. A replica that is dead or cut off is left after 2.5 s in either case.
    :param token: bearer token that each call has, or a function that returns the one to use now and does not wait.
    :param tenant: the catalogue; empty: that of the token, or the only one of the server.
    :param insecure_token: whether a token may be sent in plain text to another machine.
    :raises InvalidRequestError: when a token would be, and may not.
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
            self._channel = grpc.insecure_channel(target, options=chosen)
        else:
            self._channel = grpc.secure_channel(target, credentials, options=chosen)
        self._max_message_bytes = max_message_bytes
        self._stub = pb_grpc.ToolRetrievalStub(metadata.on(self._channel))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; calls in flight are cancelled."""
        self._channel.close()

    def retrieve(
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
        """Return the tools that a request needs, best first.

        :param query: the request in plain words, 1 to 20,000 characters.
        :param k: maximum number of tools, 1 to 1,000.
        :param filters: map from metadata key, or ``id``, to values; a tool must match every key. ``!value`` excludes, and
            ``start*`` matches every value with that start. An unknown key or value is an error.
        :param preset: name of the retriever; empty: the server's default.
        :param explain: whether each tool has its reasons and its explanation.
        :param schema_format: ``openai``, ``anthropic``, ``mcp``, or ``none``: the format of ``RankedTool.schema``.
        :param timeout_s: seconds for all attempts together.
        :param auto_k: the server chooses the number of tools, 1 to ``k``.
        :param done: ids of the tools that were executed for this task already; they are not returned, and supply inputs.
        :param have: values that are known already: name of an input or output, or kind of object → value, or empty.
        :param explanation: whether each tool has its explanation, also where ``explain`` is False.
        :param min_snapshot: id of a snapshot: a server that serves an older one refuses with :class:`PreconditionError`.
        :param abstain: no tools where the request is unanswerable; otherwise the answer has them, and says so in ``unanswerable``.
        :param needs: what the agent needs, 1 to 32 phrases in words of documentation, one capability each; ``query`` is context then, and
            may be empty. ``Response.need_results`` says how well each is served.
        :raises ClientError: see :mod:`egotools.client_errors`.
        """
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
        return read_response(self._call(self._stub.Retrieve, message, timeout_s), asked)

    def retrieve_batch(
        self, queries: Sequence[Query | str], *, timeout_s: float = 30.0
    ) -> tuple[Response | ClientError, ...]:
        """Return for each of 1 to 64 requests a response or an error, in their order.

        :param queries: a string means a :class:`Query` with the defaults.
        :param timeout_s: seconds for all requests together.
        :raises ClientError: when the call as a whole fails.
        """
        asked = requests.as_queries(queries)
        message = requests.batch_request(asked)
        return batch_results(self._call(self._stub.RetrieveBatch, message, timeout_s), asked)

    def retrieve_each(
        self, queries: Sequence[Query | str], *, timeout_s: float = 60.0
    ) -> Iterator[Response | ClientError]:
        """Yield for each of 1 to 64 requests a response or an error, in their order, as soon as it is there.

        For answers that are together larger than one message may be, or that cost more than one batch may.

        :param queries: a string means a :class:`Query` with the defaults.
        :param timeout_s: seconds for all requests together; the server may allow fewer (60).
        :raises ClientError: when the call as a whole fails; what was yielded before stays valid.
        """
        asked = requests.as_queries(queries)
        message = requests.batch_request(asked)
        check_request_size(message, self._max_message_bytes)
        stream = self._stub.RetrieveEach(message, timeout=timeout_s)
        try:
            for query, result in zip(asked, stream, strict=True):
                yield read_result(result, query)
        except grpc.RpcError as failure:
            raise error_from_rpc(failure) from None
        except ValueError:
            raise wrong_answer("the answer has not one result for each request") from None
        finally:
            stream.cancel()

    def report_outcome(
        self,
        request_id: str,
        used: Sequence[str],
        *,
        succeeded: bool | None = None,
        query: str = "",
        outputs: Sequence[ObservedOutput] = (),
        timeout_s: float = 10.0,
    ) -> None:
        """Report which tools were used for a request, so that the catalogue can learn from it. A repeated report counts once.

        :param request_id: :attr:`Response.request_id`; within seven days.
        :param used: ids of the tools that were called, in order, at most 100.
        :param succeeded: whether the task succeeded; None where that is not known.
        :param query: the text of the request, unchanged: without it later requests cannot be compared with this one. The server's
            operator chooses what is kept of it; by default its words that the tools' documents have too.
        :param outputs: what the tools were seen to return, names and types only, at most 100.
        :raises InvalidRequestError: for an id that this catalogue did not give for this text, or gave too long ago.
        :raises NotFoundError: naming a tool that the catalogue does not have.
        :raises PreconditionError: when the server keeps no outcomes.
        """
        message = requests.outcome_request(request_id, used, succeeded, outputs, query)
        self._call(self._stub.ReportOutcome, message, timeout_s)

    def get_tool(
        self, tool_id: str, *, schema_format: str = "none", min_snapshot: str = "", timeout_s: float = 10.0
    ) -> Tool:
        """Return all fields of one tool.

        :raises NotFoundError: when the snapshot has no tool with this id.
        """
        message = requests.tool_request(tool_id, schema_format, min_snapshot)
        reply = self._call(self._stub.GetTool, message, timeout_s)
        return read_value(Tool, reply.tool, schema_json=reply.schema_json, snapshot_id=reply.snapshot_id)

    def neighbors(
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
        message = requests.neighbors_request(node, predicates, limit, min_snapshot)
        return read_value(EgoGraph, self._call(self._stub.Neighbors, message, timeout_s))

    def plan(
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
        :param done: ids of the tools that were executed for this task already; they supply inputs, and are no steps.
        :param have: values that are known already: name of an input or output, or kind of object → value, or empty.
        :param abstain: plan nothing where the query is unanswerable and there are no goals, nor for a need that nothing fits.
        :param needs: what the agent needs, one capability a phrase; see :class:`egotools.Query`.
        :raises NotFoundError: naming a goal that the snapshot does not have.
        """
        message = requests.plan_request(goals, query, done, have or {}, preset, min_snapshot, abstain, needs)
        return read_value(ToolPlan, self._call(self._stub.Plan, message, timeout_s))

    def catalog(self, *, page_size: int = 0, page_token: str = "", timeout_s: float = 10.0) -> CatalogInfo:
        """Return the description of the served snapshot, with up to ``page_size`` (0 to 5,000) tool ids."""
        message = requests.catalog_request(page_size, page_token)
        return read_value(CatalogInfo, self._call(self._stub.GetCatalog, message, timeout_s))

    def tool_ids(self, *, page_size: int = 1_000, timeout_s: float = 10.0) -> Iterator[str]:
        """Yield every tool id, in the snapshot's order.

        :param page_size: ids for each call, 1 to 5,000.
        :param timeout_s: seconds for each call.
        :raises InvalidRequestError: when the snapshot changed between two calls; start again then.
        """
        token = ""
        while True:
            page = self.catalog(page_size=page_size, page_token=token, timeout_s=timeout_s)
            yield from page.tool_ids
            token = page.next_page_token
            if not token:
                return

    def _call(
        self, method: grpc.UnaryUnaryMultiCallable[_Request, _Reply], message: _Request, timeout_s: float
    ) -> _Reply:
        check_request_size(message, self._max_message_bytes)
        try:
            return method(message, timeout=timeout_s)
        except grpc.RpcError as failure:
            raise error_from_rpc(failure) from None
