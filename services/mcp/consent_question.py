"""Asking the user of a client before a call that the policy does not allow by itself."""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from egotools import PermissionDeniedError, Tool

__all__ = ["ASKED_IN", "ConsentQuestions", "InputNeeded"]

ASKED_IN: ContextVar[tuple[ServerRequestContext[Any, Any], types.CallToolRequestParams]] = ContextVar("asked_in")
"""The request of the client that a call is made for."""
_KEY = "consent"
_MAX_SHOWN = 20_000
_MOST_OPEN = 1_000
_NO_FIELDS: types.ElicitRequestedSchema = {"type": "object", "properties": {}}
_ALLOWING = "The operator allows such calls by a policy (egotools mcp --policy)."


class InputNeeded(Exception):
    """The client must ask its user and repeat its request: the form of revisions in which a server sends no requests."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("the user must be asked")
        self.result = result


class ConsentQuestions:
    """Questions to the users of clients. Each answer is for one call, with exactly the arguments that were shown.

    :param question_s: seconds in which a user may answer.
    """

    def __init__(self, question_s: float) -> None:
        self._question_s = question_s
        self._open: OrderedDict[str, str] = OrderedDict()

    async def ask(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Return whether the user allows a call.

        :raises PermissionDeniedError: when the client cannot ask, or the arguments are too long to be shown.
        :raises InputNeeded: when the client asks, and sends its request again.
        """
        context, params = ASKED_IN.get()
        if not _can_ask(context):
            raise _refused(tool, "the call needs the consent of a user, and this client cannot ask one", _ALLOWING)
        question = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=_text(tool, arguments), requested_schema=_NO_FIELDS)
        )
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._answered(params, question, _digest(tool, arguments))
        try:
            answer = await context.session.send_request(
                question,
                types.ElicitResult,
                request_read_timeout_seconds=self._question_s,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            raise _refused(tool, "the user was asked and did not answer", "Ask the user, then call again.") from error
        return answer.action == "accept"

    def _answered(self, params: types.CallToolRequestParams, question: types.ElicitRequest, digest: str) -> bool:
        state = params.request_state  # unsealed: it is of this server, for this caller, tool name and arguments
        if state is not None and self._open.pop(state, "") == digest:
            answer = (params.input_responses or {}).get(_KEY)
            return isinstance(answer, types.ElicitResult) and answer.action == "accept"
        state = secrets.token_urlsafe(16)
        self._open[state] = digest
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        raise InputNeeded(types.InputRequiredResult(input_requests={_KEY: question}, request_state=state))


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def _text(tool: Tool, arguments: Mapping[str, Any]) -> str:
    call = tool.call
    place = {
        "mcp": f"MCP session {call.session}",
        "python": f"function {call.operation}",
    }.get(call.protocol, f"{call.method} {call.path}")
    shown = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    text = f"Allow this call? It may change something.\n\nTool: {tool.id}\nCall: {place}\nArguments: {shown}"
    if len(text) > _MAX_SHOWN:
        problem = f"the arguments are too long to be shown to a user ({len(shown):,} characters)"
        raise _refused(tool, problem, f"Give shorter ones. {_ALLOWING}")
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    """A character as it is, an invisible or reordering one as its escape: what a user sees is what is sent."""
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") and character != "\n"
    return f"\\u{ord(character):04x}" if hidden else character


def _digest(tool: Tool, arguments: Mapping[str, Any]) -> str:
    shown = json.dumps([tool.id, repr(tool.call), dict(arguments)], sort_keys=True)
    return hashlib.sha256(shown.encode()).hexdigest()


def _refused(tool: Tool, problem: str, remedy: str) -> PermissionDeniedError:
    return PermissionDeniedError(
        problem + "; nothing was sent",
        code="PERMISSION_DENIED",
        reason="NOT_CONFIRMED",
        subject=tool.id,
        remedy=remedy,
    )
