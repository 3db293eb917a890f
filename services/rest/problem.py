"""Errors as problem details (RFC 9457, ``application/problem+json``)."""

from __future__ import annotations

import json
import logging
import math
import uuid
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from grpc.aio import AioRpcError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from egotools.client_errors import ClientError, UnavailableError
from egotools.codec import error_from_rpc
from ontology.errors import EgotoolsError, OverloadedError
from services.http.http_server import http_status
from services.server.error_status import error_message
from services.server.logs import fields

__all__ = [
    "PROBLEM_MEDIA_TYPE",
    "Problem",
    "json_bytes",
    "message_json",
    "message_of",
    "problem_json",
    "problem_of",
    "problem_response",
]

_M = TypeVar("_M", bound=Message)


def message_of(kind: type[_M], body: BaseModel, **more: Any) -> _M:
    """Return the message of a checked body.

    :param more: fields that are not part of the body.
    """
    return ParseDict(body.model_dump(exclude_unset=True, exclude_none=True) | more, kind())


def json_bytes(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def message_json(message: Message) -> dict[str, Any]:
    """Return a message as an object. A field is left out only when it has a presence of its own and no value."""
    return {
        name: write(getattr(message, name))
        for name, has_presence, write in _writers(message.DESCRIPTOR)
        if not has_presence or message.HasField(name)
    }


@cache
def _writers(message: Descriptor) -> tuple[tuple[str, bool, Callable[[Any], Any]], ...]:
    return tuple((field.name, field.has_presence, _writer(field)) for field in message.fields)


def _writer(field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        one = _one(field.message_type.fields_by_name["value"])
        return lambda values: {key: one(values[key]) for key in sorted(values)}
    one = _one(field)
    return (lambda values: [one(each) for each in values]) if field.is_repeated else one


def _one(field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.message_type is not None:
        return message_json
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, number)
    return lambda value: value


PROBLEM_MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("egotools.rest")
_PUSHBACK_KEY = "grpc-retry-pushback-ms"
_RETRY_S = 1


class Problem(BaseModel):
    """What is wrong and what to do."""

    model_config = ConfigDict(json_schema_extra={"required": ["type", "title", "status", "detail", "reason"]})

    type: str = Field(default="about:blank", description="`about:blank`: the status and `reason` say what it is.")
    title: str = Field(description="The phrase of the status.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong, one sentence.")
    reason: str = Field(description="The kind of error, as `Error.reason` of the contract.")
    subject: str = Field(
        default="", description="The subject: the name of a field, a tool id, a header; absent without one."
    )
    remedy: str = Field(default="", description="What to do about it, one sentence; absent without one.")
    instance: str = Field(
        default="", description="For a bug: `/incidents/ID`, the id in the server's log; else absent."
    )


def problem_of(error: Exception) -> tuple[Problem, dict[str, str]]:
    """Return the problem of an error, and headers that go with it."""
    if isinstance(error, AioRpcError):
        return _of_client_error(error_from_rpc(error), _pushback_ms(error))
    if isinstance(error, EgotoolsError):
        sent = error_message(error)
        wait_ms = error.retry_after_s * 1e3 if isinstance(error, OverloadedError) else None
        problem = _problem(
            http_status(error.grpc_code, sent.reason), sent.message, sent.reason, sent.subject, sent.remedy
        )
        return problem, _retry_after(problem.status, wait_ms)
    if isinstance(error, RequestValidationError):
        return _of_validation(error), {}
    if isinstance(error, HTTPException):
        if isinstance(error.__cause__, RecursionError | ValueError):  # why FastAPI could not read a body
            return _of_unread_body(error.__cause__), {}
        status = HTTPStatus(error.status_code)
        detail = error.detail if error.detail != status.phrase else f"{status.phrase}."
        return _problem(status, detail, status.name), dict(error.headers or {})
    incident = uuid.uuid4().hex[:12]
    _LOG.error("incident", exc_info=error, extra=fields(incident_id=incident))
    return _of_bug(f"The gateway failed; it logged this as incident {incident}.", incident), {}


def problem_response(error: Exception) -> Response:
    """Return the answer that says what is wrong."""
    problem, headers = problem_of(error)
    return Response(
        json_bytes(problem_json(problem)),
        status_code=problem.status,
        headers={**headers, "cache-control": "no-store"},
        media_type=PROBLEM_MEDIA_TYPE,
    )


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as an object, without what it does not say."""
    return {name: value for name, value in problem.model_dump().items() if value != ""}


def _problem(status: int, detail: str, reason: str, subject: str = "", remedy: str = "") -> Problem:
    return Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, reason=reason, subject=subject, remedy=remedy
    )


def _of_client_error(error: ClientError, pushback_ms: float | None) -> tuple[Problem, dict[str, str]]:
    if error.incident_id:
        return _of_bug(error.message, error.incident_id), {}
    detail, reason, remedy = error.message, error.reason or error.code, error.remedy
    if isinstance(error, UnavailableError) and not error.reason:  # the transport's own words are for its operator
        _LOG.warning("the tool service does not answer", extra=fields(details=error.message))
        detail, remedy = "The tool service does not answer.", "Try again."
    problem = _problem(http_status(error.code, reason), detail, reason, error.subject, remedy)
    return problem, _retry_after(problem.status, pushback_ms)


def _of_bug(detail: str, incident: str) -> Problem:
    problem = _problem(500, detail, "INTERNAL", remedy="Report the incident id to the operator of the server.")
    return problem.model_copy(update={"instance": f"/incidents/{incident}"})


def _of_unread_body(cause: RecursionError | ValueError) -> Problem:
    if isinstance(cause, RecursionError):
        detail, remedy = "The body is nested too deep.", "Send the fields of the message only: none has so many levels."
    elif isinstance(cause, UnicodeError):
        detail, remedy = "The body is not Unicode.", "Send JSON in UTF-8."
    else:  # the one other limit of the reader
        detail, remedy = "The body has a number with too many digits.", "Send numbers of at most 64 bits."
    return _problem(400, detail, "INVALID_ARGUMENT", "body", remedy)


def _of_validation(error: RequestValidationError) -> Problem:
    first: Mapping[str, Any] = error.errors()[0]
    part, *path = first["loc"]
    if first["type"] == "json_invalid":
        return _problem(400, "The body is not JSON.", "INVALID_ARGUMENT", "body", "Send one JSON object.")
    if first["type"] in ("unknown_field", "too_many"):
        path.append(first["ctx"]["field"])
    subject = ".".join(str(each) for each in path if each != "[key]")[:500] or str(part)
    detail = f"{subject}: this field is required" if first["type"] == "missing" else first["msg"].rstrip(".")
    return _problem(400, f"{detail}.", "INVALID_ARGUMENT", subject, first.get("ctx", {}).get("remedy", ""))


def _retry_after(status: int, wait_ms: float | None) -> dict[str, str]:
    if status not in (429, 503):
        return {}
    return {"retry-after": str(_RETRY_S if wait_ms is None else max(_RETRY_S, math.ceil(wait_ms / 1e3)))}


def _pushback_ms(error: AioRpcError) -> float | None:
    text = str(dict(error.trailing_metadata() or ()).get(_PUSHBACK_KEY, ""))
    return float(text) if text.isascii() and text.isdecimal() else None
