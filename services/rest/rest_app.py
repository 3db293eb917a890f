"""The REST application: its routes, each one call of the gRPC service, and its OpenAPI document."""

from __future__ import annotations

import ast
import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from difflib import get_close_matches
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import FastAPI, Query, Request
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message as ProtoMessage
from grpc.aio import AioRpcError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from egotools.v1 import egotools_pb2, egotools_pb2_grpc
from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError
from retrieval.query.request import is_unicode
from services.http.http_server import is_own_host
from services.rest.problem import PROBLEM_MEDIA_TYPE, Problem, json_bytes, message_json, message_of, problem_response
from services.rest.tool_service import CallerHeaders, ToolService
from services.server.admission import ByteBudget, PeerCalls, address_network, most_bytes
from services.server.error_status import cut
from services.server.settings import ServerSettings

__all__ = ["rest_app"]


@cache
def _comments() -> dict[str, str]:
    """The comments of messages (``RetrieveRequest``), fields (``RetrieveRequest.k``) and methods (``ToolRetrievalStub.Retrieve``)."""
    found: dict[str, str] = {}
    for module in (egotools_pb2, egotools_pb2_grpc):
        stub = Path(str(module.__file__)).with_suffix(".pyi")
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = _one_line(ast.get_docstring(node) or "")
                found |= _members(node)
    return found


def _members(of: ast.ClassDef) -> dict[str, str]:
    """The comment of each field: the text after its annotation, or the docstring of its property."""
    found: dict[str, str] = {}
    for node, after in zip(of.body, [*of.body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.FunctionDef):
            found[f"{of.name}.{node.name}"] = _one_line(ast.get_docstring(node) or "")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(after, ast.Expr):
            text = ast.literal_eval(after.value) if isinstance(after.value, ast.Constant) else ""
            found[f"{of.name}.{node.target.id}"] = _one_line(str(text))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _unicode(text: str) -> str:
    """The text, where it can be sent: JSON can write half of a pair of surrogates, ``\\ud800``, which is no character."""
    if not is_unicode(text):
        context = {"remedy": "Send whole characters: no \\ud800 to \\udfff without the other half."}
        raise PydanticCustomError("not_unicode", "The text is not Unicode", context)
    return text


_Text: TypeAlias = Annotated[str, AfterValidator(_unicode)]
_SCALARS: dict[int, Any] = {
    FieldDescriptor.TYPE_STRING: _Text,
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_DOUBLE: float,
    FieldDescriptor.TYPE_INT32: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)],
    FieldDescriptor.TYPE_INT64: int,
}
_REQUIRED = {
    "RetrieveBatchRequest.requests",
    "GetToolRequest.id",
    "NeighborsRequest.node",
    "ReportOutcomeRequest.request_id",
}
"""What the service refuses a request without. Its other rules are in the comments, and checked by the service alone."""
_MOST_ITEMS = 1_000  # no list or map of a request may have more, and nothing is made of those that have
_MOST_REQUESTS = 64
_LONGEST = 100  # characters of a name that is compared with the known ones


