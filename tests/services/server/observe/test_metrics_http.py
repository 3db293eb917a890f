"""The HTTP port for scrapes and probes: what it answers, whom it refuses, and that nobody can hold it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.server.observe.metrics import Authorize, MetricsHttp, anybody
from tests.services.server.observe.scraping import fetch, send


@asynccontextmanager
async def listening(authorize: Authorize = anybody, ready: bool = True) -> AsyncIterator[int]:
    http = MetricsHttp(lambda: b"up 1\n", lambda: ready, authorize=authorize)
    port = await http.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        await http.stop()


async def test_it_answers_scrapes_and_probes() -> None:
    async with listening() as port:
        status, head, body = await fetch(port, "/metrics?x=1")
        assert (status, body) == (200, "up 1\n") and "Content-Type: text/plain; version=0.0.4" in head
        assert await fetch(port, "/livez") == (200, (await fetch(port, "/livez"))[1], "alive\n")
        assert (await fetch(port, "/readyz"))[::2] == (200, "ready\n")
        status, head, body = await fetch(port, "/metrics", method="HEAD")
        assert (status, body) == (200, "") and "Content-Length: 5" in head
    async with listening(ready=False) as port:
        assert (await fetch(port, "/readyz"))[::2] == (503, "not ready\n")
        assert (await fetch(port, "/livez"))[0] == 200


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 400),
        (b"GET /metrics HTTP/1.1\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    ],
)
async def test_what_is_no_request_gets_a_status(raw: bytes, status: int) -> None:
    async with listening() as port:
        assert (await send(port, raw))[0] == status
        assert (await fetch(port, "/livez"))[0] == 200


async def test_who_holds_connections_loses_them_to_a_probe() -> None:
    async with listening() as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
        assert (await fetch(port, "/livez"))[0] == 200
        for _, writer in silent:
            writer.close()
