"""The options of ``egotools serve`` for its page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError, MissingExtraError
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from services.jobs.ask_parts import AskPlan
    from services.server.process import Beside
    from services.server.server import Server
    from services.web.live_runs import Plan

__all__ = ["NO_PAGE", "PageOptions", "ask_plan", "page_beside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Whether and where the page is served."""

    web: Annotated[bool, typer.Option("--web", help="Serve a page too: requests drawn, and the catalogue.")] = False
    web_host: Annotated[
        str, typer.Option(help="Address of the page; beyond loopback only with TLS and access control.")
    ] = "127.0.0.1"
    web_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; 0: any free port.")] = 8080
    web_name: Annotated[str, typer.Option(help="A host name by which browsers call the page, beside loopback.")] = ""
    web_domain: Annotated[
        tuple[str, ...],
        typer.Option(help="A domain in which requests are planned and executed: a shipped one, or a YAML file."),
    ] = ()
    web_graph: Annotated[
        str,
        typer.Option(
            help="Graph that questions on the page are asked of, as of egotools ask --graph. Default: the tool graph of the store."
        ),
    ] = ""
    web_catalog: Annotated[
        Path | None,
        typer.Option(
            help="Accepted catalog of this graph, as of egotools ask --catalog. Default: the shipped one, if any."
        ),
    ] = None
    web_operators: Annotated[
        tuple[Path, ...],
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Folder with further operators for these questions, as of egotools ask --operators. It needs --query-model.",
        ),
    ] = ()


_MOST_CALLS, _MOST_S = 10_000, 300.0  # of a run, as of the command plan
NO_PAGE = PageOptions()
"""No page."""


def page_beside(
    options: PageOptions, stores: Mapping[str, Path], calling: CallOptions = NO_CALL_OPTIONS
) -> Beside | None:
    """Return what serves the page beside a server; None where none is wanted.

    :param stores: tenant → folder of its store.
    :param calling: of the runs of the page.
    :raises InvalidArgumentError: when there are options for calls, and no domain in which the page makes any.
    :raises MissingExtraError: when the extra ``web`` is not installed.
    """
    if calling != NO_CALL_OPTIONS and not (options.web and options.web_domain):
        raise InvalidArgumentError(
            "there are options for calls, and no page that makes any",
            subject="--web-domain",
            remedy="Give --web and --web-domain, or leave them out",
        )
    if not options.web:
        return None
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("the page", extra="web")

    @asynccontextmanager
    async def beside(server: Server) -> AsyncIterator[None]:
        from services.cli.console import stderr
        from services.web.web_page import WebSettings, serve_web

        names = [options.web_name] if options.web_name else []
        plan = _plan(options, server, calling) if options.web_domain else None
        domains = [Path(name).stem for name in options.web_domain]
        settings = WebSettings(
            host=options.web_host,
            port=options.web_port,
            names=names,
            plan=plan,
            domains=domains,
        )
        async with (
            ask_plan(options.web_graph, server.settings.query_model, options.web_operators, options.web_catalog) as ask,
            serve_web(server, stores, replace(settings, ask=ask)) as address,
        ):
            stderr.print(f"The page is at {address}", highlight=False)
            yield

    return beside


@asynccontextmanager
async def ask_plan(
    graph: str, model: str, folders: Sequence[Path] = (), catalog: Path | None = None
) -> AsyncIterator[AskPlan]:
    """Yield how questions are answered: by the model that the server has, else by rules.

    :param model: ``openai:MODEL@BASE_URL``; empty: none.
    :param folders: with further operators, which a model takes and rules do not.
    :param catalog: a file of the user's; the shipped catalog of the graph where None.
    :raises InvalidArgumentError: when an operator is broken, or no model could take it.
    """
    from planners.graphseek.operators.operator import known_operators
    from services.cli.ask_run import with_lookup
    from services.jobs.ask_parts import AskPlan
    from services.jobs.model_factory import open_chat
    from services.server.query_model import query_endpoint

    if not model:
        if folders:
            remedy = "Give --query-model too"
            raise InvalidArgumentError("it needs --query-model", subject="--web-operators", remedy=remedy)
        yield AskPlan(graph=graph, catalog=catalog)
        return
    operators = tuple(known_operators(folders).values())
    name, url = query_endpoint(model)
    chat = open_chat(ChatEndpoint(base_url=url, model=name), needed_by="the page")
    async with with_lookup(AskPlan(graph=graph, catalog=catalog, operators=operators, chat=chat)) as plan:
        yield plan


def _plan(options: PageOptions, server: Server, calling: CallOptions) -> Plan:
    from planners.calls.tool_access import CallLimits
    from planners.query.domain import read_domain
    from services.cli.plan_command import DOMAIN_MODULES
    from services.cli.walk_plan import walk_plan
    from services.web.web_page import client_maker

    domains = {Path(name).stem: read_domain(name) for name in options.web_domain}
    shipped = [module for domain in domains.values() for module in DOMAIN_MODULES.get(domain.name, ())]
    access = calling.access(shipped)
    return walk_plan(domains, access, client_maker(server), limits=CallLimits(calls=_MOST_CALLS, seconds=_MOST_S))