class MessageModel(BaseModel):
    """The base class: what it does not know is refused at the first field, so that many unknown ones cost nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        unknown = (
            next((str(name) for name in given if name not in cls.model_fields), None)
            if isinstance(given, dict)
            else None
        )
        if unknown is not None:
            context = {"field": cut(unknown, 200), "remedy": _instead(unknown, list(cls.model_fields))}
            raise PydanticCustomError("unknown_field", "There is no such field", context)
        for name, value in given.items() if isinstance(given, dict) else ():
            if isinstance(value, dict) and len(value) > _MOST_ITEMS:  # pydantic counts a map when all of it is made
                context = {"field": name, "remedy": f"Send at most {_MOST_ITEMS:,} entries."}
                raise PydanticCustomError("too_many", "The map has too many entries", context)
        return given


def _instead(unknown: str, known: list[str]) -> str:
    """What to write where a field is not known, one sentence: the nearest ones, or all."""
    near = get_close_matches(unknown[:_LONGEST].lower(), known, n=2)
    return f"Did you mean {' or '.join(near)}?" if near else f"The fields are {', '.join(known)}."


class _QueryModel(MessageModel):
    """The same from a query string, where a number is a text."""

    model_config = ConfigDict(extra="forbid", strict=False, protected_namespaces=())


class _AnswerModel(BaseModel):
    model_config = ConfigDict(protected_namespaces=())


@cache
def _model(message: Descriptor, base: type[BaseModel], without: tuple[str, ...] = ()) -> type[BaseModel]:
    # Of answers only the document is used; there the names are aliases, because pydantic has methods with some of them.
    ending = "_" if base is _AnswerModel else ""
    fields: dict[str, Any] = {
        field.name + ending: _field(message, field, base) for field in message.fields if field.name not in without
    }
    return create_model(message.name, __base__=base, __doc__=_comments().get(message.name, ""), **fields)


def _field(message: Descriptor, field: FieldDescriptor, base: type[BaseModel]) -> tuple[Any, Any]:
    name = f"{message.name}.{field.name}"
    described = _comments().get(name, "") or None
    kind = _kind(field, base)
    if base is _AnswerModel:  # a default of its own would stand in the document, and is never sent
        absent: Any = {"default_factory": lambda: None} if field.has_presence else {}
        return kind, Field(alias=field.name, description=described, **absent)
    required = name in _REQUIRED
    if field.is_repeated:
        most = _MOST_REQUESTS if field.name == "requests" else _MOST_ITEMS
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        first: Any = {} if is_map else {"fail_fast": True}  # of a million wrong values one is told
        kind = Annotated[kind, Field(min_length=int(required), max_length=most, **first)]
        default: Any = {} if required else {"default_factory": list}
    elif required:
        kind, default = Annotated[kind, Field(min_length=1)], {}
    elif field.has_presence:
        kind, default = kind | None, {"default": None}
    else:
        default = {"default": field.enum_type.values[0].name if field.enum_type else field.default_value}
    return kind, Field(description=described, **default)


def _kind(field: FieldDescriptor, base: type[BaseModel]) -> Any:
    """The type of a field: of a list ``list[…]``, of a map ``dict[str, …]``."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict[_Text, _one(field.message_type.fields_by_name["value"], base)]  # type: ignore[misc]
    one = _one(field, base)
    return list[one] if field.is_repeated else one  # type: ignore[valid-type]


def _one(field: FieldDescriptor, base: type[BaseModel]) -> Any:
    if field.message_type is not None:
        return _model(field.message_type, base)
    if field.enum_type is not None:
        return Literal[tuple(value.name for value in field.enum_type.values)]
    return _SCALARS[field.type]


_BODY_S = 8.0  # less than the connection waits for a whole request: it would end without an answer


