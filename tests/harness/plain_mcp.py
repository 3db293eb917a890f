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

    def initialize(params: dict[str, Any]) -> dict[str, Any]:
        server = {"name": name, "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}

    methods: dict[str, Answer] = {
        "initialize": initialize,
        "ping": lambda _: {},
        "tools/list": list_tools,
        "tools/call": call,
    }
    _answer(methods)


def serve_resources_only() -> None:
    """Answer as a server without tools, until the input ends."""
    _answer(
        {
            "initialize": lambda params: {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"resources": {}},
                "serverInfo": {"name": "texts", "version": "1"},
            }
        }
    )


def _answer(methods: Mapping[str, Answer]) -> None:
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
