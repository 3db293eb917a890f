"""An MCP server on loopback, over streamable HTTP, that demands a bearer token."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.servers import listening_program

_SERVER = """
import sys
import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("warehouse")
token = "Bearer " + sys.argv[1]


@server.tool()
def book(material: str) -> str:
    return f"{material} booked"


app = server.streamable_http_app()


async def guarded(scope, receive, send):
    if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization", b"").decode() != token:
        await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
        await send({"type": "http.response.body", "body": b""})
    else:
        await app(scope, receive, send)


uvicorn.run(guarded, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""


@contextmanager
def guarded_mcp(folder: Path, token: str) -> Iterator[str]:
    """Run the server, which has the tool ``book``, while the block runs; yield its address as a session."""
    script = folder / "guarded_server.py"
    script.write_text(_SERVER, encoding="utf-8")
    with listening_program([sys.executable, str(script), token]) as address:
        yield f"mcp+http://{address}/mcp"
