"""The REST gateway: each route is one call of the gRPC service, with the token, the tenant and the deadline of its caller."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, Parse, ParseDict, ParseError
from google.protobuf.message import Message
from grpc.aio import AioRpcError
from grpc_health.v1 import health_pb2, health_pb2_grpc
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from egotools.channel import CallMetadata, channel_options
from egotools.client_errors import InvalidRequestError
from egotools.codec import error_from_rpc
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import EgotoolsError, InvalidArgumentError, OverloadedError
from services.http.http_server import http_status, is_own_host, serve_http
from services.jobs.plans import HttpPlace
from services.server.access.tls import client_credentials, is_loopback, web_tls
from services.server.admission import BATCH_METHODS, MOST_SINGLE_BYTES, ByteBudget, PeerCalls
from services.server.calls import address_network, error_message, fields, report_incident
from services.server.messages import MAX_FIELDS
from services.server.settings import ServerSettings

DOCUMENT = Path(__file__).with_name("openapi.json")  # written by scripts/rest_document.py
POSTS = {
    "/v1/retrieve": "Retrieve",
    "/v1/retrieve-batch": "RetrieveBatch",
    "/v1/outcomes": "ReportOutcome",
    "/v1/plan": "Plan",
}
GETS = {"/v1/tools/{id}": "GetTool", "/v1/neighbors": "Neighbors", "/v1/catalog": "GetCatalog"}
PROBLEM_TYPE = "application/problem+json"
_PROBE_S = 2.0
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings(HttpPlace):
    """Where the gateway is, and how it calls the service. On loopback it is called by the names of loopback and its own only."""

    server_ca: Path | None = None  # certificates that the service's must come from; None for plain text
    limits: ServerSettings = field(default_factory=ServerSettings)  # the service's, for the gateway's bytes and calls


@asynccontextmanager
async def serve_rest(target: str, settings: RestSettings) -> AsyncIterator[str]:
    """Serve REST over the gRPC service at ``target`` inside the block; yields the address, ``http://127.0.0.1:8080``.
    Raises InvalidArgumentError when tokens would cross a network in plain text, an option is not valid, or the address
    is in use."""
    try:
        CallMetadata(target, token="-", tenant="", is_private=settings.server_ca is not None or settings.insecure)
    except InvalidRequestError:
        problem = "tokens would go to the service in plain text"
        remedy = "Give --server-ca; or --insecure where the network is private"
        raise InvalidArgumentError(problem, subject=target, remedy=remedy) from None
    tls = web_tls(settings.host, settings.tls_cert, settings.tls_key, insecure=settings.insecure)
    names = [settings.host, *settings.names] if is_loopback(settings.host) else None
    options: Any = channel_options(settings.limits.max_message_bytes)
    if settings.server_ca is None:
        channel = grpc.aio.insecure_channel(target, options=options)
    else:
        channel = grpc.aio.secure_channel(target, client_credentials(settings.server_ca), options=options)
    health: Any = health_pb2_grpc.HealthStub(channel)

    async def is_ready() -> bool:
        try:
            found = await health.Check(health_pb2.HealthCheckRequest(service=_SERVICE), timeout=_PROBE_S)
        except grpc.aio.AioRpcError:
            return False
        return bool(found.status == health_pb2.HealthCheckResponse.SERVING)

    app = rest_app(pb_grpc.ToolRetrievalStub(channel), settings.limits, ready=is_ready, names=names)
    async with channel, serve_http(app, host=settings.host, port=settings.port, tls=tls) as address:
        yield address


_LOG = logging.getLogger("egotools.rest")
_METHODS = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].methods_by_name
_BODY_S = 8.0  # less than the connection waits for a whole request: it would end without an answer
_LARGE_BYTES = 4 * 1024  # to read more takes so long that the caller is asked for first: 64 KiB of "{}," took 0.3 s
_MOST_MS, _DEFAULT_MS = 60_000, 10_000
_VISIBLE = re.compile(r"[\x21-\x7e]{0,200}")
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
_FIELD = re.compile(r"Failed to parse (\w+) field: ")
_PLACE = re.compile(r" at \w+\.([\w.\[\]]+?)\.?$")
_FORMS = {
    FieldDescriptor.CPPTYPE_STRING: "a text",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_MESSAGE: "an object",
}
_UNKNOWN = re.compile(r'no field named "(.{0,200}?)" at')
_PUSHBACK_KEY = "grpc-retry-pushback-ms"


def rest_app(
    stub: Any,
    limits: ServerSettings,
    *,
    ready: Callable[[], Awaitable[bool]],
    names: Iterable[str] | None = None,
    body_s: float = _BODY_S,
) -> ASGIApp:
    """Return the application. All calls go to the gRPC service from one address, so there are at most as many as it
    takes of one, and one client address may have half of them. ``limits`` are those of the gRPC service: the bytes of a
    message and of all, and the open calls; ``ready`` says whether it answers calls. ``names`` are host names by which
    the application may be called, beside those of loopback (None: any name); a body has ``body_s`` seconds to come."""
    together = min(limits.max_streams, limits.max_peer_calls, limits.max_calls)
    open_calls = PeerCalls(each=max(1, together // 2), together=together)
    held_bytes = ByteBudget(limits.max_inflight_bytes, message=limits.max_message_bytes)
    own_names = None if names is None else frozenset(name.lower() for name in names)

    class Bounded:
        """The route of a method as an application: within the share of its address until its answer is sent."""

        def __init__(self, method: str, most: int) -> None:
            self._method, self._most = method, most

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            peer, request, body = address_network((scope.get("client") or ("",))[0]), Request(scope, receive), b""
            with contextlib.ExitStack() as stack:
                stack.callback(open_calls.begin(peer))
                if self._most:
                    held = await held_bytes.reserve(peer)
                    stack.callback(held.resize, 0)
                    body = await _read(request, self._most, body_s)
                    held.resize(len(body))
                message: Message = message_factory.GetMessageClass(_METHODS[self._method].input_type)()
                try:
                    if not self._most:
                        ParseDict(_parameters(request, self._method), message)
                    elif len(body) <= _LARGE_BYTES:
                        _parsed(body, message)
                    else:  # to read it takes a second: its caller makes a call before that costs nothing
                        await _waited_for(stub.GetCatalog, pb.GetCatalogRequest(page_size=0), request)
                        await asyncio.to_thread(_parsed, body, message)
                except (ParseError, ValueError, RecursionError) as error:  # ValueError: of UTF-8
                    raise _unread(str(error), message.DESCRIPTOR) from None
                answer = await _waited_for(getattr(stub, self._method), message, request)
                response = Response(_json(answer), media_type="application/json", headers=_snapshot(answer))
                await response(scope, receive, send)

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readiness(request: Request) -> Response:
        is_ready = await ready()
        return JSONResponse({"status": "ok" if is_ready else "not ready"}, status_code=200 if is_ready else 503)

    described = DOCUMENT.read_bytes()

    async def document(request: Request) -> Response:
        return Response(described, media_type="application/json")

    routes = [Route("/livez", live), Route("/readyz", readiness), Route("/openapi.json", document)]
    for path, method in POSTS.items():
        most = limits.max_message_bytes if method in BATCH_METHODS else min(MOST_SINGLE_BYTES, limits.max_message_bytes)
        routes.append(Route(path, Bounded(method, most), methods=["POST"]))
    for path, method in GETS.items():
        path = path.replace("{id}", "{id:path}")
        routes.append(Route(path, Bounded(method, 0), methods=["GET"]))

    async def failed(request: Request, error: Exception) -> Response:
        return Response(status_code=408) if isinstance(error, ClientDisconnect) else _response(error)  # nobody reads it

    app = Starlette(routes=routes, exception_handlers=dict.fromkeys(_FAILURES, failed))
    app.router.redirect_slashes = False

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1")
        if scope["type"] == "http" and own_names is not None and not is_own_host(host, own_names):
            refused = HTTPException(HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.")
            await _response(refused)(scope, receive, send_safely)
            return
        await app(scope, receive, send_safely)

    return guarded


async def _read(request: Request, most: int, seconds: float) -> bytes:
    """The whole body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not sent as application/json.")
    problem = f"The body has more than the {most:,} bytes that are taken."
    large = HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, problem)
    length, body = request.headers.get("content-length", ""), bytearray()
    if length.isascii() and length.isdecimal() and int(length) > most:
        raise large
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise large
    except TimeoutError:
        problem = f"The body did not come within {seconds:g} seconds."
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, problem, {"connection": "close"}) from None
    return bytes(body)


