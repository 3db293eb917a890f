"""REST beside gRPC, in one run: the same requests in turn to one server, once directly and once through the gateway.

.venv/bin/python -m scripts.speed.rest_latency --store store
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from egotools import AsyncClient
from services.server.process import server_process

_QUERIES = Path("examples/enterprise/requests.jsonl")
_START_S = 60.0


@contextmanager
def _gateway(server: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [sys.executable, "-m", "services.cli", "rest", "--server", server, "--port", "0"]
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)], stdout=subprocess.DEVNULL, env=dict(os.environ)
        )
        try:
            until = time.monotonic() + _START_S
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit("the gateway did not start")
                time.sleep(0.05)
            yield json.loads(ready.read_text(encoding="utf-8"))["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


async def _measure(server: str, url: str, queries: list[str]) -> dict[str, list[float]]:
    """Milliseconds of each request: of gRPC with the Python client, of REST with one connection that stays open."""
    took: dict[str, list[float]] = {"gRPC": [], "REST": []}
    async with AsyncClient(server) as client, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:

        async def rest(query: str) -> None:
            (await http.post("/v1/retrieve", json={"query": query, "k": 10})).raise_for_status().json()

        async def grpc(query: str) -> None:
            await client.retrieve(query, k=10, explain=False)

        faces: tuple[tuple[str, Callable[[str], Awaitable[None]]], ...] = (("gRPC", grpc), ("REST", rest))
        for query in queries[:20]:  # connections, and the vectors that the server keeps
            for _, ask in faces:
                await ask(query)
        for number, query in enumerate(queries):
            for face, ask in faces if number % 2 else faces[::-1]:
                began = time.perf_counter()
                await ask(query)
                took[face].append((time.perf_counter() - began) * 1e3)
    return took


def main() -> None:
    """Measure, and print one line for each face."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=400)
    options = parser.parse_args()
    lines = _QUERIES.read_text(encoding="utf-8").splitlines()
    queries = [json.loads(lines[number % len(lines)])["query"] for number in range(options.requests)]
    with server_process(options.store) as server, _gateway(server["address"]) as url:
        took = asyncio.run(_measure(server["address"], url, queries))
    for face, times in took.items():
        cuts = statistics.quantiles(times, n=100)
        print(f"{face}  p50 {cuts[49]:.1f} ms  p95 {cuts[94]:.1f} ms  ({len(times)} requests)")


if __name__ == "__main__":
    main()
