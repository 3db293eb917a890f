"""Row ``models``: with the encoder or the reranker down or late, requests are answered, and the answers say what they lack."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from egotools import AsyncClient, Response
from inference import Floats1d, Floats2d, HashingEncoder
from inference.encoder_wrappers import PunctualEncoder, PunctualReranker
from ontology.errors import ModelError
from retrieval.engine import open_engine
from scripts.reliability.row import Figure, Row
from services.jobs.build import build_snapshot
from services.server.server import Server
from services.server.settings import ServerSettings

__all__ = ["ROWS", "answers_without"]

DOCUMENT = Path(__file__).parents[2] / "examples" / "enterprise" / "catalog" / "procurement.yaml"
QUERY = "block a supplier and pay its open invoice"
_WAIT_S = 0.3


class _Fault:
    """What happens to a model: nothing, an error, or no answer until it is released."""

    def __init__(self) -> None:
        self.kind = ""
        self.released = threading.Event()

    def strike(self) -> None:
        if self.kind == "down":
            raise ModelError("the endpoint cannot be reached", subject="the model")
        if self.kind == "late":
            self.released.wait()


class _Encoder(HashingEncoder):
    def __init__(self, fault: _Fault) -> None:
        super().__init__()
        self._fault = fault

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self._fault.strike()
        return super().encode(texts)


class _Reranker:
    name = "http:http://127.0.0.1/rerank"

    def __init__(self, fault: _Fault) -> None:
        self._fault = fault

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        self._fault.strike()
        return HashingEncoder().encode(documents)[:, 0]


def answers_without(store: Path, model: str, kind: str, count: int) -> tuple[list[Response], float]:
    """Ask while a model is down or late; return the answers, and the longest time of one but the first in seconds.

    :param model: ``encoder`` or ``reranker``.
    :param kind: ``down`` or ``late``.
    """
    return asyncio.run(_answers(store, model, kind, count))


async def _answers(store: Path, model: str, kind: str, count: int) -> tuple[list[Response], float]:
    fault, sound = _Fault(), _Fault()
    encoder = PunctualEncoder(_Encoder(fault if model == "encoder" else sound), _WAIT_S)
    reranker = PunctualReranker(_Reranker(fault if model == "reranker" else sound), _WAIT_S)
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await server.start()
    answers, times = [], []
    try:
        await server.load(lambda: open_engine(store, encoder=encoder, reranker=reranker))
        fault.kind = kind
        async with AsyncClient(address) as client:
            for _ in range(count):
                started = time.monotonic()
                answers.append(await client.retrieve(QUERY, k=5, preset="paper" if model == "reranker" else ""))
                times.append(time.monotonic() - started)
    finally:
        fault.released.set()
        await server.stop(0)
    return answers, max(times[1:])


def _measure(folder: Path) -> Figure:
    count, parts, held = 100, [], True
    build_snapshot([str(DOCUMENT)], folder / "store", encoder=HashingEncoder())
    for model in ("encoder", "reranker"):
        for kind in ("down", "late"):
            answers, longest_s = answers_without(folder / "store", model, kind, count)
            whole = sum(bool(answer.tools and answer.fallbacks) for answer in answers)
            held &= whole == count
            parts.append(f"{model} {kind}: {whole} of {count}, at most {longest_s * 1e3:.0f} ms after the first")
    return Figure(text="; ".join(parts), held=held)


ROWS = [
    Row(
        key="models",
        item="With the encoder or the reranker down or late, every request is answered, and the answer says what it lacks",
        bar="0 errors, fallbacks in every answer",
        measure=_measure,
    )
]
