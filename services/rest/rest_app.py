"""The REST application: its routes, each one call of the gRPC service, and its OpenAPI document."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from google.protobuf import message_factory
from google.protobuf.message import Message
from grpc.aio import AioRpcError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse

from egotools.v1 import egotools_pb2 as pb
from services.rest.contract_comments import comment
from services.rest.message_json import json_bytes, message_json, message_of
from services.rest.message_models import answer_model, query_model, request_model
from services.rest.problem import PROBLEM_MEDIA_TYPE, Problem, problem_response
from services.rest.rest_admission import RestAdmission
from services.rest.tool_service import CallerHeaders, ToolService
from services.server.settings import ServerSettings

__all__ = ["SNAPSHOT_HEADER", "rest_app"]

SNAPSHOT_HEADER = "egotools-snapshot"
"""Header of an answer with the id of the snapshot that it is from."""
_NDJSON = "application/x-ndjson"
_METHODS = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].methods_by_name
_POSTS = {
    "/v1/retrieve": "Retrieve",
    "/v1/retrieve-batch": "RetrieveBatch",
    "/v1/outcomes": "ReportOutcome",
    "/v1/plan": "Plan",
}
_GETS = {"/v1/tools/{id:path}": "GetTool", "/v1/neighbors": "Neighbors", "/v1/catalog": "GetCatalog"}
_STREAM_PATH, _STREAM = "/v1/retrieve-each", "RetrieveEach"
_PROBLEM: dict[int | str, dict[str, Any]] = {"default": {"model": Problem, "description": "What is wrong."}}
_SNAPSHOT = {SNAPSHOT_HEADER: {"schema": {"type": "string"}, "description": "Id of the snapshot."}}
_ETAG = {
    "etag": {
        "schema": {"type": "string"},
        "description": "Changes with the snapshot, and with what the caller may see.",
    }
}


def rest_app(
    service: ToolService,
    limits: ServerSettings,
    *,
    names: Iterable[str] | None = None,
    cors_origins: Sequence[str] = (),
) -> FastAPI:
    """Return the application. It closes the service when it ends.

    :param limits: see :class:`services.rest.rest_admission.RestAdmission`.
    :param names: host names by which it may be called, beside those of loopback; None: any name.
    :param cors_origins: origins whose pages may call it.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(cors_origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", "egotools-tenant", "egotools-timeout-ms", "if-none-match"],
        expose_headers=["etag", "retry-after", SNAPSHOT_HEADER],
    )
    bodies = {path: method == "RetrieveBatch" for path, method in _POSTS.items()} | {_STREAM_PATH: True}
    admission = Middleware(RestAdmission, limits=limits, bodies=bodies, names=names)

    async def unread(request: Request, error: Exception) -> Response:
        bad = isinstance(error, RequestValidationError) or getattr(error, "status_code", 0) == HTTPStatus.BAD_REQUEST
        return problem_response((await service.denial(request) if bad else None) or error)

    handlers: dict[Any, Any] = {
        **dict.fromkeys((AioRpcError, Exception), _failed),
        **dict.fromkeys((RequestValidationError, HTTPException), unread),
        ClientDisconnect: _gone,
    }
    app = FastAPI(
        title="egotools",
        version=version("egotools"),
        description=comment("ToolRetrievalStub"),
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        middleware=[*([cors] if cors_origins else []), admission],
        exception_handlers=handlers,
        separate_input_output_schemas=False,
    )
    for path, method in _POSTS.items():
        _add(app, "POST", path, method, _post(service, method), headers=_SNAPSHOT)
    for path, method in _GETS.items():
        gets = {304: {"description": "What the caller has is still true."}}
        _add(app, "GET", path, method, _get(service, method, path), headers=_SNAPSHOT | _ETAG, more=gets)
    _add(app, "POST", _STREAM_PATH, _STREAM, _each(service), headers=_SNAPSHOT)
    _add_probes(app, service)
    made = app.openapi
    app.openapi = lambda: _document(app, made)  # type: ignore[method-assign]
    return app


def _add(
    app: FastAPI,
    verb: str,
    path: str,
    method: str,
    endpoint: Callable[..., Any],
    *,
    headers: dict[str, Any],
    more: dict[Any, Any] | None = None,
) -> None:
    answer = _METHODS[method].output_type
    described = {"description": comment(answer.name) or "Done.", "headers": headers}
    app.add_api_route(
        path,
        endpoint,
        methods=[verb],
        operation_id=method,
        summary=method,
        description=comment(f"ToolRetrievalStub.{method}"),
        response_model=answer_model(answer),
        responses={200: described, **(more or {}), **_PROBLEM},
    )


