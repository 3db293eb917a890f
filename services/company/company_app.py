"""The company over HTTP: a route for each operation, below the name of its system."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from services.company.api_documents import Operation
from services.company.mock_company import CompanyAnswer, MockCompany

__all__ = ["MAX_BODY", "company_app"]

MAX_BODY = 1 << 20
"""The most bytes of a request's body."""

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MOST_READ = 16 * MAX_BODY
_CODES = {404: "NOT_FOUND", 405: "NOT_ALLOWED", 413: "TOO_LARGE", 415: "NOT_JSON"}


def company_app(company: MockCompany) -> Starlette:
    """Return the application: ``/procurement/suppliers`` is the path ``/suppliers`` of ``procurement.yaml``."""
    routes = [
        Route(f"/{each.system}{each.path}", _endpoint(company, each), methods=[each.method])
        for each in sorted(company.operations, key=lambda each: each.path.count("{"))
    ]
    return Starlette(
        routes=[*_merged(routes), Route("/", _systems(company))], exception_handlers={HTTPException: _refused}
    )


def _merged(routes: list[Route]) -> list[Route]:
    """One route a path, so that a method that the path does not have is 405."""
    paths: dict[str, dict[str, Route]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[next(iter(route.methods - {"HEAD"} if route.methods else ()))] = route

    def by_method(found: dict[str, Route]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            return await found[method].endpoint(request)  # type: ignore[no-any-return]

        return answer

    return [Route(path, by_method(found), methods=[*found]) for path, found in paths.items()]


def _endpoint(company: MockCompany, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        if _has_another_name(request):
            raise HTTPException(421, "this server has another name")
        body = await _read(request)
        if body and operation.body is not None and not _is_json(request):
            raise HTTPException(415, "the body must be application/json")
        query = parse_qs(request.url.query, keep_blank_values=True)
        answer = await asyncio.to_thread(company.answer, operation, request.path_params, query, body)
        return _response(answer)

    return endpoint


def _has_another_name(request: Request) -> bool:
    """Whether a server on loopback is called by the name of another host, which a web site can make point here (DNS rebinding)."""
    server = request.scope.get("server") or ("", 0)
    return server[0] in _LOOPBACK and request.url.hostname not in _LOOPBACK


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


async def _read(request: Request) -> bytes:
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= MAX_BODY:
                body += chunk
            elif size > _MOST_READ:  # what is less too large is read to its end: else the caller may not see the answer
                break
    except ClientDisconnect:
        raise HTTPException(400, "the body is not complete") from None
    if size > MAX_BODY:
        raise HTTPException(413, f"the body has more than {MAX_BODY:,} bytes")
    return bytes(body)


def _response(answer: CompanyAnswer) -> Response:
    if answer.body is None:
        return Response(status_code=answer.status)
    text = json.dumps(answer.body, ensure_ascii=False, separators=(",", ":"))
    return Response(text.encode("utf-8"), status_code=answer.status, media_type="application/json")


def _systems(company: MockCompany) -> Callable[[Request], Awaitable[Response]]:
    systems: dict[str, int] = {}
    for operation in company.operations:
        systems[operation.system] = systems.get(operation.system, 0) + 1

    async def endpoint(request: Request) -> Response:
        return _response(CompanyAnswer(200, {"systems": systems}))

    return endpoint


async def _refused(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    answer = _response(CompanyAnswer(status, {"code": _CODES.get(status, "INVALID"), "message": str(detail)}))
    answer.headers.update((isinstance(error, HTTPException) and error.headers) or {})
    if status == 413:
        answer.headers["connection"] = "close"
    return answer
