"""Routes that ask the gRPC service: tools for a request, a tool, the graph around a node, the catalogue."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from services.web.page_context import context_of
from services.web.page_requests import ToolsAsked, number, read_body

__all__ = ["RETRIEVAL_ROUTES"]

_MOST_NEIGHBOURS = 300


async def _retrieve(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, asked = await context.access.reader(request), await read_body(request, ToolsAsked)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        return JSONResponse(asdict(await client.retrieve(asked.query, needs=asked.needs, k=asked.k, explain=True)))


async def _tool(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor = await context.access.reader(request)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        return JSONResponse(asdict(await client.get_tool(request.query_params.get("id", ""))))


async def _neighbors(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, limit = await context.access.reader(request), number(request, "limit", 100, _MOST_NEIGHBOURS)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        found = await client.neighbors(request.query_params.get("node", ""), limit=max(1, limit))
        return JSONResponse({**asdict(found), "truncated": found.truncated})


async def _catalog(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor = await context.access.reader(request)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        page = await client.catalog(page_size=100, page_token=request.query_params.get("page", ""))
        return JSONResponse(asdict(page))


RETRIEVAL_ROUTES = (
    Route("/api/retrieve", _retrieve, methods=["POST"]),
    Route("/api/tool", _tool),
    Route("/api/neighbors", _neighbors),
    Route("/api/catalog", _catalog),
)
