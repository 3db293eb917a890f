"""What all tests share."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from hypothesis import HealthCheck, settings

from inference import minilm as onnx_model
from ontology.errors import IsolationError
from planners.calls.sandbox import Sandbox
from tests.harness.commands import Run, in_process
from tests.harness.leftovers import marked_children
from tests.harness.stores import BuiltStore, MadeOnce, ToolsOf, built_store, once, read_tools

if TYPE_CHECKING:
    from services.server.server import Server

# gRPC shuts its completion queue down with the last of its objects, which may be in a garbage collection, and waits there for
# operations that nobody ends any more. Held for the life of the process, it is never shut down.
grpc.aio.init_grpc_aio()

# A shell's job in the background ignores Ctrl-C, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

# No test depends on the speed of the machine, and CI draws the same examples every time.
settings.register_profile(
    "egotools",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    derandomize="CI" in os.environ,
)
settings.load_profile("egotools")


@pytest.fixture(scope="session", autouse=True)
def _no_proxy() -> Iterator[None]:
    """No test goes through a proxy of the machine, but where it sets one."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        yield


@pytest.fixture(autouse=True)
def _log_handlers() -> Iterator[None]:
    """Take away the handlers that a command or a server of a test put on the root logger: their streams are closed after it."""
    root = logging.getLogger()
    level = root.level
    yield
    for handler in list(root.handlers):
        if not type(handler).__module__.startswith("_pytest"):
            root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def _children() -> Iterator[None]:
    """Fail where the tests leave a process behind, and end it: a server that stays takes what the next run needs."""
    with marked_children() as left:
        yield
    assert left == [], f"the tests leave processes behind: {left}"


_DESCRIPTORS_LEFT = 64  # of a module; fixtures of the session, which it was the first to ask for, keep some


@pytest.fixture(scope="module", autouse=True)
def _closed_files() -> Iterator[None]:
    """Fail where the tests of a module leave many files or connections open: a process may have 1,024, and what leaks here leaks in a
    server too. What waits for the garbage collector is collected first.
    """
    before = _open_descriptors()
    yield
    if _open_descriptors() - before > _DESCRIPTORS_LEFT:
        gc.collect()
    left = _open_descriptors() - before
    assert left <= _DESCRIPTORS_LEFT, f"the tests of this module leave {left} descriptors open"


def _open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


@pytest.fixture(scope="session", autouse=True)
def _kept_models() -> Iterator[None]:
    """Keep each model that a test loads: the next build of this process needs it again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_model, "SESSIONS", {})
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect no garbage while the tests are imported, and never look through what they imported: more than a million objects that stay.
    The first saves 6 s of a processor, the second half a second of each full collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _loop_of_servers() -> Iterator[None]:
    yield
    if servers := sys.modules.get("tests.harness.servers"):  # not imported where no test serves anything
        servers.end_loop()


@pytest.fixture(scope="session")
def of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def store_of(of_the_run: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltStore:
    """Gives a store of a shipped catalogue, which is built once in a run: with the real encoder that takes 13 s of a processor."""
    shared = of_the_run / "built-stores"
    return lambda address, encoder: built_store(shared, tmp_path_factory.mktemp("built") / "store", address, encoder)


@pytest.fixture(scope="session")
def made_once(of_the_run: Path) -> MadeOnce:
    """Gives a file or folder, to be read only, which the first process of the run that asks for it makes."""
    return lambda name, make: once(of_the_run / "made-once", name, make)


@pytest.fixture(scope="session")
def hr_store(store_of: BuiltStore) -> Path:
    """A small store with the hashing encoder, of a shipped document, to be read only."""
    return store_of(str(ROOT / "examples" / "enterprise" / "catalog" / "hr.yaml"), "hashing.v1")


@pytest.fixture(scope="session")
def hr_server(hr_store: Path) -> Iterator[Server]:
    """The gRPC server of this process: of the small store, on a loop of its own."""
    from tests.harness.servers import running_server

    with running_server(hr_store) as server:
        yield server


@pytest.fixture(scope="session")
def tools_of(of_the_run: Path) -> ToolsOf:
    """Gives the tools of a document, which is read once in a run: the large ones take 5 to 12 s of a processor."""
    return lambda address: read_tools(of_the_run / "read-documents", address)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with public measuring data beside the checkout; the test skips where there is none."""
    folder = ROOT.parent / "shared"
    if not (folder / "bench").is_dir():
        pytest.skip("no ../shared beside this checkout: the public measuring data is not here")
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process."""
    return in_process(monkeypatch, capsys)


@pytest.fixture(scope="session")
def sandbox_fault() -> str:
    """Why code cannot be isolated on this machine; empty where it can."""
    with ThreadPoolExecutor(1) as pool:  # an async fixture may ask for it, in whose thread a loop runs
        error = pool.submit(asyncio.run, Sandbox().check()).exception()
    if error is not None and not isinstance(error, IsolationError):
        raise error
    return "" if error is None else str(error)


@pytest.fixture(scope="session")
def needs_sandbox(sandbox_fault: str) -> None:
    """Skip a test of isolated code where none can be isolated; with ``EGOTOOLS_REQUIRE_SANDBOX=1``, as CI has it, it fails."""
    if sandbox_fault and os.environ.get("EGOTOOLS_REQUIRE_SANDBOX") == "1":
        pytest.fail(sandbox_fault)
    if sandbox_fault:
        pytest.skip(sandbox_fault)
