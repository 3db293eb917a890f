"""The page of a gRPC server in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from egotools import AsyncClient
from ontology.errors import InvalidArgumentError, NotFoundError
from services.http.http_server import serve_http
from services.jobs.ask_parts import AskPlan, ask_graph, outcome_error
from services.server.access.tls import is_loopback, own_credentials, own_target, web_context
from services.server.server import Server
from services.web.live_runs import Plan, PlanRequest, RunEvent, error_json, observed
from services.web.page_app import PageContext, page_app

_MOST_ROWS = 200  # of a table that are shown


def client_maker(server: Server) -> Callable[[str, str], AsyncClient]:
    """Return what makes a client of a server that has started, from a token and a tenant (both may be empty).

    The certificate of the server is trusted as it is, as its own: the connection does not leave the machine.
    """
    host, _, port = server.address.rpartition(":")
    target = own_target(host, port)
    certificate = server.settings.tls_cert

    def make(token: str, tenant: str) -> AsyncClient:
        plain = certificate is None
        tls, options = (False, []) if certificate is None else own_credentials(certificate)  # it may be replaced
        return AsyncClient(target, tls=tls, options=options, token=token or None, tenant=tenant, insecure_token=plain)

    return make


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Where the page is, and what is behind it; its TLS is that of the server."""

    host: str = "127.0.0.1"  # beyond loopback only with TLS and access control, or where the server is ``insecure``
    port: int = 8080
    names: tuple[str, ...] = ()  # by which the page may be called, beside those of loopback and ``host``
    plan: Plan | None = None  # None: the page only looks for tools
    domains: Sequence[str] = ()  # of the planner, the default first
    ask: AskPlan | None = None  # of questions of a graph, where it names none of the tenant's tools; None: none are


@asynccontextmanager
async def serve_web(
    server: Server, stores: Mapping[str, Path], settings: WebSettings | None = None
) -> AsyncIterator[str]:
    """Serve the page of a server that has started, inside the block; yields the page's address.

    The page calls the server over gRPC with its visitor's token.

    :param stores: tenant → folder of its store, for questions of its tool graph.
    :raises InvalidArgumentError: when the page would be open to a network, or cannot listen.
    """
    settings = settings or WebSettings()
    grpc_settings, access = server.settings, server.access
    certificate, key = grpc_settings.tls_cert, grpc_settings.tls_key
    local = is_loopback(settings.host)
    tls = None if local or certificate is None or key is None else web_context(certificate, key)
    if not local and not grpc_settings.insecure and (tls is None or access.authentication is None):
        problem = "the page would listen beyond loopback without TLS and access control"
        remedy = "Leave the page on loopback behind a proxy; or say --insecure where a proxy has TLS and access control"
        raise InvalidArgumentError(problem, subject=settings.host, remedy=remedy)
    if grpc_settings.require_client_cert:
        problem = "the page cannot call a server that knows its callers by their certificates"
        raise InvalidArgumentError(problem, subject="require_client_cert", remedy="Use tokens, or leave --web out")

    asking = settings.ask

    async def ask(asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
        """Answer a question of a graph: of that of the plan, else of the tool graph of the visitor's tenant."""
        plan = asking or AskPlan(graph="")
        if not plan.graph:
            if asked.tenant not in stores:
                raise NotFoundError("there is no such tenant", subject=asked.tenant, remedy="Name another one")
            plan = replace(plan, graph=f"store:{stores[asked.tenant]}")
        told = await ask_graph(plan, asked.request, lambda event: observe(event.to_json()), rows=_MOST_ROWS)
        failed = outcome_error(told.answered.end, by_command=False)
        error = None if failed is None else error_json(failed)
        observe({"event": "QuestionAnswered", "pages": list(told.pages), "error": error})

    context = PageContext(
        open_client=client_maker(server),
        authentication=access.authentication,
        plan=settings.plan,
        question=None if asking is None else observed(ask),
        domains=settings.domains,
    )
    app = page_app(context, hosts=[settings.host, *settings.names])
    async with serve_http(app, host=settings.host, port=settings.port, tls=tls) as address:
        try:
            yield address
        finally:
            context.stopping.set()