def _parsed(body: bytes, message: Message) -> Message:
    """Read a body into a message. Three bytes may become 200: of objects it has as many as the service takes fields, at most."""
    seen = itertools.count(1)

    def counted(each: object) -> None:
        if next(seen) > MAX_FIELDS:
            remedy = "Send fewer in one call, or split it into several"
            raise InvalidArgumentError(f"there are more than {MAX_FIELDS:,} values", subject="body", remedy=remedy)

    with contextlib.suppress(ValueError, RecursionError):  # what is no JSON is told below
        json.loads(body, object_hook=counted)
    return Parse(body, message)


def _parameters(request: Request, method: str) -> dict[str, Any]:
    """The fields of a message that a path and a query name."""
    known = _METHODS[method].input_type.fields_by_name
    found: dict[str, Any] = dict(request.path_params)
    for name in request.query_params:
        if name not in known or name in request.path_params:
            remedy = f"The fields are {', '.join(known)}"
            raise InvalidArgumentError("there is no such field", subject=name, remedy=remedy)
        values = request.query_params.getlist(name)
        found[name] = values if known[name].is_repeated else values[-1]
    return found


def _unread(problem: str, message: Any) -> InvalidArgumentError:
    """The error of a body that is no such message, from the words of protobuf's reader."""
    path, known = ".".join(_FIELD.findall(problem)), problem.partition("Available Fields")[2].partition("[")[2]
    if not path and (place := _PLACE.search(problem)) is not None:
        path = place[1]
    unknown, subject, remedy = _UNKNOWN.search(problem), "body", "Send one JSON object"
    told = f"the body is no message: {problem[:200].rstrip('.')}"
    if unknown is not None:
        names = _HUMP.sub(r"_\1", known.partition("]")[0]).lower()  # as the contract writes them
        told, subject = "there is no such field", ".".join(filter(None, (path, unknown[1])))
        remedy = f"The fields are {names}" if known else ""
    elif path:
        half = "surrogate" in problem  # JSON can write one, UTF-8 cannot
        told = "it holds half of a character" if half else f"it must be {_form(path, message)}"
        subject, remedy = path, "See /openapi.json"
    elif "recursion" in problem:
        told, remedy = "the body is nested too deep", "Send the fields of the message only"
    return InvalidArgumentError(told, subject=subject, remedy=remedy)


