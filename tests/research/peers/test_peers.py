"""The protocol of the peers, with planted peers in real processes, and what the registry promises of the real ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.measured_set import MeasuredSet
from eval.queries import read_queries
from eval.run import Run, read_run
from eval.summary import summarise, summary_from_json
from ontology.errors import StorageError
from ontology.tool import Tool
from research.peers import PEERS, Peer, measure_peer, peer_environment
from research.peers.bench_peers import Prepared, markdown, peers_of, prepare
from research.peers.dependency_unroll import build as build_unroll
from research.peers.peer import PeerTool, read_tools
from research.peers.peer_registry import FOLDER
from research.peers.process import PeerTask
from scripts.bench_sets import ROOT, bench_sets

PYTHON = Path(sys.executable)

TOOLS = [
    {
        "id": "a/find",
        "name": "find",
        "description": "find a person",
        "parameters": [],
        "depends_on": [{"tool": "b/find"}],
    },
    {"id": "b/find", "name": "find", "description": "find a room"},
    {
        "id": "book",
        "name": "book",
        "description": "book a room",
        "parameters": [
            {"name": "room", "type": "str", "description": "which", "required": True},
            {"name": "seats", "type": "int", "enum": ["4", "8"]},
            {"name": "room", "type": "object"},
        ],
        "returns": [{"name": "ids", "type": "List[str]"}],
    },
]
QUERIES = [
    {"id": "q1", "query": "find room", "tools": ["b/find"], "class": "one"},
    {"id": "q2", "query": "book room", "tools": ["book", "b/find"], "class": "two"},
]

# Ranks by shared words; counts in a file how often it was loaded.
BY_WORDS = """
from pathlib import Path
from tests.conftest import LINUX

pytestmark = LINUX

with Path(__file__).with_suffix(".loaded").open("a", encoding="utf-8") as file:
    file.write("x")

def build(tools, embed):
    texts = {tool.id: set(tool.description.split()) for tool in tools}
    def search(query, k):
        words = set(query.split())
        return sorted(texts, key=lambda id_: (-len(words & texts[id_]), id_))[:k]
    return search
