"""The commands ``egotools serve``, snapshots over gRPC and a page; ``rest`` and ``mcp``, the calls over other protocols."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.files import write_file
from services.cli.admin import CaFile, Tenant, TokenFile, read_tls, read_token
from services.cli.console import plain, say, tell
from services.cli.options import NO_CALL_OPTIONS, CallOptions, On, ReadyFile, Server, Store
from services.cluster.ray_cluster import on_ray
from services.jobs.plans import (
    DEFAULT_RERANKER,
    DEFAULT_STORE,
    AllowedModels,
    ChatEndpoint,
    HttpPlace,
    HttpPort,
    Rare,
    Reranker,
    chat_address,
    open_chat,
)
from services.jobs.served_store import server_address, tools_client

if TYPE_CHECKING:
    from services.server.server import Server as OwnServer

_MOST_CALLS, _MOST_S = 10_000, 300.0  # of a run of the page, as of the command plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Whether and where the page is served."""

    web: Annotated[bool, Option("--web", help="Serve a page too: requests drawn, and the catalogue.")] = False
    web_domain: Annotated[tuple[str, ...], Option(help="With --web: answer requests in a domain, as plan.")] = ()
    web_host: Annotated[str, Rare(help="Address of the page; beyond loopback behind a proxy.")] = "127.0.0.1"
    web_port: Annotated[int, Rare(min=0, max=65_535, help="Port of the page; 0: any free port.")] = 8080
    web_name: Annotated[str, Rare(help="A host name by which browsers call the page, beside loopback.")] = ""


_NO_PAGE = PageOptions()


def serve(
    store: Store = DEFAULT_STORE,
    host: Annotated[str | None, Option(help="Address to listen on. Default: EGOTOOLS_HOST, or 127.0.0.1.")] = None,
    port: Annotated[int | None, Option(help="Port; 0: any free port. Default: EGOTOOLS_PORT, or 50051.")] = None,
    admin_port: Annotated[int | None, Option(help="Port of the admin service: EGOTOOLS_ADMIN_PORT, or none.")] = None,
    query_model: Annotated[str | None, Option(help="Chat model that writes needs: openai:MODEL@URL.")] = None,
    chooser: Annotated[str | None, Option(help="Chat model that chooses among the best 40 tools: likewise.")] = None,
    catalogs: Annotated[Path | None, Option(help="YAML: tenants and their stores, in place of --store.")] = None,
    insecure: Annotated[bool, Option("--insecure", help="A proxy has TLS and access control.")] = False,
    reranker: Reranker = DEFAULT_RERANKER,
    allowed_models: AllowedModels = (),
    ready_file: ReadyFile = None,
    baselines: Annotated[bool, Rare("--baselines", help="Let requests name the presets to compare with.")] = False,
    on: On = "local",
    page: PageOptions = _NO_PAGE,
    calling: CallOptions = NO_CALL_OPTIONS,
) -> None:
    """Serve snapshots over gRPC until SIGTERM. What a store publishes later is swapped in; SIGHUP does it at once.

    Every setting is a variable of the environment too: docs/serving.md.
    """
    from services.server.process import serve_catalogs
    from services.server.settings import CatalogEntry, ServerSettings, read_catalogs

    settings = ServerSettings.from_env(
        host=host,
        port=port,
        ready_file=ready_file,
        admin_port=admin_port,
        baselines=baselines or None,
        insecure=insecure or None,
        query_model=query_model,
        chooser=chooser,
    )
    single = CatalogEntry(store=store, reranker=reranker, allowed_models=allowed_models)
    if on_ray(on):
        from services.cluster.serve_on_ray import serve_on_ray

        if page.web:
            raise InvalidArgumentError("the page is served by one server", subject="--web", remedy="Leave --on out")
        return serve_on_ray(settings, store=single, catalogs=catalogs)
    served = {"": single} if catalogs is None else read_catalogs(catalogs)
    if calling != NO_CALL_OPTIONS and not (page.web and page.web_domain):
        problem = "there are options for calls, and no page that makes any"
        remedy = "Give --web and --web-domain, or leave them out"
        raise InvalidArgumentError(problem, subject="--web-domain", remedy=remedy)
    if page.web and find_spec("starlette") is None:
        raise MissingExtraError("the page", extra="web")

    @asynccontextmanager
    async def beside(running: OwnServer) -> AsyncIterator[None]:
        from planners.calls.tool_access import CallLimits
        from planners.query.domain import read_domain
        from services.jobs.ask_parts import AskPlan
        from services.jobs.walk import DOMAIN_MODULES, walk_plan
        from services.web.web_page import WebSettings, client_maker, serve_web

        domains = {Path(name).stem: read_domain(name) for name in page.web_domain}
        shipped = [module for domain in domains.values() for module in DOMAIN_MODULES.get(domain.name, ())]
        limits = CallLimits(calls=_MOST_CALLS, seconds=_MOST_S)
        plan = walk_plan(domains, calling.access(shipped), client_maker(running), limits=limits) if domains else None
        ask = AskPlan(graph="")  # by rules where the server has no model
        if model := running.settings.query_model:
            name, url = chat_address(model, "query_model")
            ask = AskPlan(graph="", chat=open_chat(ChatEndpoint(base_url=url, model=name), needed_by="the page"))
        shown = WebSettings(
            host=page.web_host,
            port=page.web_port,
            names=(page.web_name,) * bool(page.web_name),
            plan=plan,
            domains=list(domains),
            ask=ask,
        )
        stores = {tenant: entry.store for tenant, entry in served.items()}
        async with serve_web(running, stores, shown) as address:
            tell(plain(f"The page is at {address}"))
            yield

    serve_catalogs(served, settings, beside if page.web else None)


