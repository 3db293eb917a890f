"""One call, and after a while without an answer the same call at the next replica: the first answer counts."""

from __future__ import annotations

import asyncio
import time
from queue import SimpleQueue
from typing import Any, TypeVar

import grpc

from egotools.client_errors import OverloadedError

__all__ = ["call", "call_async", "check_request_size"]

_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")
_ELSEWHERE_TOO = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED}
)  # with these the other attempt may still be answered


def check_request_size(message: Any, most: int) -> None:
    """Check the size of a request before it is sent.

    :param most: bytes.
    :raises OverloadedError: when it has more.
    """
    size = message.ByteSize()
    if size > most:
        raise OverloadedError(
            f"the request has {size:,} bytes; at most {most:,} are sent",
            code="RESOURCE_EXHAUSTED",
            reason="TOO_LARGE",
            subject="max_message_bytes",
            remedy="Split it into several calls, or raise the limit of client and server.",
        )


def call(
    method: grpc.UnaryUnaryMultiCallable[_Request, _Reply], message: _Request, timeout_s: float, hedge_s: float | None
) -> _Reply:
    """Call a method, and return its answer.

    :param timeout_s: seconds for everything together.
    :param hedge_s: seconds without an answer until the second call; None for one call.
    :raises grpc.RpcError: when it fails; where both fail, the failure that came last.
    """
    if hedge_s is None:
        return method(message, timeout=timeout_s)
    ends = time.monotonic() + timeout_s
    ended: SimpleQueue[Any] = SimpleQueue()
    first: Any = method.future(message, timeout=timeout_s)
    calls = [first]
    try:
        try:
            reply: _Reply = first.result(timeout=hedge_s)
            return reply
        except grpc.FutureTimeoutError:
            calls.append(method.future(message, timeout=max(0.0, ends - time.monotonic())))
        for each in calls:
            each.add_done_callback(ended.put)
        done = ended.get()
        if done.code() in _ELSEWHERE_TOO:
            done = ended.get()
        reply = done.result()
        return reply
    finally:
        for each in calls:
            each.cancel()


async def call_async(
    method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Reply],
    message: _Request,
    timeout_s: float,
    hedge_s: float | None,
) -> _Reply:
    """As :func:`call`, for asyncio."""
    if hedge_s is None:
        return await method(message, timeout=timeout_s)
    ends = time.monotonic() + timeout_s
    calls = {asyncio.ensure_future(_answer(method, message, timeout_s))}
    try:
        done, waiting = await asyncio.wait(calls, timeout=hedge_s)
        if not done:
            calls.add(asyncio.ensure_future(_answer(method, message, max(0.0, ends - time.monotonic()))))
            done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            error = next(iter(done)).exception()
            if waiting and isinstance(error, grpc.aio.AioRpcError) and error.code() in _ELSEWHERE_TOO:
                done, waiting = await asyncio.wait(waiting)
        return next(iter(done)).result()
    finally:
        for each in calls:
            each.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def _answer(
    method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Reply], message: _Request, timeout_s: float
) -> _Reply:
    return await method(message, timeout=timeout_s)
