"""Connections that send nothing, or not all: they are bounded and end, and the rest of the process goes on."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from services.http.http_server import serve_http
from tests.conftest import ROOT
from tests.harness.issuers import Authority, write_pair

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: "
_SERVER = """
import asyncio, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from services.server.access.tls import web_context
from services.http.http_server import serve_http
from tests.services.http.test_http_connections import echo

async def main():
    tls = web_context(*map(Path, sys.argv[1:])) if sys.argv[1:] else None
    async with serve_http(echo, host="127.0.0.1", port=0, tls=tls) as address:
        print(address, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the body; ``/stream`` never ends."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": f"{(await receive())['type']}.complete"})
        return
    body, message = b"", await receive()
    while message.get("more_body"):
        body, message = body + message["body"], await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    stays = scope["path"] == "/stream"
    await send({"type": "http.response.body", "body": body + message.get("body", b"") + b"!", "more_body": stays})
    if stays:
        await receive()


@asynccontextmanager
async def raw(address: str, *sent: bytes) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection without TLS."""
    found = urlsplit(address)
    reader, writer = await asyncio.open_connection(found.hostname, found.port)
    try:
        writer.writelines(sent)
        yield reader, writer
    finally:
        writer.close()


async def is_closed(reader: asyncio.StreamReader) -> bool:
    try:
        return not await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return True


@pytest.mark.parametrize("tls", [False, True])
def test_a_flood_leaves_descriptors_for_others(tmp_path: Path, tls: bool) -> None:
    pair = [str(each) for each in write_pair(tmp_path, Authority().issue("server"))] if tls else []
    command = [sys.executable, "-c", _SERVER, *pair]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes) as process:
        assert process.stdin and process.stdout
        address = process.stdout.readline().strip()
        found = urlsplit(address)

        def connect(_: int) -> socket.socket:
            each = socket.create_connection((found.hostname, found.port), timeout=20)
            with suppress(ConnectionError):  # it has lost its place already
                each.sendall(b"" if tls else HALF)
            return each

        # Side by side: a connection that finds the queue of the listening socket full is tried again after a second.
        with ExitStack() as held, ThreadPoolExecutor(16) as pool:
            for each in pool.map(connect, range(400)):
                held.enter_context(each)
            with httpx.Client(base_url=address, verify=False, trust_env=False, timeout=20) as client:
                assert client.get("/").text == "!"
            if sys.platform == "linux":
                assert len(os.listdir(f"/proc/{process.pid}/fd")) < 100  # 64 connections, and what Python has open
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("sent", [b"", HALF, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab"])
async def test_a_request_that_does_not_come_in_whole_is_ended(sent: bytes) -> None:
    async with serve_http(echo, host="127.0.0.1", port=0, request_s=0.3) as address:
        async with raw(address, sent) as (reader, _):
            assert await is_closed(reader)
        whole = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"
        async with raw(address, whole, b"ab", whole, b"a") as (reader, _):  # the second one was sent meanwhile
            assert (await reader.readuntil(b"ab!\r\n0\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await is_closed(reader)
        async with raw(address, b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n") as (reader, _):
            await reader.readuntil(b"!\r\n")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(), 0.5)  # an answer may take as long as it takes


async def test_who_sends_no_request_gives_way() -> None:
    stream = b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"
    async with serve_http(echo, host="127.0.0.1", port=0, connections=4) as address:
        async with raw(address, stream) as (streaming, _), raw(address, HALF) as (first, _):
            await streaming.readuntil(b"!\r\n")
            async with raw(address, HALF), raw(address, HALF), raw(address, stream) as (other, _):
                await other.readuntil(b"!\r\n")
                assert await is_closed(first)
                assert not streaming.at_eof()
                async with raw(address, stream) as (third, _), raw(address, stream) as (fourth, _):
                    await third.readuntil(b"!\r\n")
                    await fourth.readuntil(b"!\r\n")
                    async with raw(address, stream) as (fifth, _):  # all work: the oldest gives way
                        await fifth.readuntil(b"!\r\n")
                        assert await is_closed(streaming)