def _form(path: str, message: Any) -> str:
    """What the JSON of a field is; ``path`` names it from the message on."""
    form = ""
    for name in re.sub(r"\[.*?\]", "", path).split("."):
        known = {} if message is None else {**message.fields_by_camelcase_name, **message.fields_by_name}
        if name not in known:
            return "of another kind"
        field, message = known[name], known[name].message_type
        form = _FORMS.get(field.cpp_type, "a whole number of 32 bits")
        if field.enum_type is not None:
            form = f"one of {', '.join(field.enum_type.values_by_name)}"
        if message is not None and message.GetOptions().map_entry:
            form = "an object"
        elif field.is_repeated:
            form = f"a list, each {form}"
    return form


async def _waited_for(method: Any, message: Message, request: Request) -> Any:
    """Return the answer to a call; cancel it when the client of the HTTP request goes away."""
    headers, metadata = request.headers, []
    token = headers.get("authorization", "")
    if token:  # what is no metadata of gRPC is no token of anybody either
        metadata.append(("authorization", token if token.isascii() and token.isprintable() else "Bearer -"))
    tenant, timeout = headers.get("egotools-tenant", ""), headers.get("egotools-timeout-ms", str(_DEFAULT_MS))
    if not _VISIBLE.fullmatch(tenant):
        raise InvalidArgumentError("it has at most 200 visible characters of ASCII", subject="egotools-tenant")
    if not (timeout.isascii() and timeout.isdecimal() and len(timeout) < 10 and 1 <= int(timeout) <= _MOST_MS):
        raise InvalidArgumentError(f"it is a number from 1 to {_MOST_MS:,}", subject="egotools-timeout-ms")
    metadata += [("egotools-tenant", tenant)] if tenant else []
    call = method(message, metadata=tuple(metadata), timeout=int(timeout) / 1e3)

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    waiting, leaving = asyncio.ensure_future(call), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientDisconnect
        return waiting.result()
    finally:
        leaving.cancel()
        if not waiting.done():
            call.cancel()


