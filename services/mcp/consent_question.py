"""Asking the user of a client before a call that the policy does not allow by itself."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
import unicodedata
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from egotools import OverloadedError, PermissionDeniedError, Tool, ToolRequestError
from egotools.calling.http_call import base_url
from egotools.calling.mcp_session import NOT_CONFIRMED
from planners.calls.tool_access import ToolAccess
from services.mcp.mcp_caller import McpCaller

# The request of the client that a call is made for
ASKED_IN: ContextVar[tuple[ServerRequestContext[Any, Any], types.CallToolRequestParams]] = ContextVar("asked_in")
QUESTION_S = 300.0  # seconds in which a user may answer; then the question is forgotten
_KEY = "consent"
_HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
_MAX_SHOWN = 20_000
_MAX_PLACE = 300
_MOST_OPEN, _MOST_OPEN_OF_ONE = 1_000, 8
_NO_FIELDS: types.ElicitRequestedSchema = {"type": "object", "properties": {}}
_ALLOWING = "The operator allows such calls by a policy (egotools mcp --policy)."


class InputNeeded(Exception):
    """The client must ask its user and repeat its request: the form of revisions in which a server sends no requests."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("the user must be asked")
        self.result = result


class _Open(NamedTuple):
    """A question that is not answered yet; the digest is of the call that it is about."""

    caller: str
    digest: str
    until_s: float


class ConsentQuestions:
    """Questions to the users of clients. Each answer is for one call, with exactly the arguments that were shown."""

    def __init__(self, access: ToolAccess) -> None:
        self._access = access  # says where a call goes
        self._open: dict[str, _Open] = {}

    async def ask(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Return whether the user allows a call. Raises PermissionDeniedError when the client cannot ask, or the
        arguments are too long, OverloadedError when eight are open, and InputNeeded when the client asks, and sends its
        request again."""
        context, params = ASKED_IN.get()
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        capabilities = context.session.client_capabilities
        elicitation = capabilities.elicitation if capabilities is not None else None
        has_form = elicitation is not None and (elicitation.form is not None or elicitation.url is None)
        if not has_form or not (is_modern or context.session.can_send_request):
            raise _refused(tool, "the call needs the consent of a user, and this client cannot ask one", _ALLOWING)
        shown = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
        head = f"Allow this call? It may change something.\n\nTool: {_short(tool.id)}\nCall: {self._place(tool)}"
        text = f"{head}\nArguments: {shown}"
        if len(text) > _MAX_SHOWN:
            problem = f"the arguments are too long to be shown to a user ({len(shown):,} characters)"
            raise _refused(tool, problem, f"Give shorter ones. {_ALLOWING}")
        # An invisible or reordering character as its escape: what a user sees is what is sent.
        hidden = {each for each in text if unicodedata.category(each) in _HIDDEN and each != "\n"}
        text = text.translate({ord(each): f"\\u{ord(each):04x}" for each in hidden})
        question = types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=_NO_FIELDS))
        exact = json.dumps([tool.id, repr(tool.call), dict(arguments)], sort_keys=True)
        caller, digest = McpCaller.of(context).key, hashlib.sha256(exact.encode()).hexdigest()
        if is_modern:
            state = params.request_state  # unsealed: it is of this server, for this caller, tool name and arguments
            known = self._open.pop(state, None) if state is not None else None
            if known is not None and known.digest == digest and known.until_s > time.monotonic():
                given = (params.input_responses or {}).get(_KEY)
                return isinstance(given, types.ElicitResult) and given.action == "accept"
            for asked, other in list(self._open.items()):
                if (other.caller, other.digest) == (caller, digest):  # the same call once more takes its place
                    del self._open[asked]
            state = self._opened(caller, digest)
            raise InputNeeded(types.InputRequiredResult(input_requests={_KEY: question}, request_state=state))
        state = self._opened(caller, digest)
        try:
            answer = await context.session.send_request(
                question,
                types.ElicitResult,
                request_read_timeout_seconds=QUESTION_S,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            raise _refused(tool, "the user was asked and did not answer", "Ask the user, then call again.") from error
        finally:
            self._open.pop(state, None)
        return answer.action == "accept"

    def _opened(self, caller: str, digest: str) -> str:
        """Keep a question until it is answered or its time is over; return its random name."""
        now = time.monotonic()
        self._open = {state: each for state, each in self._open.items() if each.until_s > now}
        own = sum(each.caller == caller for each in self._open.values())
        if own >= _MOST_OPEN_OF_ONE or len(self._open) >= _MOST_OPEN:
            problem = f"{own} questions to the users of this caller are open already; nobody was asked about this call"
            remedy = f"Answer them, or wait {QUESTION_S:g} s."
            raise OverloadedError(problem, "consent", remedy, reason="TOO_MANY_QUESTIONS")
        state = secrets.token_urlsafe(16)
        self._open[state] = _Open(caller, digest, now + QUESTION_S)
        return state

    def _place(self, tool: Tool) -> str:
        """What is called and where, in a line: of a document's texts, and cut."""
        call = tool.call
        if call.protocol == "python":
            return _short(f"function {call.operation}")
        if call.protocol == "mcp":
            address = self._access.sessions.get(call.session, self._access.sessions.get(""))
            over_http = address is not None and address.session.startswith("mcp+")
            place = f", {_origin(address.session.removeprefix('mcp+'))}" if address is not None and over_http else ""
            return _short(f"tool {call.operation} of the MCP server {call.session or 'without a name'}{place}")
        try:
            place = _origin(base_url(call, self._access.server_of(tool)))
        except ToolRequestError:  # which the call then says
            place = "an address that is not known"
        return f"{_short(f'{call.method} {call.path}')}\nServer: {_short(place)}"


def _origin(url: str) -> str:
    """The scheme, the host and the port of a URL."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _short(text: str) -> str:
    line = text.replace("\n", "\\u000a")
    return line if len(line) <= _MAX_PLACE else f"{line[:_MAX_PLACE]}…"


def _refused(tool: Tool, problem: str, remedy: str) -> PermissionDeniedError:
    return PermissionDeniedError(f"{problem}; nothing was sent", tool.id, remedy, reason=NOT_CONFIRMED)
