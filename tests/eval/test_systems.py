"""Systems: a retriever here, the same behind a server, by name; and what is refused before anything is asked."""

import asyncio
from itertools import product
from pathlib import Path

import pytest

from eval.measured_set import Run
from eval.queries import LabelledQuery, QuerySet
from eval.run import ASKED, NEEDS, WHOLE, Ranked, System, asked_name, run_system
from eval.systems import ABLATIONS, DEFAULT_SYSTEMS, GROUPS, RemoteSystem, make_systems
from inference import HashingEncoder
from inference.encoder import Reranker
from ontology.errors import (
    DeadlineError,
    InvalidArgumentError,
    NotReadyError,
    SnapshotError,
)
from ontology.files import config_hash
from retrieval.engine import Engine, open_engine
from retrieval.presets import make_presets
from retrieval.snapshot.reader import Snapshot
from tests.harness.engines import TOOLS, HeldRequests, serving, small_engine
from tests.harness.waiting import LIMIT_S

REQUESTS = ("find an employee by name", "give him a spot award", "which jobs are open", "days of leave")


@pytest.fixture
def engine(hr_store: Path) -> Engine:
    return open_engine(hr_store)


@pytest.fixture
def snapshot(engine: Engine) -> Snapshot:
    return engine.snapshot


def named(names: list[str], snapshot: Snapshot, reranker: Reranker | None = None) -> list[System]:
    return make_systems(names, snapshot, HashingEncoder(), reranker=reranker)


def test_groups_are_what_they_say(snapshot: Snapshot) -> None:
    presets = set(make_presets(snapshot, HashingEncoder()))
    groups = {group: [system.name for system in named([group], snapshot)] for group in GROUPS}
    assert groups["paper-four"] == ["semantic", "bm25", "hybrid", "paper"]
    assert set(groups["baselines"]) == presets - {"paper", "default", "fast"}
    assert set(groups["ablations"]) == set(ABLATIONS)
    # Without a reranker there is no reranking to leave out.
    assert set(groups["all"]) == (presets - {"fast"}) | set(ABLATIONS)
    reranked = named(["all"], snapshot, LengthReranker())  # type: ignore[arg-type]
    assert {system.name for system in reranked} == presets | set(ABLATIONS)
    of = {system.name: system.config["reranker"] for system in reranked}
    assert (of["default"], of["paper"], of["fast"]) == ("length.v1", "length.v1", "fusion.v2")
    usual = [system.name for system in named(list(DEFAULT_SYSTEMS), snapshot)]
    assert usual == [*groups["paper-four"], "rrf", "fusion", "default"]


@pytest.mark.parametrize("names", [["defalt"], ["semantic", ""], []])
def test_an_unknown_name_lists_the_known_ones(names: list[str], snapshot: Snapshot) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        named(names, snapshot)
    if names:
        for known in ("default-no-graph", "hybrid", "paper-four", "grpc:HOST:PORT"):
            assert known in refused.value.remedy


def test_each_system_has_a_configuration_of_its_own_that_says_what_it_is(snapshot: Snapshot) -> None:
    systems = named(["all"], snapshot)
    assert len({config_hash(system.config) for system in systems}) == len(systems)
    configs = {system.name: system.config for system in systems}
    default = configs["default"]
    assert (default["snapshot_id"], default["encoder"], default["reranker"]) == (snapshot.id, "hashing.v1", "fusion.v2")
    assert len(default["code_sha256"]) == 64 and default["without"] == []
    assert configs["default-no-support"]["without"] == ["graph_support"]
    again = {system.name: config_hash(system.config) for system in named(["all"], snapshot)}
    assert again == {name: config_hash(config) for name, config in configs.items()}


class LengthReranker:
    """The longest document first."""

    name = "length.v1"

    def score(self, query: str, documents: list[str]) -> object:
        import numpy as np

        return np.array([len(document) for document in documents], dtype=np.float32)


async def test_a_server_is_measured_as_what_it_serves(engine: Engine, snapshot: Snapshot, tmp_path: Path) -> None:
    queries = QuerySet(
        name="served",
        queries=tuple(
            LabelledQuery(id=str(n), text=text, slots=((snapshot.tool_id(n),),), needs=("find an employee", "pay"))
            for n, text in enumerate(REQUESTS)
        ),
        sha256="d" * 64,
    )

    def run(name: str, asked: str) -> Run:
        (system,) = named([name], snapshot)
        return run_system(system, queries, tmp_path, snapshot_id=snapshot.id, k=30, timeout_s=LIMIT_S, asked=asked)

    async with serving(engine) as server:
        address = server.address
        served = ((f"grpc:{address}", "default"), (f"grpc:{address}/paper", "paper"))
        for (name, preset), asked in product(served, ASKED):
            remote, local = await asyncio.to_thread(run, name, asked), run(preset, asked)
            differ = len({answer.tools for answer in local.answers.values()}) > 1  # all requests have the same needs
            assert differ == (asked == WHOLE or (asked, preset) == (NEEDS, "default"))
            assert (remote.system, remote.config["preset"], remote.config["address"]) == (
                asked_name(name, asked),
                preset,
                address,
            )
            assert remote.config["models"]["encoder"] == "hashing.v1"
            assert remote.config_hash != local.config_hash
            for query_id, answer in remote.answers.items():
                assert not answer.error
                assert answer.tools == local.answers[query_id].tools
                assert answer.ms["total"] >= answer.ms["server"] > 0


async def test_a_server_that_cannot_be_measured_is_refused_before_anything_is_asked(
    engine: Engine, snapshot: Snapshot
) -> None:
    async with serving(engine) as server:
        address = server.address
        with pytest.raises(InvalidArgumentError, match="hybrid"):
            await asyncio.to_thread(named, [f"grpc:{address}/defalt"], snapshot)
        with pytest.raises(SnapshotError, match=snapshot.id) as refused:
            await asyncio.to_thread(RemoteSystem, f"grpc:{address}", snapshot_id="another")
        assert "another" in str(refused.value) and refused.value.subject == address
    with pytest.raises(NotReadyError, match="does not answer") as dead:
        named([f"grpc:{address}"], snapshot)
    assert dead.value.subject == address
    with pytest.raises(InvalidArgumentError, match="no address"):
        named(["grpc:"], snapshot)


async def test_what_a_server_answers_with_is_an_error_of_ours() -> None:
    held = HeldRequests()
    engine = small_engine(hook=held)
    async with serving(engine) as server:
        system = await asyncio.to_thread(RemoteSystem, f"grpc:{server.address}", snapshot_id=engine.snapshot_id)

        def ask(query: str, timeout_s: float = 10.0) -> Ranked:
            return system.ask(query, k=2, timeout_s=timeout_s)

        assert (await asyncio.to_thread(ask, "find customer")).tools
        with pytest.raises(InvalidArgumentError):
            await asyncio.to_thread(ask, "?")
        held.hold()
        with pytest.raises(DeadlineError):
            await asyncio.to_thread(ask, "find customer", 0.1)
        held.released.set()
        other = small_engine(*TOOLS[:2])
        await server.load(lambda: other)
        with pytest.raises(NotReadyError, match=other.snapshot_id):
            await asyncio.to_thread(ask, "find customer")
    with pytest.raises(NotReadyError):
        ask("find customer", 2.0)
