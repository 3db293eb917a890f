"""A gRPC server over the tools of two MCP servers and of an API, and the MCP server in front of it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from egotools import AsyncClient
from egotools.calling.mcp_invoker import McpAddress
from inference import load_encoder
from planners.calls.tool_access import ToolAccess
from services.jobs.build import build_snapshot
from services.mcp.gateway_server import McpGateway
from services.mcp.mcp_caller import current_token
from services.server.access.tokens import create_token
from tests.harness.issuers import guarded_by
from tests.harness.servers import listening_program, running_server
from tests.harness.stores import MadeOnce
from tests.harness.waiting import LIMIT_S
from tests.services.mcp.source_servers import office, warehouse

ERAS = ("legacy", "2026-07-28")
SERVERS = f"mcp:{sys.executable} -m tests.services.mcp.source_servers"
ACCESS = ToolAccess(
    sessions={
        "warehouse": McpAddress(session=f"{SERVERS} warehouse"),
        "office": McpAddress(session=f"{SERVERS} office"),
    },
    timeout_s=LIMIT_S,
)
_API = {
    "openapi": "3.0.3",
    "info": {"title": "canteen", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {
        "/menu": {
            "get": {
                "operationId": "get_menu",
                "summary": "Get the menu of the canteen of a day",
                "parameters": [{"name": "day", "in": "query", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok"}},
            }
        }
    },
}


def build(folder: Path, *, without: str = "") -> Path:
    """Publish the catalogue to a store in the folder."""
    sources = folder / "sources"
    sources.mkdir(exist_ok=True)
    for server in (warehouse, office):
        listed = asyncio.run(_listed(server))
        rows = [row for row in listed if row["name"] != without]
        (sources / f"{server.name}.json").write_text(json.dumps({"tools": rows}), encoding="utf-8")
    (sources / "canteen.json").write_text(json.dumps(_API), encoding="utf-8")
    build_snapshot([str(sources)], folder / "store", encoder=load_encoder("minilm-l6-int8.v1"))
    return folder / "store"


async def _listed(server: Any) -> list[dict[str, Any]]:
    async with Client(server) as client:
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools]


@pytest.fixture(scope="session")
def mcp_store(made_once: MadeOnce) -> Path:
    return made_once("mcp", _build_in) / "store"


def _build_in(folder: Path) -> None:
    folder.mkdir()
    build(folder)


@pytest.fixture(scope="session")
def served(mcp_store: Path) -> Iterator[str]:
    with running_server(mcp_store) as server:
        yield server.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A gRPC server with access control.

    :param tokens: by the names of their users; ``nobody`` may do nothing.
    """

    address: str
    tokens: dict[str, str]
    tokens_file: Path


@pytest.fixture(scope="session")
def guarded(mcp_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("access")
    read = {"roles": ["read"]}
    access, tokens = guarded_by(folder, anna=read, carla=read, boris={**read, "filters": {"namespace": ["office"]}})
    tokens["nobody"] = create_token(access["tokens_file"], "nobody")
    settings = {f"EGOTOOLS_{name.upper()}": str(path) for name, path in access.items()}
    with running_server(mcp_store, **settings) as server:
        yield Guarded(address=server.address, tokens=tokens, tokens_file=access["tokens_file"])


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is there while somebody waits in the warehouse."""
    return tmp_path_factory.mktemp("warehouse") / "waiting"


@pytest.fixture(scope="module")
def access(waiting: Path) -> Iterator[ToolAccess]:
    """The warehouse over HTTP, in a process of its own; the office on stdio."""
    command = [sys.executable, "-m", "tests.services.mcp.source_servers", "warehouse"]
    with listening_program(command, {"PATH": "", "WAREHOUSE_WAITING": str(waiting)}) as address:
        warehouse = McpAddress(session=f"mcp+http://{address}/mcp")
        yield replace(ACCESS, sessions={**ACCESS.sessions, "warehouse": warehouse})


@asynccontextmanager
async def gateway(address: str, access: ToolAccess = ACCESS) -> AsyncIterator[McpGateway]:
    """The MCP server in this process."""
    async with AsyncClient(address, token=current_token) as client:
        yield McpGateway(client, access)


@dataclass(eq=False)
class User:
    """The person behind a client: what it was asked, and its answer."""

    action: str = "accept"
    asked: list[str] = field(default_factory=list)

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action=self.action, content={})  # type: ignore[arg-type]


@asynccontextmanager
async def connected(
    address: str, era: str, user: User | None = None, *, on_message: Any = None, **options: Any
) -> AsyncIterator[Client]:
    """A client of the SDK, connected to the MCP server in this process.

    :param user: None: the client cannot ask.
    """
    async with AsyncExitStack() as stack:
        server = (await stack.enter_async_context(gateway(address, **options))).server
        answer = user.answer if user is not None else None
        client = Client(server, mode=era, elicitation_callback=answer, message_handler=on_message)
        yield await stack.enter_async_context(client)


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text
