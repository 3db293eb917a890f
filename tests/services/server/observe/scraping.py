"""Reading the HTTP port of a server in tests, and the status of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
from prometheus_client.parser import text_string_to_metric_families


async def code_of(call: Any) -> str:
    """The name of the status with which a call ended."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code().name
    return "OK"


async def fetch(port: int, path: str, *lines: str, method: str = "GET") -> tuple[int, str, str]:
    """Status, head and body of an answer; status 0 where the connection was closed without one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write("\r\n".join((f"{method} {path} HTTP/1.1", "Host: x", *lines, "", "")).encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    except ConnectionError:
        return 0, "", ""
    finally:
        writer.close()
    return int(head.split(" ")[1]) if head else 0, head, body


async def scrape(port: int) -> dict[tuple[str, ...], float]:
    """Name and label values, in the order of the names of the labels → value."""
    status, _, body = await fetch(port, "/metrics")
    assert status == 200
    return dict(samples(body))


def samples(text: str) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every sample of a scrape."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield (sample.name, *(value for _, value in sorted(sample.labels.items()))), sample.value