def _snapshot(answer: Any) -> dict[str, str]:
    """The header with the snapshot that an answer is from; and that it is for this request only."""
    if isinstance(answer, pb.RetrieveBatchResponse):
        answer = answer.results[0].response if answer.results else answer
    snapshot = getattr(answer, "snapshot_id", "")
    return {"cache-control": "no-store", **({"egotools-snapshot": snapshot} if snapshot else {})}


def _json(message: Message) -> bytes:
    """A message as proto3 JSON, with the fields' own names, and those without presence always there."""
    found = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


_FAILURES: tuple[Any, ...] = (AioRpcError, EgotoolsError, HTTPException, ClientDisconnect, Exception)


def _response(error: Exception) -> Response:
    """The problem details (RFC 9457) of an error."""
    headers: dict[str, str] = {}
    wait_ms: float = 0.0
    if isinstance(error, AioRpcError):
        found = error_from_rpc(error)
        reason = found.reason or found.code
        status = http_status(found.code, reason)
        said = {"detail": found.message, "reason": reason, "subject": found.subject, "remedy": found.remedy}
        if found.incident_id:
            said |= {"reason": "INTERNAL", "instance": f"/incidents/{found.incident_id}"}
        elif found.code == "UNAVAILABLE" and not found.reason:  # the transport's own words are for its operator
            _LOG.warning("the tool service does not answer", extra=fields(details=found.message))
            said |= {"detail": "The tool service does not answer.", "remedy": "Try again."}
        pushback = str(dict(error.trailing_metadata() or ()).get(_PUSHBACK_KEY, ""))
        wait_ms = float(pushback) if pushback.isascii() and pushback.isdecimal() else 0.0
    elif isinstance(error, HTTPException):
        status, headers = error.status_code, dict(error.headers or {})
        phrase = HTTPStatus(status).phrase
        said = {"detail": f"{phrase}." if error.detail == phrase else error.detail, "reason": HTTPStatus(status).name}
    else:
        sent = error_message(error) if isinstance(error, EgotoolsError) else report_incident("REST")
        status = http_status(getattr(error, "grpc_code", "INTERNAL"), sent.reason)
        said = {"detail": sent.message, "reason": sent.reason, "subject": sent.subject, "remedy": sent.remedy}
        said |= {"instance": f"/incidents/{sent.incident_id}" if sent.incident_id else ""}
        wait_ms = error.retry_after_s * 1e3 if isinstance(error, OverloadedError) else 0.0
    if status in (429, 503):
        headers["retry-after"] = str(max(1, math.ceil(wait_ms / 1e3)))
    problem = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **said}
    told = {name: value for name, value in problem.items() if value != ""}
    headers["cache-control"] = "no-store"
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status_code=status, headers=headers, media_type=PROBLEM_TYPE)
