"""The commands ``egotools rest`` and ``egotools mcp``: the calls of the service for clients of other protocols."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.files import disk_errors, replacing
from services.cli.admin import CaFile, Tenant, TokenFile, read_tls, read_token
from services.cli.calls import NO_CALL_OPTIONS, CallOptions
from services.cli.console import plain, say, tell
from services.cli.options import ReadyFile, Server, Store
from services.cli.search import server_address, tools_client
from services.jobs.plans import DEFAULT_STORE, AllowedModels, HttpPlace, HttpPort, Rare

if TYPE_CHECKING:
    from planners.calls.tool_access import ToolAccess
    from services.rest.rest_server import RestSettings

_PLACE = HttpPlace()


def rest(
    store: Store = DEFAULT_STORE,
    server: Server = "",
    place: HttpPlace = _PLACE,
    server_ca: Annotated[Path | None, Rare(help="Certificates of the service; makes it TLS.")] = None,
    ready_file: ReadyFile = None,
) -> None:
    """Serve the calls of the gRPC service over HTTP and JSON until SIGTERM; its OpenAPI document is at /openapi.json."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("egotools rest", extra="rest")
    if server_ca is not None and not server:
        raise InvalidArgumentError("a store is served without TLS", subject="--server-ca", remedy="Leave it out")
    from services.rest.rest_server import RestSettings
    from services.server.settings import ServerSettings

    settings = RestSettings(**asdict(place), server_ca=server_ca, limits=ServerSettings.from_env())
    asyncio.run(_serve_rest(server, store, settings, ready_file))


async def _serve_rest(server: str, store: Path, settings: RestSettings, ready_file: Path | None) -> None:
    from services.http.http_server import until_signal
    from services.rest.rest_server import serve_rest

    _configure_logs()
    async with server_address(server, store) as target, serve_rest(target, settings) as url:

        def ready() -> None:
            say(plain(f"REST is at {url}, its document at {url}/openapi.json"))
            if ready_file is not None:
                with disk_errors(ready_file, remedy="Choose a folder that exists"), replacing(ready_file) as temporary:
                    temporary.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n", encoding="utf-8")

        await until_signal(ready)


def _configure_logs() -> None:
    """Log as the server does: no text of a request stands in a traceback."""
    from services.server.calls import configure_logging

    configure_logging(logging.getLevelName(logging.getLogger().level))


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions(HttpPlace):
    """What is offered, where, and how the service behind it is called."""

    port: HttpPort = 8090
    http: Annotated[bool, Option("--http", help="Serve streamable HTTP; default: stdio.")] = False
    tenant: Tenant = ""
    token_file: TokenFile = None  # callers of --http bring their own
    ca_file: CaFile = None


_MCP = McpOptions()


def mcp(
    store: Store = DEFAULT_STORE,
    server: Server = "",
    offered: McpOptions = _MCP,
    calling: CallOptions = NO_CALL_OPTIONS,
    allowed_models: AllowedModels = (),
) -> None:
    """Serve the tools of a catalogue to MCP clients: search, plan, and calls through this gateway."""
    if find_spec("mcp") is None:
        raise MissingExtraError("the MCP server", extra="mcp")
    if not server and (offered.token_file or offered.ca_file):
        remedy = "Name it, or leave its options out"
        raise InvalidArgumentError("there is no server", subject="--server", remedy=remedy)
    asyncio.run(_serve_mcp(store, server, offered, calling.access(), allowed_models))


async def _serve_mcp(
    store: Path, server: str, offered: McpOptions, access: ToolAccess, allowed_models: tuple[str, ...]
) -> None:
    from mcp.server.stdio import stdio_server

    from services.http.http_server import until_signal
    from services.mcp.gateway_server import McpGateway
    from services.mcp.mcp_caller import current_token
    from services.mcp.mcp_http_server import serve_mcp_http

    token = read_token(offered.token_file) or ""  # of the process; over HTTP that of each caller
    options: dict[str, Any] = {
        "token": (lambda: current_token(token)) if token or offered.http else None,
        "tenant": offered.tenant,
        "tls": read_tls(offered.ca_file),
        "insecure_token": offered.insecure,
    }
    async with tools_client(server, store, allowed_models, **options) as client:
        gateway = McpGateway(client, access)
        if not offered.http:
            async with stdio_server() as (read, write):
                await gateway.server.run(read, write, gateway.server.create_initialization_options())
            return
        _configure_logs()
        async with serve_mcp_http(gateway, client, offered) as address:
            await until_signal(lambda: tell(plain(f"MCP is at {address}")))
