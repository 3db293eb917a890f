"""Whether a tool can be called through this gateway, as far as is known before a call."""

from __future__ import annotations

from urllib.parse import urlsplit

from egotools import RankedTool, Tool, ToolRequestError
from egotools.calling.address_guard import is_refused_literal
from egotools.calling.call_credentials import bound_credentials, inject_credentials
from egotools.search_tool import slug
from planners.calls.tool_access import ToolAccess

__all__ = ["why_not_callable"]


def why_not_callable(tool: RankedTool | Tool, access: ToolAccess) -> str:
    """Return why a call of a tool would be refused, one clause; empty where nothing speaks against it."""
    call = tool.call
    if access.policy.decision(tool) == "deny":
        return "the policy of the operator refuses it"
    if call.protocol in ("http", "odata"):
        return _why_not_over_http(tool, access)
    if call.protocol == "mcp":
        known = call.session in access.sessions or "" in access.sessions
        return "" if known else f"no session is given for {slug(call.session) or 'this tool'}"
    if call.protocol == "python":
        module = call.operation.partition(":")[0]
        return "" if module in access.modules else f"the module {module} is not allowed"
    return f"tools of {call.protocol} are not called here" if call.protocol else "its source does not say how"


def _why_not_over_http(tool: RankedTool | Tool, access: ToolAccess) -> str:
    server = access.servers.get(tool.namespace, access.servers.get("", ""))
    hosts = [host for url in tool.call.servers if (host := urlsplit(url).hostname)]
    if not server and not hosts:
        return f"no base URL is given for {slug(tool.namespace) or 'this tool'}"
    if not server and is_refused_literal(hosts[0], access.allowed_networks):
        return f"its document leads to {hosts[0]}, which is no public address and not allowed"
    try:
        bound = bound_credentials(tool.call, access.credentials, namespace=tool.namespace, server=server)
        inject_credentials(tool.call.security, bound)
    except ToolRequestError as error:
        return error.message
    return ""
