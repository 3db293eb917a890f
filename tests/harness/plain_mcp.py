"""An MCP server over standard input and output without the SDK, whose import takes a second of a processor: tests start dozens of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def serve(name: str, list_tools: Answer, call: Answer) -> None:
    """Answer until the input ends.

    :param list_tools: the result of ``tools/list``, by its parameters.
    :param call: that of ``tools/call``.
    """
    _answer(name, {"tools": {}}, {"ping": lambda _: {}, "tools/list": list_tools, "tools/call": call})


def serve_resources_only() -> None:
    """Answer as a server without tools, until the input ends."""
    _answer("texts", {"resources": {}}, {})


def _answer(name: str, capabilities: Mapping[str, Any], others: Mapping[str, Answer]) -> None:
    said = {"capabilities": capabilities, "serverInfo": {"name": name, "version": "1"}}
    methods: dict[str, Answer] = {
        "initialize": lambda params: {"protocolVersion": params["protocolVersion"], **said},
        **others,
    }
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        method = methods.get(message["method"])
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if method is None:
            answer["error"] = {"code": -32601, "message": "no such method"}
        else:
            answer["result"] = method(message.get("params") or {})
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
