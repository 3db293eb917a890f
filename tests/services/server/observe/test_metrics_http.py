"""The HTTP port for scrapes and probes: what it answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.http.http_server import serve_http
from services.server.observe.metrics import metrics_app
from tests.services.server.observe.scraping import fetch


@asynccontextmanager
async def listening(ready: bool = True) -> AsyncIterator[int]:
    app = metrics_app(lambda: b"up 1\n", lambda: ready)
    async with serve_http(app, host="127.0.0.1", port=0) as address:
        yield int(address.rpartition(":")[2])


async def test_it_answers_scrapes_and_probes() -> None:
    async with listening() as port:
        status, head, body = await fetch(port, "/metrics?x=1")
        assert (status, body) == (200, "up 1\n") and "content-type: text/plain; version=0.0.4" in head
        assert await fetch(port, "/livez") == (200, (await fetch(port, "/livez"))[1], "alive\n")
        assert (await fetch(port, "/readyz"))[::2] == (200, "ready\n")
        status, head, body = await fetch(port, "/metrics", method="HEAD")
        assert (status, body) == (200, "") and "content-length: 5" in head
        assert (await fetch(port, "/../../etc/passwd"))[0] == 404
        assert (await fetch(port, "/metrics", method="POST"))[0] == 405
    async with listening(ready=False) as port:
        assert (await fetch(port, "/readyz"))[::2] == (503, "not ready\n")
        assert (await fetch(port, "/livez"))[0] == 200
