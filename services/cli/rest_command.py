"""The command ``egotools rest``."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.files import disk_errors, replacing
from services.cli.console import plain, stderr, stdout
from services.cli.options import Store
from services.cli.tools_client import server_address
from services.jobs.plans import DEFAULT_STORE
from services.threads import pin_threads

if TYPE_CHECKING:
    from services.rest.rest_server import RestSettings

__all__ = ["rest"]


def rest(
    server: Annotated[
        str,
        typer.Option(help="Address of the gRPC service, HOST:PORT. Without it the store is served in this process."),
    ] = "",
    store: Store = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond loopback only with TLS, or --insecure.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free port.")] = 8080,
    name: Annotated[
        tuple[str, ...],
        typer.Option(help="A host name by which clients call a gateway on loopback, beside those of loopback."),
    ] = (),
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain of the gateway, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key, PEM.")] = None,
    server_ca: Annotated[
        Path | None, typer.Option(help="Certificates that the gRPC service's must come from; makes it TLS.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Tokens may cross a network in plain text: a proxy has TLS.")
    ] = False,
    ready_file: Annotated[
        Path | None, typer.Option(help="Write the address to this file (JSON) when the gateway answers.")
    ] = None,
) -> None:
    """Serve the calls of the gRPC service over HTTP and JSON until SIGTERM; its OpenAPI document is at /openapi.json."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("egotools rest", extra="rest")
    if server_ca is not None and not server:
        raise InvalidArgumentError("a store is served without TLS", subject="--server-ca", remedy="Leave it out")
    pin_threads()
    from services.rest.rest_server import RestSettings
    from services.server.settings import ServerSettings

    settings = RestSettings(
        host=host,
        port=port,
        names=name,
        tls_cert=tls_cert,
        tls_key=tls_key,
        server_ca=server_ca,
        insecure=insecure,
        limits=ServerSettings.from_env(),
    )
    asyncio.run(_serve(server, store, settings, ready_file))


async def _serve(server: str, store: Path, settings: RestSettings, ready_file: Path | None) -> None:
    from services.rest.rest_server import serve_rest, until_signal
    from services.server.logs import configure_logging

    configure_logging(logging.getLevelName(logging.getLogger().level))  # no text of a request in a traceback
    async with server_address(server, store) as target, serve_rest(target, settings) as url:
        if server:
            await _warn_where_silent(server, settings)

        def ready() -> None:
            stdout.print(f"REST is at {url}, its document at {url}/openapi.json", highlight=False, soft_wrap=True)
            if ready_file is not None:
                with disk_errors(ready_file, remedy="Choose a folder that exists"), replacing(ready_file) as temporary:
                    temporary.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n", encoding="utf-8")

        await until_signal(ready)


async def _warn_where_silent(server: str, settings: RestSettings) -> None:
    """Say that the service does not answer: it may start later, or the address is wrong. The gateway serves all the same."""
    from services.rest.tool_service import ToolService

    service = ToolService(server, settings.server_ca)
    try:
        why = await service.why_silent()
    finally:
        await service.close()
    if why:
        stderr.print(
            f"[yellow]Warning[/]: the service at {plain(server)} does not answer yet: {plain(why)}. "
            "Start it, or correct --server.",
            highlight=False,
            soft_wrap=True,
        )
