"""A real engine over three tools, with a hook before each request; and a server over an engine."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from egotools.values import Response
from inference import HashingEncoder
from inference.encoder import Reranker
from ontology.ontology import load_ontology
from ontology.tool import Dependency, Parameter, Tool
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import open_snapshot
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.harness.waiting import LIMIT_S
from tests.retrieval.conftest import content_of, published

TOOLS = (
    Tool(
        id="crm/find_customer",
        name="find_customer",
        description="Find a customer by name",
        parameters=(Parameter(name="name", description="words of the name", required=True, location="query"),),
        returns=(Parameter(name="items[].customer_id", format="uuid"),),
        metadata={"namespace": "crm", "title": "Find Customer", "department": "sales", "tags": ["customer", "顧客"]},
    ),
    Tool(
        id="crm/get_customer",
        name="get_customer",
        description="Get the details of a customer",
        parameters=(Parameter(name="customer_id", required=True, format="uuid", location="path"),),
        depends_on=(
            Dependency(
                tool="crm/find_customer",
                parameter="customer_id",
                output="items[].customer_id",
                reason="openapi link FindCustomer",
            ),
        ),
        metadata={"namespace": "crm", "department": "sales"},
    ),
    Tool(
        id="erp/list_orders",
        name="list_orders",
        description="List the orders of a customer. 注文の一覧",
        parameters=(
            Parameter(name="customer_id", description="顧客", required=True),
            Parameter(name="status", enum=("open", "closed")),
            Parameter(name="page.size", type="integer"),
        ),
        metadata={"namespace": "erp", "department": "finance"},
    ),
)


class HookedEngine(Engine):
    """An engine of a store of this process.

    :param snapshot: its folder.
    :param hook: called with each request before anything else; may wait or raise.
    """

    def __init__(
        self, snapshot: Path, *, hook: Callable[[Request], object] = str, reranker: Reranker | None = None
    ) -> None:
        super().__init__(open_snapshot(snapshot), HashingEncoder(), reranker)
        self.hook, self.asked, self.answered, self.running = hook, list[str](), list[str](), 0
        self.lock = threading.Lock()

    def retriever(self, preset: str = "") -> Retriever:
        """The retriever, behind the hook."""
        return _Hooked(self, super().retriever(preset))


class _Hooked:
    def __init__(self, engine: HookedEngine, retriever: Retriever) -> None:
        self.engine, self.retriever, self.name = engine, retriever, retriever.name

    def retrieve(self, request: Request) -> Response:
        engine = self.engine
        with engine.lock:
            engine.running += 1
            engine.asked.append(request.query)
        try:
            engine.hook(request)
            answer = self.retriever.retrieve(request)
            engine.answered.append(request.query)
            return answer
        finally:
            with engine.lock:
                engine.running -= 1


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where this process keeps the snapshots; it is removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="egotools-tests-")


def _snapshot_of(tools: Sequence[Tool]) -> Path:
    store = Path(tempfile.mkdtemp(dir=_folder().name))
    return published(store, content_of(tools, load_ontology()))


@cache
def _small() -> Path:
    return _snapshot_of(TOOLS)


def small_engine(*tools: Tool, **options: Any) -> HookedEngine:
    """An engine over these tools, or over :data:`TOOLS`; the options are those of :class:`HookedEngine`."""
    return HookedEngine(_snapshot_of(tools) if tools else _small(), **options)


def small_settings(**changed: object) -> ServerSettings:
    """Settings on a free loopback port, two workers, two places to wait."""
    values = {"port": 0, "workers": 2, "queue": 2, "grace_s": 5.0, "default_deadline_s": 60.0, **changed}
    return ServerSettings(**values)  # type: ignore[arg-type]


@asynccontextmanager
async def serving(
    engine: Engine | None = None, settings: ServerSettings | None = None, *, outcomes: Mapping[str, Path] | None = None
) -> AsyncIterator[Server]:
    """A server that answers from an engine, by default from that of :data:`TOOLS`; ``Server.address`` says where.

    :param outcomes: tenant → the log of its outcomes.
    """
    server = Server(settings or small_settings(), outcomes=outcomes or {})
    await server.start()
    try:
        await server.load(small_engine if engine is None else lambda: engine)
        yield server
    finally:
        await server.stop(0)


class HeldRequests:
    """A hook under which requests wait, from :meth:`hold` on, until ``released`` is set."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.released.set()

    def hold(self) -> None:
        """Let the requests that come from now on wait."""
        self.released.clear()

    def __call__(self, request: Request) -> None:
        assert self.released.wait(LIMIT_S)
