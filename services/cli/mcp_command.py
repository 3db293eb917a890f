"""The command ``egotools mcp``: the MCP server, over stdio or HTTP."""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from egotools.client_errors import ClientDeadlineError, ClientError, UnavailableError
from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.redaction import redacted_url
from services.cli.admin_commands import CaFile, TokenFile, read_tls, read_token
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions
from services.cli.command_error import command_error
from services.cli.console import stderr
from services.cli.options import Store
from services.cli.tools_client import tools_client
from services.jobs.plans import DEFAULT_STORE, AllowedModels

if TYPE_CHECKING:
    from egotools import AsyncClient
    from planners.calls.tool_access import ToolAccess

__all__ = ["mcp"]

_PROBE_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """What is offered, and where."""

    pins: Annotated[tuple[str, ...], Option("--pin", help="Id of a tool that is always listed.")] = ()
    http: Annotated[bool, Option("--http", help="Serve streamable HTTP; default: stdio.")] = False
    host: Annotated[str, Option(help="Address of --http; beyond loopback with TLS or --insecure.")] = "127.0.0.1"
    port: Annotated[int, Option(min=0, max=65_535, help="Port of --http; 0: any free port.")] = 8090
    names: Annotated[tuple[str, ...], Option("--name", help="A host name by which clients call --http.")] = ()
    tls_cert: Annotated[Path | None, Option(help="Certificate chain of --http, PEM.")] = None
    tls_key: Annotated[Path | None, Option(help="Its private key, PEM.")] = None
    insecure: Annotated[
        bool, Option("--insecure", help="Plain text beyond loopback: of --http, and of tokens to --server.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The gRPC server behind it, and who asks it."""

    server: Annotated[
        str, Option(help="A running egotools server (HOST:PORT). Default: the store is served in this process.")
    ] = ""
    tenant: Annotated[str, Option(help="Whose catalogue of --server.", envvar="EGOTOOLS_TENANT")] = ""
    token_file: TokenFile = None  # callers of --http bring their own
    ca_file: CaFile = None


_MCP, _SERVER = McpOptions(), ServerOptions()


def mcp(
    store: Store = DEFAULT_STORE,
    server: ServerOptions = _SERVER,
    offered: McpOptions = _MCP,
    calling: CallOptions = NO_CALL_OPTIONS,
    allowed_models: AllowedModels = (),
) -> None:
    """Serve the tools of a catalogue to MCP clients: search, plan, and calls through this gateway."""
    if find_spec("mcp") is None:
        raise MissingExtraError("the MCP server", extra="mcp")
    access = calling.access()
    try:
        asyncio.run(_serve(store, server, offered, access, allowed_models))
    except ClientError as error:
        raise command_error(error) from error


async def _serve(
    store: Path, server: ServerOptions, offered: McpOptions, access: ToolAccess, allowed_models: tuple[str, ...]
) -> None:
    from mcp.server.stdio import stdio_server

    from services.mcp.gateway_server import McpGateway
    from services.mcp.mcp_caller import McpSettings
    from services.mcp.mcp_http_server import McpHttpSettings, serve_mcp_http
    from services.server.logs import configure_logging

    async with tools_client(server.server, store, allowed_models, **_client_options(server, offered)) as client:
        gateway = McpGateway(client, access, McpSettings(pins=offered.pins))
        if server.server:
            await _warn_of_silence(client, server.server)
        await gateway.check_pins()
        if not offered.http:
            async with stdio_server() as (read, write):
                await gateway.server.run(read, write, gateway.server.create_initialization_options())
            return
        configure_logging(logging.getLevelName(logging.getLogger().level))  # no text of a request in a traceback
        where = McpHttpSettings(
            host=offered.host,
            port=offered.port,
            names=offered.names,
            tls_cert=offered.tls_cert,
            tls_key=offered.tls_key,
            insecure=offered.insecure,
        )
        async with serve_mcp_http(gateway, client, where) as address:
            stderr.print(f"MCP is at {address}", highlight=False, soft_wrap=True)
            await _stopped()


async def _warn_of_silence(client: AsyncClient, address: str) -> None:
    """Say so at once where the server does not answer; it may start later."""
    try:
        await client.catalog(timeout_s=_PROBE_S)
    except (UnavailableError, ClientDeadlineError) as error:
        shown = redacted_url(address)
        stderr.print(
            f"The server {shown} does not answer yet: {error.message}", markup=False, highlight=False, soft_wrap=True
        )
    except ClientError:
        pass  # it answers


def _client_options(server: ServerOptions, offered: McpOptions) -> dict[str, Any]:
    """How the gRPC server is called: with the token of each caller, on stdio with that of the process."""
    from services.mcp.mcp_caller import current_token

    for path in (server.token_file, server.ca_file):
        if path is not None and not server.server:
            raise InvalidArgumentError(
                "there is no server", subject="--server", remedy="Name it, or leave its options out"
            )
    token = read_token(server.token_file) or ""
    has_tokens = bool(token) or offered.http
    return {
        "token": (lambda: current_token(token)) if has_tokens else None,
        "tenant": server.tenant,
        "tls": read_tls(server.ca_file),
        "insecure_token": offered.insecure,
    }


async def _stopped() -> None:
    """Wait for SIGTERM or Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
