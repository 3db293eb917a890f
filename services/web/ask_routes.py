"""Routes of questions of a graph: ask one in a conversation, and see parts of its results. A question is a run, followed and cancelled
as one (:mod:`services.web.run_routes`).

The graph has all tools, also those that a caller may not see: so where there is access control, only who may change the catalogue asks.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ontology.errors import InvalidArgumentError, UnsupportedError
from services.web.page_context import context_of
from services.web.page_requests import QuestionAsked, number, read_body
from services.web.page_talks import PageTalks
from services.web.run_events import PlanRequest

__all__ = ["ASK_ROUTES"]

_MOST_ROWS = 500  # of one answer: as many as a chart draws


async def _ask(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, asked = await context.access.admin(request), await read_body(request, QuestionAsked)
    talks = _talks(request)
    if asked.branch is not None and not asked.talk:
        raise InvalidArgumentError("it needs a conversation", subject="branch", remedy="Ask a question first")
    talk = talks.find(asked.talk, visitor.key) if asked.talk else talks.new(visitor.key, visitor.tenant)
    plan = talk.ask(None if asked.branch is None else (asked.branch.turn, asked.branch.step))
    run = context.runs.begin(visitor.key)
    talks.keep(talk)
    run.start(plan, PlanRequest(request=asked.query, token=visitor.token, tenant=visitor.tenant, ask=run.ask))
    return JSONResponse({"talk": talk.id, "run": run.id}, status_code=201)


async def _result(request: Request) -> JSONResponse:
    visitor = await context_of(request).access.admin(request)
    talk = _talks(request).find(request.path_params["talk"], visitor.key)
    offset, count = number(request, "offset", 0, 10**9), number(request, "count", 20, _MOST_ROWS)
    turn, handle = request.path_params["turn"], request.path_params["handle"]
    return JSONResponse(await talk.page(turn, handle, offset, count))


def _talks(request: Request) -> PageTalks:
    talks = context_of(request).talks
    if talks is None:
        raise UnsupportedError("this server answers no questions of a graph", remedy="Look at the tools")
    return talks


ASK_ROUTES = (
    Route("/api/talks", _ask, methods=["POST"]),
    Route("/api/talks/{talk}/{turn:int}/results/{handle}", _result),
)
"""For :func:`services.web.page_app.page_app`."""