def _post(service: ToolService, method: str) -> Callable[..., Any]:
    kind = _input(method)

    async def endpoint(body: Any, request: Request, context: CallerHeaders) -> Response:
        answer = await service.call(method, message_of(kind, body), context, request)
        return _json_response(answer)

    endpoint.__annotations__["body"] = request_model(kind.DESCRIPTOR)
    return endpoint


def _get(service: ToolService, method: str, path: str) -> Callable[..., Any]:
    kind = _input(method)
    in_path = ("id",) if "{id" in path else ()

    async def endpoint(query: Any, request: Request, context: CallerHeaders) -> Response:
        answer = await service.call(method, message_of(kind, query, **request.path_params), context, request)
        response = _json_response(answer)
        tag = f'"{answer.snapshot_id}.{hashlib.sha256(response.body).hexdigest()[:16]}"'
        known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if known & {tag, "*"}:
            response = Response(status_code=304)
        response.headers.update(
            {
                "etag": tag,
                "cache-control": "private, no-cache",
                "vary": "authorization, egotools-tenant",
                SNAPSHOT_HEADER: answer.snapshot_id,
            }
        )
        return response

    async def endpoint_of_id(
        query: Any,
        request: Request,
        context: CallerHeaders,
        id: Annotated[
            str, Path(min_length=1, description="The id of the tool; a slash in it may be written as it is.")
        ],
    ) -> Response:
        return await endpoint(query, request, context)

    found = endpoint_of_id if in_path else endpoint
    found.__annotations__["query"] = Annotated[query_model(kind.DESCRIPTOR, *in_path), Query()]
    return found


def _each(service: ToolService) -> Callable[..., Any]:
    kind = _input(_STREAM)

    async def endpoint(body: Any, request: Request, context: CallerHeaders) -> Response:
        first, lines = await service.stream(_STREAM, message_of(kind, body), context, request)
        return StreamingResponse(lines, media_type=_NDJSON, headers=_post_headers(first))

    endpoint.__annotations__["body"] = request_model(kind.DESCRIPTOR)
    return endpoint


def _input(method: str) -> Any:
    return message_factory.GetMessageClass(_METHODS[method].input_type)


def _json_response(answer: Message) -> Response:
    return Response(json_bytes(message_json(answer)), media_type="application/json", headers=_post_headers(answer))


def _post_headers(answer: Any) -> dict[str, str]:
    """The headers of an answer that is for this request only: not kept, with the snapshot that it is from."""
    if isinstance(answer, pb.RetrieveBatchResponse):
        answer = answer.results[0] if answer.results else answer
    if isinstance(answer, pb.RetrieveResult):
        answer = answer.response
    snapshot = getattr(answer, "snapshot_id", "")
    return {"cache-control": "no-store", **({SNAPSHOT_HEADER: snapshot} if snapshot else {})}


def _add_probes(app: FastAPI, service: ToolService) -> None:
    async def livez() -> Response:
        """Whether this gateway runs."""
        return JSONResponse({"status": "ok"})

    async def readyz() -> Response:
        """Whether the service behind it answers calls."""
        ready = await service.is_ready()
        return JSONResponse({"status": "ok" if ready else "not ready"}, status_code=200 if ready else 503)

    app.add_api_route("/livez", livez, operation_id="Live", summary="Live")
    app.add_api_route(
        "/readyz", readyz, operation_id="Ready", summary="Ready", responses={503: {"description": "Not ready."}}
    )


def _document(app: FastAPI, made: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """FastAPI's document, with the media types of problems and of lines."""
    if app.openapi_schema is None:
        document = made()
        for operations in document["paths"].values():
            for operation in operations.values():
                if "security" in operation:
                    operation["security"].append({})  # a service without access control needs no token
                operation["responses"].pop("422", None)  # a value that is not valid is a problem with the status 400
                content = operation["responses"].get("default", {}).get("content", {})
                if content:
                    content[PROBLEM_MEDIA_TYPE] = content.pop("application/json")
        lines = document["paths"][_STREAM_PATH]["post"]["responses"]["200"]
        lines["description"] = (
            'A line of JSON for each request: a `RetrieveResult`, or `{"problem": …}` as the last one.'
        )
        lines["content"] = {_NDJSON: {"schema": {"type": "string"}}}
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
    return app.openapi_schema or made()


async def _failed(request: Request, error: Exception) -> Response:
    return problem_response(error)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=408)  # nobody reads it
