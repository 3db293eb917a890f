"""Routes of recorded runs of ``egotools solve``: the list, a run with its events, the graph after one of them.

A journal holds what the files and tools of a task said, and names nobody whose it is: so where there is access control, only who may
change the catalogue sees them.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ontology.errors import UnsupportedError
from services.web.page_context import context_of
from services.web.page_requests import number
from services.web.recorded_solves import list_solves, read_solve, read_state

__all__ = ["SOLVE_ROUTES"]

_MOST_EVENTS = 10**9


async def _list(request: Request) -> JSONResponse:
    folder = await _folder(request)
    return JSONResponse({"runs": await asyncio.to_thread(list_solves, folder)})


async def _run(request: Request) -> JSONResponse:
    folder = await _folder(request)
    return JSONResponse(await asyncio.to_thread(read_solve, folder, request.path_params["run"]))


async def _state(request: Request) -> JSONResponse:
    folder = await _folder(request)
    n = number(request, "event", 0, _MOST_EVENTS)
    return JSONResponse(await asyncio.to_thread(read_state, folder, request.path_params["run"], n))


async def _folder(request: Request) -> Path:
    """The folder of the journals, for who may see it."""
    context = context_of(request)
    await context.access.admin(request)
    if context.solves is None:
        raise UnsupportedError("this server shows no runs", subject="solves", remedy="Serve the page with --web-runs")
    return context.solves


SOLVE_ROUTES = (
    Route("/api/solves", _list),
    Route("/api/solves/{run}", _run),
    Route("/api/solves/{run}/state", _state),
)
"""For :func:`services.web.page_app.page_app`."""