_PLACE = HttpPlace()


def rest(
    store: Store = DEFAULT_STORE,
    server: Server = "",
    place: HttpPlace = _PLACE,
    server_ca: Annotated[Path | None, Rare(help="Certificates of the service; makes it TLS.")] = None,
    ready_file: ReadyFile = None,
) -> None:
    """Serve the calls of the gRPC service over HTTP and JSON until SIGTERM; its OpenAPI document is at /openapi.json."""
    if find_spec("starlette") is None:
        raise MissingExtraError("egotools rest", extra="rest")
    if server_ca is not None and not server:
        raise InvalidArgumentError("a store is served without TLS", subject="--server-ca", remedy="Leave it out")
    from services.http.http_server import until_signal
    from services.rest.rest_server import RestSettings, serve_rest
    from services.server.calls import configure_logging
    from services.server.settings import ServerSettings

    settings = RestSettings(**asdict(place), server_ca=server_ca, limits=ServerSettings.from_env())

    async def serving() -> None:
        configure_logging(logging.getLevelName(logging.getLogger().level))
        async with server_address(server, store) as target, serve_rest(target, settings) as url:

            def ready() -> None:
                say(plain(f"REST is at {url}, its document at {url}/openapi.json"))
                if ready_file is not None:
                    write_file(ready_file, json.dumps({"url": url, "pid": os.getpid()}) + "\n")

            await until_signal(ready)

    asyncio.run(serving())


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
    from mcp.server.stdio import stdio_server

    from services.http.http_server import until_signal
    from services.mcp.gateway_server import McpGateway, serve_mcp_http
    from services.mcp.mcp_caller import current_token
    from services.server.calls import configure_logging

    access, token = calling.access(), read_token(offered.token_file) or ""  # of the process; over HTTP of each caller
    options: dict[str, Any] = {
        "token": (lambda: current_token(token)) if token or offered.http else None,
        "tenant": offered.tenant,
        "tls": read_tls(offered.ca_file),
        "insecure_token": offered.insecure,
    }

    async def serving() -> None:
        async with tools_client(server, store, allowed_models, **options) as client:
            gateway = McpGateway(client, access)
            if not offered.http:
                async with stdio_server() as (read, write):
                    await gateway.server.run(read, write, gateway.server.create_initialization_options())
                return
            # As the server does: no text of a request stands in a traceback.
            configure_logging(logging.getLevelName(logging.getLogger().level))
            async with serve_mcp_http(gateway, client, offered) as address:
                await until_signal(lambda: tell(plain(f"MCP is at {address}")))

    asyncio.run(serving())
