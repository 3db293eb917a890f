"""The HTTP port for scrapes and probes: what it answers, whom it refuses, and that nobody can hold it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ontology.errors import InvalidArgumentError
from services.server.observe import metrics_http
from services.server.observe.metrics_http import Authorize, MetricsHttp, anybody, bearer
from services.server.server import Server
from tests.harness.waiting import LIMIT_S, until
from tests.services.server.memory_engine import MemoryEngine, serving, small_settings
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


async def test_readiness_is_that_of_the_service() -> None:
    server = Server(small_settings(metrics_port=0))
    await server.start()
    port = server.observing.metrics_port
    assert port
    try:
        assert ((await fetch(port, "/livez"))[0], (await fetch(port, "/readyz"))[0]) == (200, 503)
        await server.load(MemoryEngine)
        assert (await fetch(port, "/readyz"))[0] == 200
        stopping = asyncio.ensure_future(server.stop(5))
        await until(lambda: not server._serving)
        assert (await fetch(port, "/readyz"))[0] == 503
        await stopping
    finally:
        await server.stop(0) if not stopping.done() else None
    with pytest.raises(ConnectionError):
        await fetch(port, "/livez")


async def test_the_metrics_can_ask_for_a_token_and_the_probes_do_not() -> None:
    async with listening(bearer("s3cret-token")) as port:
        for lines in (
            (),
            ("Authorization: Bearer wrong",),
            ("Authorization: s3cret-token",),
            ("X: Bearer s3cret-token",),
        ):
            status, head, body = await fetch(port, "/metrics", *lines)
            assert (status, "up" in body) == (401, False) and "WWW-Authenticate: Bearer" in head
        assert (await fetch(port, "/metrics", "authorization:  Bearer s3cret-token"))[0] == 200
        assert (await fetch(port, "/readyz"))[0] == 200


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


async def test_connections_that_say_nothing_hold_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_http, "_SECONDS", 0.2)
    async with listening() as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
        answered = await asyncio.gather(*(reader.read() for reader, _ in silent), return_exceptions=True)
        assert all(each == b"" or isinstance(each, ConnectionError) for each in answered)
        for _, writer in silent:
            writer.close()
        assert (await fetch(port, "/livez"))[0] == 200


@pytest.mark.parametrize("begun", [b"", b"GET /metrics HTTP/1.1\r\nX: "])
async def test_a_probe_is_answered_while_others_hold_every_connection(
    begun: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening() as port:
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        for _, writer in slow:
            writer.write(begun)
        for path in ("/livez", "/readyz", "/metrics"):
            assert (await fetch(port, path))[0] == 200
        for _, writer in slow:
            writer.close()
    assert not caplog.records


async def test_scrapes_whose_callers_have_lost_their_places_run_once() -> None:
    """Each of them holds a thread until it has ended, and all threads of the pool would be held."""
    begun: list[int] = []
    held = threading.Event()

    def scrape() -> bytes:
        begun.append(len(begun) + 1)
        assert held.wait(LIMIT_S)
        return f"up {begun[-1]}\n".encode()

    http = MetricsHttp(scrape, lambda: True)
    port = await http.start("127.0.0.1", 0)
    try:
        calls = [asyncio.create_task(fetch(port, "/metrics")) for _ in range(200)]
        await until(lambda: sum(call.done() for call in calls) >= 100)  # at most 64 places
        assert (await fetch(port, "/livez"))[0] == 200
        assert begun == [1]
        held.set()
        # Whoever is read after the first scrape has ended makes another one.
        assert {status for status, _, _ in await asyncio.gather(*calls)} == {0, 200}
        assert (await fetch(port, "/metrics"))[2] == "up 2\n"
    finally:
        held.set()
        await http.stop()


async def test_connections_of_one_address_do_not_end_those_of_another() -> None:
    async with listening() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
        writer.write(b"GET /livez HTTP/1.1\r\n")
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        assert (await fetch(port, "/livez"))[0] == 200  # all of them have come
        writer.write(b"\r\n")
        assert b"200 OK" in await reader.read()
        for _, each in ((reader, writer), *slow):
            each.close()


async def test_a_server_that_stops_leaves_neither_threads_nor_sockets() -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        async with serving(settings=small_settings(metrics_port=0)) as server:
            port = server.observing.metrics_port
            assert port
            await asyncio.gather(*(fetch(port, "/metrics") for _ in range(20)))
            held = await asyncio.open_connection("127.0.0.1", port)
        assert await held[0].read() == b""
        held[1].close()
    left = {thread.name for thread in set(threading.enumerate()) - before if not thread.name.startswith("asyncio")}
    assert {name for name in left if "egotools" in name and "worker" not in name} == set()


async def test_a_port_that_is_taken_is_named() -> None:
    async with listening() as port:
        with pytest.raises(InvalidArgumentError, match=f"127.0.0.1:{port}: the metrics cannot be served"):
            await Server(small_settings(metrics_port=port)).start()


async def test_metrics_that_cannot_be_written_are_said(caplog: pytest.LogCaptureFixture) -> None:
    http = MetricsHttp(lambda: 1 / 0, lambda: True)  # type: ignore[arg-type,return-value]
    port = await http.start("127.0.0.1", 0)
    assert (await fetch(port, "/metrics"))[0] == 500
    assert "the metrics cannot be written" in caplog.text
    await http.stop()
