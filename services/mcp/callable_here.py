"""Whether a tool can be called through this gateway, as far as is known before a call."""

from __future__ import annotations

from urllib.parse import urlsplit

from egotools import RankedTool, Tool
from planners.calling.tool_access import ToolAccess

__all__ = ["why_not_callable"]


def why_not_callable(tool: RankedTool | Tool, access: ToolAccess) -> str:
    """Return why a call of a tool would be refused, one clause; empty where nothing speaks against it."""
    call = tool.call
    if access.policy.decision(tool) == "deny":
        return "the policy of the operator refuses it"
    if call.protocol in ("http", "odata"):
        given = tool.namespace in access.servers or "" in access.servers
        named = given or any(urlsplit(url).netloc for url in call.servers)
        return "" if named else f"no base URL is given for {tool.namespace or 'this tool'}"
    if call.protocol == "mcp":
        known = call.session in access.sessions or "" in access.sessions
        return "" if known else f"no session is given for {call.session or 'this tool'}"
    if call.protocol == "python":
        module = call.operation.partition(":")[0]
        return "" if module in access.modules else f"the module {module} is not allowed"
    return f"tools of {call.protocol} are not called here" if call.protocol else "its source does not say how"