class RestAdmission:
    """Middleware. Each client address has its share of the open calls and of the bytes: to the service, all come from one address.

    :param limits: those of the gRPC service: the bytes of a message and of all, and the open calls. All go to it over one connection,
        from one address, so there are at most as many as it takes of these. One client address may have half of them.
    :param bodies: paths of the routes with a body, and whether it is that of a batch.
    :param names: host names by which the server may be called, beside those of loopback; None: any name.
    """

    def __init__(
        self, app: ASGIApp, limits: ServerSettings, bodies: Mapping[str, bool], names: Iterable[str] | None = None
    ) -> None:
        self._app = app
        self._most = {path: most_bytes(limits, batch=batch) for path, batch in bodies.items()}
        self._names = None if names is None else frozenset(name.lower() for name in names)
        together = min(limits.max_streams, limits.max_peer_calls, limits.max_calls)
        self._calls = PeerCalls(each=max(1, together // 2), together=together)
        self._bytes = ByteBudget(limits.max_inflight_bytes, message=limits.max_message_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-content-type-options"] = "nosniff"
            await send(message)

        try:
            self._check(scope)
            await self._admit(scope, receive, send_safely)
        except (EgotoolsError, HTTPException) as error:  # of the checks: the application answers its own
            await problem_response(error)(scope, receive, send_safely)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self._names is not None and not is_own_host(headers.get("host", ""), self._names):
            raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.")
        most = self._most_bytes(scope)
        if most:
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not sent as application/json.")
            length = headers.get("content-length", "")
            if length.isascii() and length.isdecimal() and int(length) > most:
                raise _too_large(most)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        peer = address_network((scope.get("client") or ("",))[0])
        self._calls.begin(peer)
        try:
            most = self._most_bytes(scope)
            if not most:
                await self._app(scope, receive, send)
                return
            held = await self._bytes.reserve(peer)
            try:
                body = await _read(receive, most)
                if body is not None:
                    held.resize(len(body))
                    await self._app(scope, _again(body, receive), send)
            finally:
                held.release()
        finally:
            self._calls.end(peer)

    def _most_bytes(self, scope: Scope) -> int:
        """Of the body that a route takes; 0 where none does."""
        return self._most.get(scope["path"], 0) if scope["method"] == "POST" else 0


def _too_large(most: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body has more than the {most:,} bytes that are taken."
    )


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body; None when its sender is gone."""
    body = bytearray()
    message: dict[str, Any] = {"more_body": True}
    try:
        async with asyncio.timeout(_BODY_S):
            while message.get("more_body"):
                message = dict(await receive())
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise HTTPException(
            HTTPStatus.REQUEST_TIMEOUT, f"The body did not come within {_BODY_S:g} seconds.", {"connection": "close"}
        ) from None
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, then what comes after it."""
    first: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again


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
) -> FastAPI:
    """Return the application. It closes the service when it ends.

    :param limits: see :class:`services.rest.rest_app.RestAdmission`.
    :param names: host names by which it may be called, beside those of loopback; None: any name.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    bodies = {path: method == "RetrieveBatch" for path, method in _POSTS.items()} | {_STREAM_PATH: True}
    admission = Middleware(RestAdmission, limits=limits, bodies=bodies, names=names)

    handlers: dict[Any, Any] = {
        **dict.fromkeys((AioRpcError, RequestValidationError, HTTPException, Exception), _failed),
        ClientDisconnect: _gone,
    }
    app = FastAPI(
        title="egotools",
        version=version("egotools"),
        description=_comments().get("ToolRetrievalStub", ""),
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        middleware=[admission],
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
    described = {"description": _comments().get(answer.name, "") or "Done.", "headers": headers}
    app.add_api_route(
        path,
        endpoint,
        methods=[verb],
        operation_id=method,
        summary=method,
        description=_comments().get(f"ToolRetrievalStub.{method}", ""),
        response_model=_model(answer, _AnswerModel),
        responses={200: described, **(more or {}), **_PROBLEM},
    )


def _post(service: ToolService, method: str) -> Callable[..., Any]:
    kind = _input(method)

    async def endpoint(body: Any, request: Request, context: CallerHeaders) -> Response:
        answer = await service.call(method, message_of(kind, body), context, request)
        return _json_response(answer)

    endpoint.__annotations__["body"] = _model(kind.DESCRIPTOR, MessageModel)
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
            str, PathParameter(min_length=1, description="The id of the tool; a slash in it may be written as it is.")
        ],
    ) -> Response:
        return await endpoint(query, request, context)

    found = endpoint_of_id if in_path else endpoint
    found.__annotations__["query"] = Annotated[_model(kind.DESCRIPTOR, _QueryModel, in_path), Query()]
    return found


def _each(service: ToolService) -> Callable[..., Any]:
    kind = _input(_STREAM)

    async def endpoint(body: Any, request: Request, context: CallerHeaders) -> Response:
        first, lines = await service.stream(_STREAM, message_of(kind, body), context, request)
        return StreamingResponse(lines, media_type=_NDJSON, headers=_post_headers(first))

    endpoint.__annotations__["body"] = _model(kind.DESCRIPTOR, MessageModel)
    return endpoint


def _input(method: str) -> Any:
    return message_factory.GetMessageClass(_METHODS[method].input_type)


def _json_response(answer: ProtoMessage) -> Response:
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
