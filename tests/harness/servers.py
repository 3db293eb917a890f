"""gRPC servers in this process, on an event loop that has a thread of its own: a process of its own costs two seconds of a processor."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict

from egotools import AsyncClient
from egotools.codec import error_from_rpc
from egotools.v1 import admin_pb2, admin_pb2_grpc, egotools_pb2, egotools_pb2_grpc
from services.server.catalogs import catalog_stores
from services.server.server import Server
from services.server.settings import CatalogEntry, ServerSettings
from tests.harness.waiting import LIMIT_S, wait_until

_T = TypeVar("_T")


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def is_listening(port: int) -> bool:
    """Whether a program listens at a port of loopback."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def listening_program(command: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a program while the block runs, with a free port as its last argument; yield ``127.0.0.1:PORT`` once it listens there.

    :param environ: its environment; that of this process where None.
    """
    port = free_port()
    with subprocess.Popen(
        [*command, str(port)], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    ) as program:
        try:
            wait_until(partial(is_listening, port), process=program)
            yield f"127.0.0.1:{port}"
        finally:
            program.kill()
            program.wait(timeout=LIMIT_S)


@cache
def _loop_of_servers() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="servers of tests", daemon=True)
    thread.start()
    return loop, thread


def _on_loop(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run_coroutine_threadsafe(work, _loop_of_servers()[0]).result()


def end_loop() -> None:
    """End the loop of the servers of this process, at the end of its tests."""
    if _loop_of_servers.cache_info().currsize:
        loop, thread = _loop_of_servers()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def running_server(store: Path | Mapping[str, Path], **environ: str) -> Iterator[Server]:
    """Serve what a store publishes while the block runs; ``address`` says where. For clients without a loop, or with another one.

    :param store: or tenant → store.
    :param environ: settings, by the names of their environment variables.
    """
    entries = {"": store} if isinstance(store, Path) else store
    stores = catalog_stores({tenant: CatalogEntry(store=path) for tenant, path in entries.items()})

    async def made() -> AbstractAsyncContextManager[Server]:
        return loaded(Server(ServerSettings.from_env(environ, port=0), stores))

    running = _on_loop(made())
    server = _on_loop(running.__aenter__())
    try:
        yield server
    finally:
        _on_loop(running.__aexit__(None, None, None))


@asynccontextmanager
async def loaded(server: Server) -> AsyncIterator[Server]:
    """The server, listening, with what its stores publish, on the loop of the test; it is stopped with the block."""
    await server.start()
    try:
        await server.load_stores()
        yield server
    finally:
        await server.stop(0)


def _serving(store: Path) -> AbstractAsyncContextManager[Server]:
    """A server of what a store publishes, on the loop of the test."""
    from retrieval.engine import open_engine
    from tests.harness.engines import serving

    return serving(open_engine(store), ServerSettings(port=0, workers=2, drain_s=0.0))


@asynccontextmanager
async def client_of(store: Path) -> AsyncIterator[AsyncClient]:
    """A client of a server of what a store publishes, on the loop of the test."""
    async with _serving(store) as server, AsyncClient(server.address) as client:
        yield client


@asynccontextmanager
async def all_doors(store: Path) -> AsyncIterator[tuple[Server, Any, Any, Any]]:
    """A server of what a store publishes: itself, a stub of its gRPC service, an HTTP client of REST, a client of MCP."""
    import httpx
    from mcp import Client

    from planners.calls.tool_access import ToolAccess
    from services.mcp.gateway_server import McpGateway
    from services.rest.rest_server import RestSettings, serve_rest

    async with (
        _serving(store) as server,
        AsyncClient(server.address) as client,
        grpc.aio.insecure_channel(server.address) as channel,
        serve_rest(server.address, RestSettings(port=0)) as url,
        httpx.AsyncClient(base_url=url) as rest,
        Client(McpGateway(client, ToolAccess()).server, mode="legacy") as mcp,
    ):
        yield server, egotools_pb2_grpc.ToolRetrievalStub(channel), rest, mcp


async def grpc_json(stub: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the gRPC service answers to the body of a request over REST; ``error`` with code and text where it fails."""
    filters = {key: {"values": values} for key, values in body.get("filters", {}).items()}
    try:
        answer = await stub.Retrieve(ParseDict({**body, "filters": filters}, egotools_pb2.RetrieveRequest()))
    except grpc.aio.AioRpcError as failure:
        return {"error": [failure.code().name, failure.details()]}
    return MessageToDict(answer, preserving_proto_field_name=True)


async def admin_call(server: Server, method: str, **fields: Any) -> Any:
    """Call the admin service of a server with the fields of a request; raises the client's error for a call that fails."""
    async with grpc.aio.insecure_channel(server.admin_address) as channel:
        call = getattr(admin_pb2_grpc.CatalogAdminStub(channel), method)
        try:
            return await call(getattr(admin_pb2, f"{method}Request")(**fields), timeout=LIMIT_S)
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from None