"""

Measure = Callable[..., Run]


def _write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def task(tmp_path: Path) -> PeerTask:
    queries = _write(tmp_path / "queries.jsonl", QUERIES)
    return PeerTask(
        folder=tmp_path / "results",
        tools=_write(tmp_path / "tools.jsonl", TOOLS),
        queries=queries,
        queries_sha256=read_queries([queries]).sha256,
        snapshot_id="snapshot",
        k=2,
        limit_s=30,
    )


@pytest.fixture
def measure(tmp_path: Path, task: PeerTask) -> Measure:
    """Measures a peer of this code in a real process."""
    lock = tmp_path / "planted.txt"
    lock.write_text("", encoding="utf-8")
    (tmp_path / "results").mkdir()

    def measure(code: str, *, again: bool = False, limit_s: float = 30) -> Run:
        script = tmp_path / "planted.py"
        script.write_text(code, encoding="utf-8")
        peer = Peer(name="planted", version="1", licence="none", script=script, lock=lock)
        return measure_peer(peer, PYTHON, replace(task, limit_s=limit_s), again=again)

    return measure


def test_a_peer_answers_in_a_process_of_its_own(measure: Measure, task: PeerTask) -> None:
    run = measure(BY_WORDS)
    assert run == read_run(task.folder, "planted")
    assert {id_: answer.tools for id_, answer in run.answers.items()} == {
        "q1": ("b/find", "a/find"),
        "q2": ("book", "b/find"),
    }
    assert (run.failure, run.k, run.snapshot_id, run.config["version"]) == ("", 2, "snapshot", "1")
    assert all(answer.ms["total"] >= 0 and not answer.error for answer in run.answers.values())
    assert set(run.resources) == {"load_s", "build_s", "warm_up_s", "peak_bytes", "resident_bytes"}
    assert 1e6 < run.resources["peak_bytes"] < 1e9
    assert run.resources["resident_bytes"] < run.resources["peak_bytes"]


def test_memory_that_the_index_takes_is_seen(measure: Measure) -> None:
    small = measure(BY_WORDS).resources["resident_bytes"]
    large = measure(BY_WORDS.replace("    texts =", "    build.held = bytearray(b'x' * 40_000_000)\n    texts ="))
    assert 39e6 < large.resources["resident_bytes"] - small < 80e6


def test_what_is_there_is_not_measured_again(measure: Measure, tmp_path: Path) -> None:
    first = measure(BY_WORDS)
    assert measure(BY_WORDS) == first
    assert (tmp_path / "planted.loaded").read_text(encoding="utf-8") == "x"
    other = measure(BY_WORDS.replace("-len", "len"))
    assert other.config_hash != first.config_hash
    assert other.answers["q1"].tools != first.answers["q1"].tools


def test_a_request_that_a_peer_fails_on_is_an_answer_with_an_error(measure: Measure) -> None:
    run = measure(
        BY_WORDS.replace("        words =", "        if 'book' in query: raise KeyError('no book')\n        words =")
    )
    assert run.failure == ""
    assert run.answers["q1"].tools == ("b/find", "a/find")
    assert run.answers["q2"].tools == ()
    assert run.answers["q2"].error == "KeyError: 'no book'"


@pytest.mark.parametrize("answer", ["['book', 'book']", "['unknown']", "['a/find', 'b/find', 'book']"])
def test_an_answer_that_is_none_is_an_error(measure: Measure, answer: str) -> None:
    run = measure(f"def build(tools, embed):\n    return lambda query, k: {answer}\n")
    assert all(said.error and not said.tools for said in run.answers.values())


def test_a_peer_that_crashes_is_a_result(measure: Measure, tmp_path: Path) -> None:
    crash = (
        "def build(tools, embed):\n    open(__file__ + '.n', 'a').write('x')\n    raise MemoryError('too many tools')\n"
    )
    run = measure(crash)
    assert run.failure == "exit code 1: MemoryError: too many tools"
    assert run.answers == {}
    measure(crash)
    assert (tmp_path / "planted.py.n").read_text(encoding="utf-8") == "x"
    measure(crash, again=True)
    assert (tmp_path / "planted.py.n").read_text(encoding="utf-8") == "xx"


def test_a_peer_that_is_too_slow_keeps_what_it_answered(measure: Measure) -> None:
    slow = BY_WORDS.replace(
        "        words =", "        if 'book' in query: __import__('time').sleep(60)\n        words ="
    )
    run = measure(slow, limit_s=3)
    assert run.failure == "it was ended after 3 s"
    assert list(run.answers) == ["q1"]


def test_a_peer_has_no_network(measure: Measure) -> None:
    run = measure(
        "import socket\ndef build(tools, embed):\n"
        "    return lambda query, k: [socket.create_connection(('127.0.0.1', 9), 1)] and []\n"
    )
    assert all(answer.error.startswith("NetworkError") for answer in run.answers.values())


def test_a_dead_peer_is_in_the_table_and_scores_nothing(measure: Measure, task: PeerTask) -> None:
    good = replace(measure(BY_WORDS), k=len(TOOLS))
    dead = replace(good, system="dead", answers={}, failure="exit code 9", resources={})
    queries = read_queries([task.queries], name="small")
    sets = [MeasuredSet(queries=queries, runs=(good, dead), tools=len(TOOLS), snapshot_id="snapshot")]
    lines = markdown(summarise(sets, baseline="planted", resamples=100)).splitlines()
    assert re.match(r"\| small \| planted \| 100.0 \| 100.0 \| 100.0 \| \d", lines[2])
    assert re.match(r"\| small \| dead \| 0.0 \| 0.0 \| 0.0 \| .* \| 2 \| exit code 9 \|", lines[3])


def test_tools_have_names_of_their_own_and_json_schemas(task: PeerTask) -> None:
    first, second, third = read_tools(task.tools)
    assert [tool.name for tool in (first, second, third)] == ["a/find", "b/find", "book"]
    assert first.depends_on == ("b/find",)
    assert second.output_schema == {}
    assert third.input_schema == {
        "type": "object",
        "properties": {
            "room": {"type": "string", "description": "which"},
            "seats": {"type": "integer", "description": "", "enum": ["4", "8"]},
        },
        "required": ["room"],
    }
    assert third.output_schema["properties"]["ids"]["type"] == "array"


def test_a_name_that_is_the_id_of_another_tool_gives_way(tmp_path: Path) -> None:
    rows = [{"id": "x", "name": "y"}, {"id": "y", "name": "z"}, {"id": "w", "name": "z"}]
    assert [tool.name for tool in read_tools(_write(tmp_path / "t.jsonl", rows))] == ["x", "y", "w"]


def test_tools_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    rows = [{"id": "x", "name": "one"}, {"id": "x", "name": "two"}]
    with pytest.raises(ValueError, match="cannot be told apart"):
        read_tools(_write(tmp_path / "t.jsonl", rows))


def _tool(id_: str, *needs: str) -> PeerTool:
    return PeerTool(id=id_, name=id_, description="", input_schema={}, output_schema={}, depends_on=needs)


def test_dependencies_are_unrolled_depth_first_in_their_order() -> None:
    tools = [_tool("a"), _tool("b", "c", "d"), _tool("c", "e"), _tool("d"), _tool("e", "b")]  # b, c and e are a cycle
    places = {"a": 0.5, "b": 0.9, "c": 0.1, "d": 0.2, "e": 0.3}
    search = build_unroll(tools, lambda texts: [[places.get(text.split(":")[0], 1.0)] for text in texts])
    assert search("request", 5) == ["b", "c", "e", "d", "a"]
    assert search("request", 3) == ["b", "c", "e"]
    assert search("request", 30) == search("request", 5)


def test_an_environment_is_made_once_from_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "nothing.txt"
    lock.write_text("# nothing\n", encoding="utf-8")
    peer = Peer(name="planted", version="1", licence="none", script=lock, lock=lock)
    python = peer_environment(peer, tmp_path)
    assert python == tmp_path / "nothing" / "venv" / "bin" / "python"
    made = python.stat(follow_symlinks=False).st_mtime_ns
    assert peer_environment(peer, tmp_path) == python
    assert python.stat(follow_symlinks=False).st_mtime_ns == made


def test_an_environment_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    lock = tmp_path / "bad.txt"
    lock.write_text("./not_there-1.0-py3-none-any.whl\n", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be made"):
        peer_environment(Peer(name="bad", version="1", licence="none", script=lock, lock=lock), tmp_path)


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_a_peer_is_locked_with_hashes_and_listed_with_its_licence(peer: Peer) -> None:
    assert peer.script.is_file()
    lock = peer.lock.read_text(encoding="utf-8")
    assert "--hash=sha256:" in lock
    assert "://" not in lock
    row = next(
        line for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines() if f"`{peer.name}`" in line
    )
    assert f"| {peer.licence} |" in row
    if peer.version:
        assert f"{peer.lock.stem}=={peer.version} " in lock
    if peer.encoder:
        ours = (FOLDER.parent.parent / "requirements" / "default.txt").read_text(encoding="utf-8")
        pins = re.findall(r"^(?:numpy|onnxruntime|tokenizers)==.*$", lock, flags=re.MULTILINE)
        assert len(pins) >= 3
        assert all(pin in ours for pin in pins)


def test_the_shipped_set_is_prepared_in_the_form_of_the_peers(tmp_path: Path) -> None:
    (shipped,) = bench_sets(["enterprise"])
    prepared = prepare(shipped, tmp_path, 5)
    assert len(prepared.queries.queries) == 5
    assert prepare(shipped, tmp_path, 0).queries.queries[0].id == "w1-si-01"
    tools = read_tools(tmp_path / "tools.jsonl")
    assert [tool.id for tool in tools] == [tool.id for tool in prepared.tools]
    assert {tool for query in prepared.queries.queries for tool in query.tools} <= {tool.id for tool in tools}


def test_each_set_is_measured_with_the_peers_that_it_says_something_about(tmp_path: Path, task: PeerTask) -> None:
    queries = read_queries([task.queries])

    def names(*, given: bool, declared: bool) -> list[str]:
        rows = TOOLS if declared else TOOLS[1:]
        tools = tuple(Tool.from_json(row) for row in rows)
        prepared = Prepared(given=given, folder=tmp_path, address=tmp_path, tools=tools, queries=queries)
        return [peer.name for peer in peers_of(prepared, list(PEERS.values()))]

    assert names(given=False, declared=True) == list(PEERS)
    assert names(given=False, declared=False) == [name for name in PEERS if name != "dependency-unroll"]
    assert names(given=True, declared=True) == ["graph-tool-call", "graph-tool-call-minilm", "dependency-unroll"]


def test_egotools_is_measured_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    _write(tmp_path / "small" / "tools.jsonl", TOOLS)
    _write(tmp_path / "small" / "queries.jsonl", QUERIES)
    command = [
        sys.executable,
        "-m",
        "research.peers.bench_peers",
        "--bench",
        str(tmp_path),
        "--sets",
        "small",
        "--peers",
        "",
    ]
    options = ["--ours", "default,rrf", "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = summary_from_json(json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8")))
    assert (summary.systems, summary.baseline) == (("default", "rrf"), "default")
    for facts in summary.facts:
        assert (facts.answered, facts.unanswered, facts.failure) == (2, 0, "")
        assert facts.resources.keys() >= {"load_s", "build_s", "warm_up_s", "peak_bytes", "resident_bytes"}
        assert f"| small | {facts.system} |" in done.stdout
